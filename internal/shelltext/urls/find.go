package urls

import "strings"

// token is a URL in a text.
type token struct {
	start, end int // byte range, with its quotes
	url        string
	quoted     bool // in quotes of its own
	around     kind // shell context in a command
}

// stop lists the bytes that end a token.
const stop = " \t\n\v\f\r'\")`\\"

// operators lists the bytes that also end an unquoted word of a command.
const operators = ";&|<>"

// finder finds the tokens of a text, from left to right.
type finder struct {
	text string
	from int
	scan *scanner // nil if no shell reads the text
}

// maxText bounds a text that is searched, in bytes. No model writes a longer call.
const maxText = 512 << 10

// worthwhile reports whether a text may contain a URL. It rejects most texts cheaply.
func worthwhile(text string) bool {
	return len(text) <= maxText && (strings.Contains(text, "://") || strings.Contains(text, "local:/"))
}

// next returns the next token, if any.
func (f *finder) next() (token, bool) {
	for {
		at := strings.Index(f.text[f.from:], ":/")
		if at < 0 {
			return token{}, false
		}
		colon := f.from + at
		if found, ok := f.token(colon); ok {
			f.from = found.end
			return found, true
		}
		f.from = colon + 2
	}
}

// token reads the token whose scheme ends at the colon: scheme://x or local:/x.
func (f *finder) token(colon int) (token, bool) {
	scheme, begin := f.scheme(colon)
	if scheme == "" {
		return token{}, false
	}
	t := token{start: begin}
	var before kind
	if f.scan != nil {
		before = f.scan.at(max(begin-1, 0))
		t.around = f.scan.at(begin)
	}
	after := colon + len(":/")
	if strings.HasPrefix(f.text[after:], "/") && !f.another(begin) {
		t.end = f.end(t, after+1)
	}
	if t.end <= after+1 {
		if scheme != Local || !f.free(begin) {
			return token{}, false
		}
		if t.end = f.end(t, after); t.end == after {
			return token{}, false
		}
	}
	t.url = f.text[begin:t.end]
	if f.inQuotes(t) {
		return token{begin - 1, t.end + 1, t.url, true, before}, true
	}
	return t, true
}

// scheme returns the scheme that ends at the colon, and its start.
func (f *finder) scheme(colon int) (string, int) {
	for _, scheme := range schemes {
		if begin := colon - len(scheme); begin >= f.from && f.text[begin:colon] == scheme {
			return scheme, begin
		}
	}
	return "", 0
}

// end returns where a token ends whose body begins at body. An unquoted word of a
// command ends at an operator, which must not be quoted with the path.
func (f *finder) end(t token, body int) int {
	inWord := f.scan != nil && t.around == plain
	for ; body < len(f.text); body++ {
		if c := f.text[body]; strings.IndexByte(stop, c) >= 0 || inWord && strings.IndexByte(operators, c) >= 0 {
			break
		}
	}
	return body
}

// another reports whether a scheme is the end of a longer name, as in myskill://x. An
// option directly before a URL, as in -Ilocal://x, is not a name.
func (f *finder) another(begin int) bool {
	first := begin
	for first > f.from && inName(f.text[first-1]) {
		first--
	}
	return first < begin && isLetter(f.text[first])
}

// free reports whether local:/x may begin here.
func (f *finder) free(begin int) bool {
	if begin == 0 {
		return true
	}
	before := f.text[begin-1]
	return !inName(before) && before != '/' && before != '\\' || before == '+'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// inName reports whether c can be part of a scheme or a word.
func inName(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == '+'
}

// inQuotes reports whether two matching quotes enclose exactly this token.
func (f *finder) inQuotes(t token) bool {
	if t.start <= f.from || t.end == len(f.text) {
		return false
	}
	quote := f.text[t.start-1]
	if quote != '\'' && quote != '"' || f.text[t.end] != quote {
		return false
	}
	if f.scan == nil {
		return true
	}
	if t.start >= 2 && f.text[t.start-2] == '$' { // $'…' and $"…" are other kinds of quotes
		return false
	}
	return t.around != plain // otherwise the quote closes earlier text
}
