package urls

import "strings"

// token is a URL as it stands in a text.
type token struct {
	start, end int // with its quotes
	url        string
	quoted     bool // in quotes of its own
	around     kind // of a command: what the shell takes it for
}

// stop is what no token has in it: whitespace, quotes, ), backtick and backslash.
const stop = " \t\n\v\f\r'\")`\\"

// operators are what ends an unquoted word of a command besides.
const operators = ";&|<>"

// finder finds the tokens of a text, from left to right.
type finder struct {
	text string
	from int
	scan *scanner // nil where no shell reads the text
}

// maxText is the length of the longest text in which URLs are looked for: a longer one is
// no call of a model's, and stays as it is.
const maxText = 512 << 10

// worthwhile is false of most texts: they cost nothing more.
func worthwhile(text string) bool {
	return len(text) <= maxText && (strings.Contains(text, "://") || strings.Contains(text, "local:/"))
}

// next is the next token, if there is one.
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

// token reads the token whose scheme ends at the colon: scheme:// and something, or
// local:/ and something.
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

// scheme is the one that ends at the colon, and where it begins.
func (f *finder) scheme(colon int) (string, int) {
	for _, scheme := range schemes {
		if begin := colon - len(scheme); begin >= f.from && f.text[begin:colon] == scheme {
			return scheme, begin
		}
	}
	return "", 0
}

// end is where a token ends that is read from body on. An unquoted word of a command ends
// where an operator begins: it must not be quoted with the path.
func (f *finder) end(t token, body int) int {
	inWord := f.scan != nil && t.around == plain
	for ; body < len(f.text); body++ {
		if c := f.text[body]; strings.IndexByte(stop, c) >= 0 || inWord && strings.IndexByte(operators, c) >= 0 {
			break
		}
	}
	return body
}

// another reports whether a scheme is the end of another one's name, as in
// myskill://x. An option that a URL is glued to, as in -Ilocal://x, is no name.
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

// inName: what a scheme is made of, and the word characters.
func inName(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == '+'
}

// inQuotes reports whether a token is all that two matching quotes enclose.
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
	if t.start >= 2 && f.text[t.start-2] == '$' { // $'…' and $"…" are quotes of another kind
		return false
	}
	return t.around != plain // else the quote closes what is before it
}
