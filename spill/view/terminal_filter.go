package view

import (
	"bytes"

	"github.com/charmbracelet/x/ansi/parser"
)

// maxHeld bounds how much of a sequence is held back until its meaning is known.
const maxHeld = 4 << 10

// enq is a terminal query of one byte.
const enq = 0x05

// TerminalFilter filters the output of a job for a real terminal, which gets it byte
// for byte. It removes terminal queries, whose replies would arrive as input, unless
// that terminal is the one that replies (docs/decisions/024). It also removes sequences
// that read or write the clipboard. It keeps its state from call to call; Questions may
// change between calls. The zero TerminalFilter is ready and removes both.
type TerminalFilter struct {
	Questions bool // keep terminal queries
	Clipboard bool // keep writes to the clipboard; reads never pass

	state   parser.State
	pending []byte // the current sequence, held back
	allows  bool   // the current string passes at once
	drops   bool   // the current string is dropped
	closed  bool   // set after the ESC of an ST that is already written
}

// Append adds the filtered p to dst.
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

// isText reports whether the state is within a string, which ends with ST.
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

// over ends a sequence that passes unchanged or not at all.
func (m *TerminalFilter) over(dst []byte, pass bool) []byte {
	if pass && len(m.pending) <= maxHeld {
		dst = append(dst, m.pending...)
	}
	m.state, m.pending = parser.GroundState, m.pending[:0]
	return dst
}

// sequence takes one byte of an escape sequence. It drops an aborted sequence, whose
// rest could become part of another.
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
	if action == parser.ExecuteAction && next != parser.GroundState { // a control within a sequence takes effect at once
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
	case next == parser.GroundState: // aborted
		return m.over(dst, false), 1
	}
	return dst, 1
}

// string takes a part of a string, up to its end. It writes ST for any end, because the
// bytes that follow may be dropped.
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

// inString keeps or passes a part of a string. For a string longer than maxHeld its
// beginning decides.
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

// lets reports whether a string that is held back may pass.
func (m *TerminalFilter) lets() bool {
	body := m.pending[2:]
	if m.pending[1] == '_' { // kitty replies to each graphics command
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

// asksDCS reports whether a DCS is a query: DECRQSS, XTGETTCAP and the like.
func asksDCS(p []byte) bool {
	n := len(p)
	return n >= 2 && (p[n-1] == 'q' || p[n-1] == 'p') && (p[n-2] == '$' || p[n-2] == '+')
}

// asks reports whether a sequence is a terminal query.
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

// titles reports whether CSI t only saves or restores the title.
func titles(body []byte) bool {
	return bytes.HasPrefix(body, []byte("22")) || bytes.HasPrefix(body, []byte("23"))
}
