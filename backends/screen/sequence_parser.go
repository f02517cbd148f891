package screen

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// Bounds of one sequence. A longer one is read to its end and discarded.
const (
	maxParams  = 32
	maxNumber  = 9999
	maxCSI     = maxParams * 6
	maxOSC     = 4 << 10
	maxCluster = 16 // runes drawn as one character; more are left out
)

// sequenceParser turns hostile output into UTF-8 and the few sequences for which its
// sink has methods. Each sequence is whole and its numbers are within bounds. The
// parser keeps its state between pieces, and at most maxOSC bytes of a sequence.
type sequenceParser struct {
	to    parserSink
	state parser.State
	seq   []byte // the sequence so far
	over  bool   // the sequence exceeds its bound
	part  []byte // of an incomplete rune
	at    int64  // bytes read
	done  int64  // bytes read up to the end of the last sequence

	cluster int  // runes of the last character
	joined  bool // the last character takes the next rune, whatever it is
}

// parserSink receives the parsed output in order.
type parserSink interface {
	text(p []byte)               // printable ASCII
	char(r rune, joins bool)     // any other rune; joins: it belongs to the last character
	control(b byte)              // BS, HT, LF, CR, SO or SI; VT and FF are LF
	escape(inter, final byte)    // ESC … final
	csi(c sequence)              // CSI … final
	title(s []byte)              // OSC 0 and OSC 2, unfiltered
	colour(osc int, what []byte) // OSC 4, 10, 11, 12, and 104, 110, 111, 112
}

// sequence is a CSI sequence.
type sequence struct {
	prefix, inter, final byte
	params               []int // -1: not given
	raw                  []byte
}

// param returns the i-th number, or absent if it is missing or 0.
func (c sequence) param(i, absent int) int {
	if i >= len(c.params) || c.params[i] <= 0 {
		return absent
	}
	return c.params[i]
}

// take parses p.
func (s *sequenceParser) take(p []byte) {
	for len(p) > 0 {
		n := s.step(p)
		p, s.at = p[n:], s.at+int64(n)
	}
}

// step parses at least one byte of p and returns how many.
func (s *sequenceParser) step(p []byte) int {
	if s.state != parser.GroundState {
		return s.inside(p)
	}
	if len(s.part) > 0 {
		return s.complete(p)
	}
	if n := plain(p); n > 0 {
		s.cluster, s.joined = 1, false
		s.to.text(p[:n])
		return n
	}
	if p[0] < 0x20 || p[0] == 0x7f {
		s.controlled(p[0])
		return 1
	}
	if !utf8.FullRune(p) {
		s.part = append(s.part, p...)
		return len(p)
	}
	r, n := utf8.DecodeRune(p)
	s.rune(r)
	return n
}

// plain returns how many bytes at the start of p are printable ASCII.
func plain(p []byte) int {
	for i, b := range p {
		if b < 0x20 || b >= 0x7f {
			return i
		}
	}
	return len(p)
}

// complete adds one byte to an incomplete rune, or finds that the bytes are invalid.
func (s *sequenceParser) complete(p []byte) int {
	both := append(s.part, p[0])
	if !utf8.FullRune(both) {
		s.part = both
		return 1
	}
	s.part = s.part[:0]
	r, n := utf8.DecodeRune(both)
	s.rune(r)
	if n == len(both) {
		return 1
	}
	for range both[1 : len(both)-1] { // the bytes before are invalid; p[0] is parsed again
		s.rune(utf8.RuneError)
	}
	return 0
}

// rune passes on a rune that is not ASCII, unless it is invisible.
func (s *sequenceParser) rune(r rune) {
	switch {
	case r >= 0x80 && r <= 0x9f, r >= 0xfff9 && r <= 0xfffb: // C1 and annotations
		return
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c: // direction
		return
	}
	joins := s.cluster > 0 && (s.joined || r >= 0x1f3fb && r <= 0x1f3ff || ansi.StringWidth(string(r)) == 0)
	flag := r >= 0x1f1e6 && r <= 0x1f1ff // two of them make a flag
	s.joined = r == 0x200d || flag && !joins
	if !joins {
		s.cluster = 0
	}
	if s.cluster++; s.cluster <= maxCluster {
		s.to.char(r, joins)
	}
}

// controlled handles a control character, also within a sequence.
func (s *sequenceParser) controlled(b byte) {
	switch b {
	case 0x1b:
		s.begin()
		return
	case '\v', '\f':
		b = '\n'
	case '\b', '\t', '\n', '\r', 0x0e, 0x0f:
	default:
		return
	}
	s.cluster = 0
	s.to.control(b)
}

func (s *sequenceParser) begin() { s.state, s.seq, s.over = parser.EscapeState, s.seq[:0], false }

// text reports whether the state is that of a string, which has no final byte.
func text(state parser.State) bool {
	return state >= parser.OscStringState || state == parser.DcsStringState
}

// inside parses the next byte of a sequence. A byte above ASCII belongs to a string or
// ends the sequence.
func (s *sequenceParser) inside(p []byte) int {
	b := p[0]
	if text(s.state) {
		return s.string(p)
	}
	if b >= utf8.RuneSelf {
		s.state = parser.GroundState
		return 0
	}
	s.done = s.at + 1
	was := s.state
	next, action := parser.Table.Transition(s.state, b)
	s.state = next
	switch {
	case b == 0x1b:
		s.begin()
	case action == parser.ExecuteAction:
		s.controlled(b)
	case action == parser.DispatchAction:
		s.cluster = 0
		s.dispatch(was, b)
	case action == parser.CollectAction, action == parser.ParamAction, action == parser.PrefixAction:
		s.keep(b, maxCSI)
	case text(next):
		s.seq, s.over = s.seq[:0], false
	}
	return 1
}

func (s *sequenceParser) keep(b byte, most int) {
	if s.over = s.over || len(s.seq) >= most; !s.over {
		s.seq = append(s.seq, b)
	}
}

// string parses part of a string, up to BEL, ESC (of ST), CAN or SUB. The table would
// also end it at a byte 0x9C, which occurs within many UTF-8 letters.
func (s *sequenceParser) string(p []byte) int {
	n := bytes.IndexAny(p, "\a\x1b\x18\x1a")
	if n < 0 {
		n = len(p)
	}
	if s.state == parser.OscStringState {
		for _, b := range p[:min(n, maxOSC+1)] {
			s.keep(b, maxOSC)
		}
	}
	if n == len(p) {
		return n
	}
	was := s.state
	switch p[n] {
	case '\a':
		if was != parser.OscStringState {
			return n + 1
		}
		s.state = parser.GroundState
	case 0x1b:
		s.state = parser.EscapeState
	default:
		s.state = parser.GroundState
		return n + 1
	}
	if was == parser.OscStringState && !s.over {
		s.cluster, s.done = 0, s.at+int64(n)+1
		s.osc(s.seq)
	}
	s.seq, s.over = s.seq[:0], false
	return n + 1
}

// osc passes on the few strings that concern a screen.
func (s *sequenceParser) osc(p []byte) {
	kind, rest, found := bytes.Cut(p, []byte{';'})
	osc, err := strconv.Atoi(string(kind))
	switch {
	case err != nil:
	case found && (osc == 0 || osc == 2):
		s.to.title(rest)
	case found && (osc == 4 || osc >= 10 && osc <= 12), osc == 104, osc >= 110 && osc <= 112:
		s.to.colour(osc, rest)
	}
}

// dispatch passes on a sequence whose final byte is b.
func (s *sequenceParser) dispatch(was parser.State, b byte) {
	if s.over {
		return
	}
	if was == parser.EscapeState || was == parser.EscapeIntermediateState {
		if len(s.seq) <= 1 {
			s.to.escape(first(s.seq), b)
		}
		return
	}
	c := sequence{final: b, raw: s.seq}
	p := s.seq
	if len(p) > 0 && p[0] >= '<' && p[0] <= '?' {
		c.prefix, p = p[0], p[1:]
	}
	if n := len(p); n > 0 && p[n-1] >= 0x20 && p[n-1] <= 0x2f {
		c.inter, p = p[n-1], p[:n-1]
	}
	c.params = numbers(p)
	s.to.csi(c)
}

func first(p []byte) byte {
	if len(p) == 0 {
		return 0
	}
	return p[0]
}

// numbers returns the parameters of a sequence, at most maxParams. Sub-parameters count
// as parameters.
func numbers(p []byte) []int {
	if len(p) == 0 {
		return nil
	}
	all := make([]int, 1, 4)
	all[0] = -1
	for _, b := range p {
		last := &all[len(all)-1]
		switch {
		case b >= '0' && b <= '9':
			*last = min(max(*last, 0)*10+int(b-'0'), maxNumber)
		case len(all) == maxParams:
			return all
		case b == ';', b == ':':
			all = append(all, -1)
		default:
			return nil // invalid parameter
		}
	}
	return all
}
