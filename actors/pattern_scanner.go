package actors

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"troupe/messages"
)

// patternScanner finds a pattern in a stream that comes in pieces. It keeps only the text in
// which a match could have started: the last line if no match contains a newline, at most
// maxReach bytes.
//
// It drops a CR before a newline, so that $ matches the end of a terminal's line, unless the
// pattern names a CR.
//
// The text so far counts as complete for $, \z and \b, so that a prompt without a newline
// matches. ^ and \A match the beginning of the stream.
type patternScanner struct {
	re      *regexp.Regexp
	reach   int  // bytes that a match may span
	inLine  bool // no match contains a newline
	atEnd   bool // a match can depend on the text after it
	held    []byte
	context bool // the first byte of held only precedes a match
	namesCR bool
	cr      bool // the last byte was a CR; a newline may follow
}

const (
	// maxReach bounds a match that spans pages, in bytes.
	maxReach = 64 << 10
	// maxTries bounds the matches that are checked if the first starts in the context.
	maxTries = 256
)

// newPatternScanner compiles a pattern that Check has accepted.
func newPatternScanner(pattern string) (*patternScanner, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return &patternScanner{
		re: re, reach: width(tree), inLine: !anyOf(tree, hasNewline), atEnd: anyOf(tree, looksAhead), namesCR: anyOf(tree, hasCR),
	}, nil
}

// page scans data from the byte from on. No match spans a gap. more says that more data can be
// read.
func (f *patternScanner) page(data []byte, from int64, gaps []messages.OutputGap, more bool) bool {
	for _, g := range gaps {
		at := min(max(g.From-from, 0), int64(len(data)))
		end := min(max(g.To-from, at), int64(len(data)))
		if f.feed(data[:at], more || end < int64(len(data))) {
			return true
		}
		f.held, f.context, f.cr = []byte{0}, true, false // stands for the missing text
		data, from = data[end:], from+end
	}
	return f.feed(data, more)
}

// feed scans the next bytes.
func (f *patternScanner) feed(p []byte, more bool) bool {
	text := append(f.held, f.newlines(p)...)
	if f.matches(text, more) {
		return true
	}
	keep := max(0, len(text)-f.reach-utf8.UTFMax)
	if f.inLine {
		keep = max(keep, bytes.LastIndexByte(text, '\n'))
	}
	f.context = f.context || keep > 0
	f.held = bytes.Clone(text[keep:])
	return false
}

// newlines returns p with each CRLF as a newline.
func (f *patternScanner) newlines(p []byte) []byte {
	if f.namesCR || !f.cr && bytes.IndexByte(p, '\r') < 0 {
		return p
	}
	if f.cr {
		p = append([]byte{'\r'}, p...)
	}
	p, f.cr = bytes.CutSuffix(p, []byte{'\r'})
	return bytes.ReplaceAll(p, []byte("\r\n"), []byte{'\n'})
}

// matches reports a match that does not start in the context. A match at the end of the text
// waits for more if it could depend on that.
func (f *patternScanner) matches(text []byte, more bool) bool {
	right := func(at []int) bool {
		return (at[0] > 0 || !f.context) && !(more && f.atEnd && at[1] == len(text))
	}
	first := f.re.FindIndex(text)
	if first == nil || right(first) {
		return first != nil
	}
	return slices.ContainsFunc(f.re.FindAllIndex(text, maxTries), right)
}

// width returns how many bytes a match of a pattern can have, at most maxReach.
func width(re *syntax.Regexp) int {
	total := 0
	switch re.Op {
	case syntax.OpLiteral:
		total = len(re.Rune) * utf8.UTFMax // another case may be longer
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		total = utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		total = width(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		total = maxReach
	case syntax.OpRepeat:
		total = maxReach
		if re.Max >= 0 {
			total = re.Max * width(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			total += width(sub)
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			total = max(total, width(sub))
		}
	}
	return min(total, maxReach)
}

// anyOf reports whether such holds for a part of a pattern.
func anyOf(re *syntax.Regexp, such func(*syntax.Regexp) bool) bool {
	if such(re) {
		return true
	}
	for _, sub := range re.Sub {
		if anyOf(sub, such) {
			return true
		}
	}
	return false
}

func hasNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		return strings.ContainsRune(string(re.Rune), '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return false
}

func hasCR(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\r')
}

func looksAhead(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEndLine, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return false
}
