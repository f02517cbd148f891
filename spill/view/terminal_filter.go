package view

import (
	"bytes"

	"github.com/charmbracelet/x/ansi/parser"
)

// maxHeld is how much of a sequence a Mute holds back until it knows what it is.
const maxHeld = 4 << 10

// enq asks a terminal who it is, as one byte.
const enq = 0x05

// TerminalFilter is for who shows the output of a job on a real terminal, byte for byte. It
// takes out what makes that terminal answer as if somebody had typed, unless it is the
// one that answers (docs/decisions/024), and what reads or writes the clipboard.
// It keeps its state from one piece to the next; Questions may change between two. The
// zero Mute is ready, and leaves in neither.
type TerminalFilter struct {
	Questions bool // leave questions in
	Clipboard bool // let the job write the clipboard; read it, it never may

	state   parser.State
	pending []byte // of the sequence so far
	allows  bool   // … which is a string that is passed on as it comes
	drops   bool   // … or one that is not
	closed  bool   // a string was ended for it: its ST is out already
}

// Append adds to dst what of p is left.
func (m *TerminalFilter) Append(dst, p []byte) []byte {
	for len(p) > 0 {
		var n int
		switch {
		case m.state == parser.GroundState:
			dst, n = m.ground(dst, p)
		case isText(m.state):
			dst, n = m.string(dst, p)
		default:
			dst, n = m.sequence(dst, p[0])
		}
		p = p[n:]
	}
	return dst
}

// isText reports whether the state is that of a string, whose end is not a final byte.
func isText(state parser.State) bool {
	return state >= parser.OscStringState || state == parser.DcsStringState
}

func (m *TerminalFilter) ground(dst, p []byte) ([]byte, int) {
	n := bytes.IndexAny(p, "\x1b\x05")
	if n < 0 {
		return append(dst, p...), len(p)
	}
	dst = append(dst, p[:n]...)
	switch {
	case p[n] == 0x1b:
		m.begin()
	case m.Questions:
		dst = append(dst, p[n])
	}
	return dst, n + 1
}

func (m *TerminalFilter) begin() {
	m.state, m.pending, m.allows, m.drops = parser.EscapeState, append(m.pending[:0], 0x1b), false, false
}

// over ends a sequence that is passed on as it is, or not at all.
func (m *TerminalFilter) over(dst []byte, pass bool) []byte {
	if pass && len(m.pending) <= maxHeld {
		dst = append(dst, m.pending...)
	}
	m.state, m.pending = parser.GroundState, m.pending[:0]
	return dst
}

// sequence takes one byte of an escape sequence. One that is cut off means nothing, and
// what is left of it could become part of another: it is left out.
func (m *TerminalFilter) sequence(dst []byte, b byte) ([]byte, int) {
	ended := m.closed
	m.closed = false
	switch {
	case b == 0x1b:
		m.begin()
		return dst, 1
	case b >= 0x80:
		return m.over(dst, false), 0
	case ended && b == '\\':
		return m.over(dst, false), 1
	}
	was := m.state
	next, action := parser.Table.Transition(was, b)
	if action == parser.ExecuteAction && next != parser.GroundState { // a control within is done at once
		if b == enq && !m.Questions {
			return dst, 1
		}
		return append(dst, b), 1
	}
	if len(m.pending) <= maxHeld {
		m.pending = append(m.pending, b)
	}
	m.state = next
	switch {
	case isText(next):
		m.allows = next == parser.SosStringState || next == parser.PmStringState
		if next == parser.DcsStringState {
			m.drops = !m.Questions && asksDCS(m.pending)
			m.allows = !m.drops
		}
		if m.allows {
			dst = append(dst, m.pending...)
			m.pending = m.pending[:0]
		}
	case action == parser.DispatchAction:
		return m.over(dst, m.Questions || !asks(m.pending)), 1
	case next == parser.GroundState: // cut off
		return m.over(dst, false), 1
	}
	return dst, 1
}

// string takes a part of a string, up to its end. What ends it is made ST: behind it
// something may be left out.
func (m *TerminalFilter) string(dst, p []byte) ([]byte, int) {
	n := bytes.IndexAny(p, "\a\x1b\x18\x1a")
	for n >= 0 && p[n] == '\a' && m.state != parser.OscStringState {
		more := bytes.IndexAny(p[n+1:], "\a\x1b\x18\x1a")
		if more < 0 {
			n = -1
			break
		}
		n += 1 + more
	}
	part := p
	if n >= 0 {
		part = p[:n]
	}
	dst = m.inString(dst, part)
	if n < 0 {
		return dst, len(p)
	}
	pass := m.allows || !m.drops && len(m.pending) <= maxHeld && m.lets()
	if pass {
		if p[n] == 0x1b || p[n] == '\a' {
			dst = append(append(dst, m.pending...), "\x1b\\"...)
		} else if m.allows {
			dst = append(dst, p[n])
		}
	}
	m.state, m.pending = parser.GroundState, m.pending[:0]
	if p[n] == 0x1b {
		m.begin()
		m.closed = true
	}
	return dst, n + 1
}

// inString keeps or passes on a part of a string. Of one that is longer than what is
// held back, its beginning tells.
func (m *TerminalFilter) inString(dst, p []byte) []byte {
	switch {
	case m.allows:
		return append(dst, p...)
	case m.drops:
		return dst
	}
	room := min(len(p), maxHeld-len(m.pending))
	m.pending = append(m.pending, p[:max(room, 0)]...)
	if room == len(p) {
		return dst
	}
	m.drops = !m.lets()
	if m.allows = !m.drops; m.allows {
		dst = append(append(dst, m.pending...), p[max(room, 0):]...)
	}
	m.pending = m.pending[:0]
	return dst
}

// lets reports whether a string that is held back may be passed on.
func (m *TerminalFilter) lets() bool {
	body := m.pending[2:]
	if m.pending[1] == '_' { // of the kitty graphics, each is answered
		return m.Questions || len(body) == 0 || body[0] != 'G'
	}
	kind, rest, _ := bytes.Cut(body, []byte{';'})
	if string(kind) == "52" {
		_, what, _ := bytes.Cut(rest, []byte{';'})
		return m.Clipboard && !bytes.Equal(what, []byte("?"))
	}
	for part := range bytes.SplitSeq(rest, []byte{';'}) {
		if bytes.HasPrefix(part, []byte("?")) {
			return m.Questions
		}
	}
	return true
}

// asksDCS: DECRQSS, XTGETTCAP and the like.
func asksDCS(p []byte) bool {
	n := len(p)
	return n >= 2 && (p[n-1] == 'q' || p[n-1] == 'p') && (p[n-2] == '$' || p[n-2] == '+')
}

// asks reports whether a sequence makes a terminal answer.
func asks(p []byte) bool {
	if p[1] != '[' {
		return len(p) == 2 && p[1] == 'Z'
	}
	body, final := p[2:len(p)-1], p[len(p)-1]
	prefix, inter := byte(0), byte(0)
	if n := len(body); n > 0 {
		if body[0] >= '<' && body[0] <= '?' {
			prefix = body[0]
		}
		if body[n-1] >= 0x20 && body[n-1] <= 0x2f {
			inter = body[n-1]
		}
	}
	switch final {
	case 'c', 'n':
		return true
	case 'p', 'u', 'w':
		return inter == '$' || final == 'u' && prefix == '?' // DECRQM, DECRQTSR, DECRQPSR, kitty's keys
	case 'q':
		return prefix == '>' // XTVERSION
	case 'x', 'y':
		return inter == 0 || inter == '*' // DECREQTPARM, DECRQCRA
	case 'm', 'S':
		return prefix == '?' // XTQMODKEYS, XTSMGRAPHICS
	case 't':
		return inter == 0 && len(body) > 1 && (body[0] == '1' || body[0] == '2') && body[1] >= '0' && body[1] <= '9' && !titles(body)
	}
	return false
}

// titles reports whether CSI t only keeps the title, or takes it back.
func titles(body []byte) bool {
	return bytes.HasPrefix(body, []byte("22")) || bytes.HasPrefix(body, []byte("23"))
}
