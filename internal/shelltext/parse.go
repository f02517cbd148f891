package shelltext

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

// MaxParse is the longest text that is parsed, in bytes: more of it costs more
// than a look at a command is worth, and no person types it.
const MaxParse = 64 << 10

// maxFrames bounds the stack of the parser, which is recursive: a growing stack is
// copied again and again, and that is what makes deep nesting slow. It is a depth
// of minDepth parentheses at least.
const maxFrames = 1500

// minDepth is how deep every text may be: one that is no longer cannot be too deep, and
// is not looked at, which takes as long as to parse it.
const minDepth = 150

// readPiece is how much the parser gets at a time, in bytes: so much deeper it
// can be when it is looked at again.
const readPiece = 512

// Why a text was not parsed. Each of them, like a *SyntaxError, says only that
// nothing is known of the text: it is no reason to refuse a command.
var (
	ErrTooLarge = errors.New(textTooLarge)
	ErrTooDeep  = errors.New(textTooDeep)
	ErrTooSlow  = errors.New(textTooSlow)
)

// SyntaxError says that a text is no bash, and where that shows.
type SyntaxError struct {
	Line, Column int // from 1; 0 when it has no place
	Reason       string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf(textSyntax, e.Reason)
	}
	return fmt.Sprintf(textSyntaxAt, e.Line, e.Column, e.Reason)
}

// Parse reads a text as bash. It never panics, and what it costs is bounded by the
// length and the depth that it accepts: no text keeps it for 100 ms. The error is
// ErrTooLarge, ErrTooDeep or a *SyntaxError.
func Parse(text string) (*Script, error) {
	return ParseWithin(text, func() bool { return false })
}

// ParseWithin is Parse with the caller's deadline as a further bound: what is not
// done when over says true is ErrTooSlow. It is asked for every few hundred bytes.
func ParseWithin(text string, over func() bool) (*Script, error) {
	file, err := parse(text, over)
	if err != nil {
		return nil, err
	}
	return newScript(text, file), nil
}

// parse is ParseWithin without what a Script tells beside the syntax.
func parse(text string, over func() bool) (file *syntax.File, err error) {
	if len(text) > MaxParse {
		return nil, ErrTooLarge
	}
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, &SyntaxError{Reason: textParserFailed}
		}
	}()
	from := &boundedReader{rest: text, over: over, shallow: len(text) <= minDepth}
	file, err = syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(from, "")
	switch {
	case from.refused != nil:
		return nil, from.refused
	case err != nil:
		return nil, syntaxError(err)
	}
	return file, nil
}

// boundedReader hands a text to the parser piece by piece, until the parser is too deep
// or the time is over. What counts is the stack, not the brackets: those in
// quotes are no nesting, and words such as `if` are.
type boundedReader struct {
	rest    string
	over    func() bool
	refused error
	shallow bool
	frame   [1]uintptr
}

func (p *boundedReader) Read(into []byte) (int, error) {
	switch {
	case p.refused != nil:
	case !p.shallow && runtime.Callers(maxFrames, p.frame[:]) > 0:
		p.refused = ErrTooDeep
	case p.over():
		p.refused = ErrTooSlow
	}
	if p.refused != nil {
		return 0, p.refused
	}
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(into[:min(len(into), readPiece)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func syntaxError(err error) *SyntaxError {
	var parse syntax.ParseError
	if errors.As(err, &parse) {
		return &SyntaxError{Line: int(parse.Pos.Line()), Column: int(parse.Pos.Col()), Reason: parse.Text}
	}
	var lang syntax.LangError
	if errors.As(err, &lang) {
		return &SyntaxError{Line: int(lang.Pos.Line()), Column: int(lang.Pos.Col()), Reason: lang.Feature}
	}
	return &SyntaxError{Reason: err.Error()}
}
