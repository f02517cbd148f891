package shelltext

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

// MaxParse bounds a text that is parsed, in bytes. No person types more, and parsing it
// would cost too much.
const MaxParse = 64 << 10

// maxFrames bounds the stack of the recursive parser, since copying a growing stack
// makes deep nesting slow. It allows at least minDepth parentheses.
const maxFrames = 1500

// minDepth is the nesting that is always allowed, and so the longest text that needs no
// check. The check costs as much as the parsing.
const minDepth = 150

// readPiece is the size of a read of the parser, in bytes. It may nest deeper by that
// much between two checks.
const readPiece = 512

// Errors of Parse, beside *SyntaxError. They mean only that nothing is known of the
// text; they are no reason to refuse a command.
var (
	ErrTooLarge = errors.New(textTooLarge)
	ErrTooDeep  = errors.New(textTooDeep)
	ErrTooSlow  = errors.New(textTooSlow)
)

// SyntaxError means that a text is not bash, with the place of the error.
type SyntaxError struct {
	Line, Column int // from 1; 0: unknown
	Reason       string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf(textSyntax, e.Reason)
	}
	return fmt.Sprintf(textSyntaxAt, e.Line, e.Column, e.Reason)
}

// Parse parses a text as bash. It never panics. The bounds on length and depth keep it
// below 100 ms. The error is ErrTooLarge, ErrTooDeep or a *SyntaxError.
func Parse(text string) (*Script, error) {
	return ParseWithin(text, func() bool { return false })
}

// ParseWithin does the same as Parse, within the caller's deadline. It calls over every
// few hundred bytes and returns ErrTooSlow once that is true.
func ParseWithin(text string, over func() bool) (*Script, error) {
	file, err := parse(text, syntax.LangBash, over)
	if err != nil {
		return nil, err
	}
	return newScript(text, file), nil
}

// parse does the same as ParseWithin, without building a Script, for a text of any shell.
func parse(text string, lang syntax.LangVariant, over func() bool) (file *syntax.File, err error) {
	if len(text) > MaxParse {
		return nil, ErrTooLarge
	}
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, &SyntaxError{Reason: textParserFailed}
		}
	}()
	from := &boundedReader{rest: text, over: over, shallow: len(text) <= minDepth}
	file, err = syntax.NewParser(syntax.Variant(lang)).Parse(from, "")
	switch {
	case from.refused != nil:
		return nil, from.refused
	case err != nil:
		return nil, syntaxError(err)
	}
	return file, nil
}

// boundedReader hands a text to the parser in pieces until the parser is too deep or
// the time is over. It measures the stack: brackets in quotes do not nest, and words
// such as `if` do.
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
	if parse, ok := errors.AsType[syntax.ParseError](err); ok {
		return &SyntaxError{Line: int(parse.Pos.Line()), Column: int(parse.Pos.Col()), Reason: parse.Text}
	}
	if lang, ok := errors.AsType[syntax.LangError](err); ok {
		return &SyntaxError{Line: int(lang.Pos.Line()), Column: int(lang.Pos.Col()), Reason: lang.Feature}
	}
	return &SyntaxError{Reason: err.Error()}
}
