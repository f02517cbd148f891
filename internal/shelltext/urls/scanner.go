package urls

import "strings"

// kind is the shell context of a place in a command.
type kind uint8

const (
	plain    kind = iota // words, also within $( ) and backticks
	single               // '…'
	double               // "…"
	ansi                 // $'…'
	comment              // # to the end of the line
	literal              // body of a here-document with a quoted word
	heredoc              // body of any other here-document
	parens               // ( ) and $( ): plain within
	arith                // (( )) and $(( )): plain, but << shifts
	backtick             // `…`: plain within
)

// scanner tracks the quotes of a command from left to right in one pass. It is not a
// parser. A mistake only affects how a path is quoted.
type scanner struct {
	text string
	pos  int
	open []kind
	docs []document // announced documents in order; the first may be open
	eol  int        // end of the current document line; valid if after pos
}

type document struct {
	word   string
	tabs   bool // <<-: leading tabs of its lines are dropped
	quoted bool
}

// maxOpen bounds the nesting; deeper text counts as plain.
const maxOpen = 1000

// at returns the context of a place. Places must not decrease between calls.
func (s *scanner) at(place int) kind {
	for s.pos < place {
		s.step(place)
	}
	switch top := s.top(); top {
	case parens, arith, backtick:
		return plain
	default:
		return top
	}
}

func (s *scanner) top() kind {
	if len(s.open) == 0 {
		return plain
	}
	return s.open[len(s.open)-1]
}

func (s *scanner) push(k kind) {
	if len(s.open) < maxOpen {
		s.open = append(s.open, k)
	}
}

func (s *scanner) pop() { s.open = s.open[:len(s.open)-1] }

// step consumes one element, past place at most by that element.
func (s *scanner) step(place int) {
	c := s.text[s.pos]
	switch s.top() {
	case single:
		s.closing(c, '\'', false)
	case ansi:
		s.closing(c, '\'', true)
	case comment:
		if c == '\n' {
			s.pop()
			return // the line ends for the outer context too
		}
		s.pos++
	case literal, heredoc:
		s.line(place)
	case double:
		s.inDouble(c)
	default:
		s.inPlain(c)
	}
}

func (s *scanner) closing(c, quote byte, escapes bool) {
	switch {
	case c == '\\' && escapes:
		s.pos++
	case c == quote:
		s.pop()
	}
	s.pos++
}

func (s *scanner) inDouble(c byte) {
	switch {
	case c == '"':
		s.pop()
	case c == '\\':
		s.pos++
	case c == '`':
		s.tick()
	case c == '$' && s.follows("("):
		s.substitution()
		return
	}
	s.pos++
}

func (s *scanner) inPlain(c byte) {
	switch c {
	case '\\':
		s.pos++
	case '\'':
		s.push(single)
	case '"':
		s.push(double)
	case '`':
		s.tick()
	case '$':
		if s.follows("(") {
			s.substitution()
			return
		}
		if s.follows("'") {
			s.push(ansi)
			s.pos++
		}
	case '(':
		s.push(parens)
	case ')':
		if top := s.top(); top == parens || top == arith {
			s.pop()
		}
	case '#':
		if s.pos == 0 || strings.IndexByte(" \t\n;&|()", s.text[s.pos-1]) >= 0 {
			s.push(comment)
		}
	case '<':
		s.announceHeredoc()
		return
	case '\n':
		s.pos++
		s.beginHeredoc()
		return
	}
	s.pos++
}

func (s *scanner) follows(what string) bool { return strings.HasPrefix(s.text[s.pos+1:], what) }

// substitution opens $( or $((.
func (s *scanner) substitution() {
	if s.follows("((") {
		s.push(arith)
		s.push(arith)
		s.pos += 3
		return
	}
	s.push(parens)
	s.pos += 2
}

func (s *scanner) tick() {
	if s.top() == backtick {
		s.pop()
		return
	}
	s.push(backtick)
}
