package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of a pattern, which limit the work for each byte of a file.
const (
	maxPattern = 4 << 10
	maxProgram = 5000 // instructions
)

// Errors of patterns.
var (
	ErrNoPattern      = errors.New("the pattern is empty")
	ErrPatternTooLong = fmt.Errorf("the pattern is longer than %d bytes, or repeats too much", maxPattern)
)

// patternError is the error of a pattern that is not a regular expression.
type patternError string

// Error implements error.
func (e patternError) Error() string { return string(e) }

// IsPatternError reports whether an error of a search is that of its pattern.
func IsPatternError(err error) bool {
	var syntax patternError
	return errors.As(err, &syntax) || errors.Is(err, ErrNoPattern) || errors.Is(err, ErrPatternTooLong)
}

// pattern matches text or a regular expression in lines.
type pattern struct {
	ahead   prefilter
	literal []byte         // part of every matching line; nil: not known
	re      *regexp.Regexp // nil: the literal is the whole pattern
}

// newPattern parses a pattern: literal text, or an RE2 regular expression.
func newPattern(s string, regex bool) (pattern, error) {
	switch {
	case s == "":
		return pattern{}, ErrNoPattern
	case len(s) > maxPattern:
		return pattern{}, ErrPatternTooLong
	case !regex:
		return pattern{literal: []byte(s), ahead: prefilter{texts: [][]byte{[]byte(s)}}}, nil
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return pattern{}, patternError("the pattern is no regular expression: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return pattern{}, ErrPatternTooLong
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return pattern{}, err
	}
	p := pattern{re: re, ahead: newPrefilter(tree)}
	if len(p.ahead.texts) == 1 && !p.ahead.folded {
		p.literal = p.ahead.texts[0]
		if tree.Op == syntax.OpLiteral {
			p.re = nil
		}
	}
	return p, nil
}

// find returns where in a line the first match begins; -1 means nowhere.
func (p pattern) find(line []byte) int {
	if p.re == nil {
		return bytes.Index(line, p.literal)
	}
	if loc := p.re.FindIndex(line); loc != nil {
		return loc[0]
	}
	return -1
}

// findIn does the same as find for the line [from, to) of r, which is longer than a
// buffer.
func (p pattern) findIn(ctx context.Context, r io.ReaderAt, from, to int64) (int64, error) {
	if p.literal != nil { // a fast check, often sufficient
		at, err := p.findLiteral(ctx, r, from, to)
		if at < 0 || err != nil || p.re == nil {
			return at, err
		}
	}
	in := &stickyError{ctx: ctx, r: io.NewSectionReader(r, from, to-from)}
	loc := p.re.FindReaderIndex(bufio.NewReaderSize(in, chunk))
	if in.err != nil {
		return -1, in.err
	}
	if loc == nil {
		return -1, nil
	}
	return int64(loc[0]), nil
}

func (p pattern) findLiteral(ctx context.Context, r io.ReaderAt, from, to int64) (int64, error) {
	c := newCursor(ctx, r, from, to)
	for {
		w, last, err := c.window(chunk)
		if err != nil {
			return -1, err
		}
		if i := bytes.Index(w, p.literal); i >= 0 {
			return c.off + int64(i) - from, nil
		}
		if last {
			return -1, nil
		}
		c.advance(len(w) - len(p.literal) + 1)
	}
}

// stickyError keeps the read error that regexp takes for the end of the text.
type stickyError struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (t *stickyError) Read(p []byte) (int, error) {
	if t.err = t.ctx.Err(); t.err != nil {
		return 0, t.err
	}
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}
