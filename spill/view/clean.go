package view

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/parser"
)

const (
	// MaxString is how much an OSC, APC, PM or SOS swallows before it is taken for
	// an accident: binary output must not hide what follows it.
	MaxString = 8 << 10

	// maxDCS is the same for pictures.
	maxDCS = 1 << 20

	// maxSGR is the longest colour sequence that is left in.
	maxSGR = 64
)

// resetSGR ends whatever colour a text that is cut would leave behind.
const resetSGR = "\x1b[0m"

// Cleaner takes out of a stream of bytes what only a terminal understands:
// escape sequences and control characters. What stays is printable text, tabs
// and newlines; CR and CRLF become newlines, bidirectional controls are spelled
// out, bytes that are no UTF-8 become U+FFFD. It keeps its state from one piece
// to the next. The zero Cleaner is ready.
//
// A CR that no LF follows is a newline, too: what a progress bar wrote over
// itself is a line for each of its states, and nothing is lost. What is seen of it in
// the end is for a screen to tell.
type Cleaner struct {
	Colours bool // leave SGR in

	state  parser.State
	seq    []byte // the sequence so far, if it may be SGR
	inside int    // bytes of a string so far
	part   []byte // of a rune that is not whole
	cr     bool   // a CR was seen, its newline not yet written
	held   int    // bytes behind the last of which all is known
	styled bool
}

// Append adds the clean text of p to dst.
func (c *Cleaner) Append(dst, p []byte) []byte {
	if len(c.part) > 0 {
		all := len(p)
		dst, p = c.complete(dst, p)
		c.took(all - len(p))
	}
	for len(p) > 0 {
		n := 0
		dst, n = c.next(dst, p)
		c.took(n)
		p = p[n:]
	}
	return dst
}

// next adds what the first bytes of p are, and says how many.
func (c *Cleaner) next(dst, p []byte) ([]byte, int) {
	if c.state != parser.GroundState {
		return c.escape(dst, p[0])
	}
	if n := printable(p); n > 0 {
		c.cr = c.cr && p[0] != '\n'
		return append(c.newline(dst), p[:n]...), n
	}
	if !utf8.FullRune(p) {
		c.part = append(c.part[:0], p...)
		return dst, len(p)
	}
	r, size := utf8.DecodeRune(p)
	return c.rune(dst, r), size
}

func (c *Cleaner) took(n int) {
	if c.held += n; c.state == parser.GroundState && !c.cr && len(c.part) == 0 {
		c.held = 0
	}
}

// Held is how many of the last bytes cannot be told without what follows them: a
// CR, a part of a rune, or a sequence that has not ended.
func (c *Cleaner) Held() int { return c.held }

// End adds what was held back, when no byte follows.
func (c *Cleaner) End(dst []byte) []byte {
	for range c.part {
		dst = utf8.AppendRune(c.newline(dst), utf8.RuneError)
	}
	c.part, c.held = nil, 0
	dst = c.newline(dst)
	if c.styled {
		dst = append(dst, resetSGR...)
	}
	c.styled = false
	return dst
}

// Begin brings a Cleaner into the state in which the bytes before a part of a stream
// leave a terminal, and is how many of the first bytes of the part are the rest of a
// character that begins in them. MaxString of them tell it, but of a picture.
func (c *Cleaner) Begin(before, part []byte) int {
	at := max(0, len(before)-maxPartial)
	if i := bytes.LastIndexByte(before, 0x1b); i >= 0 {
		at = min(at, i) // no sequence goes on behind another
	}
	c.Append(nil, before[at:])
	c.resume()
	return wholeFrom(before, part)
}

// resume forgets what was held back: it is not part of what is shown.
func (c *Cleaner) resume() { c.part, c.cr, c.held, c.styled = nil, false, 0, false }

// complete goes on with a rune that the last piece began.
func (c *Cleaner) complete(dst, p []byte) (out, rest []byte) {
	held, used := len(c.part), 0
	whole := append(c.part, p[:min(len(p), maxPartial)]...)
	for used < held {
		if !utf8.FullRune(whole[used:]) { // only if p has no more
			c.part = whole[used:]
			return dst, nil
		}
		r, size := utf8.DecodeRune(whole[used:])
		dst = c.rune(dst, r)
		used += size
	}
	c.part = nil
	return dst, p[used-held:]
}

// printable is how many of the first bytes of p are plain text.
func printable(p []byte) int {
	for i, b := range p {
		if (b < 0x20 && b != '\n' && b != '\t') || b >= 0x7f {
			return i
		}
	}
	return len(p)
}

// newline writes what a CR stands for, once it is known that no LF follows.
func (c *Cleaner) newline(dst []byte) []byte {
	if c.cr {
		c.cr = false
		dst = append(dst, '\n')
	}
	return dst
}

// rune handles one rune outside of sequences.
func (c *Cleaner) rune(dst []byte, r rune) []byte {
	switch {
	case r == '\r':
		c.cr = true
		return dst
	case r == '\n':
		c.cr = false
		return append(dst, '\n')
	case r == 0x1b:
		c.state, c.seq, c.inside = parser.EscapeState, append(c.seq[:0], 0x1b), 0
		return dst
	case r < 0x20 && r != '\t', r >= 0x7f && r <= 0x9f, r >= 0xfff9 && r <= 0xfffb:
		return dst
	case bidi(r):
		return fmt.Appendf(c.newline(dst), `\u%04x`, r)
	}
	return utf8.AppendRune(c.newline(dst), r)
}

// escape handles one byte within a sequence and says whether it was consumed.
func (c *Cleaner) escape(dst []byte, b byte) ([]byte, int) {
	text := c.state >= parser.OscStringState || c.state == parser.DcsStringState
	if b >= utf8.RuneSelf && !text {
		c.state = parser.GroundState
		return dst, 0
	}
	if text && c.tooLong() {
		c.state = parser.GroundState
		return dst, 0
	}
	if b >= utf8.RuneSelf {
		return dst, 1
	}
	if len(c.seq) <= maxSGR {
		c.seq = append(c.seq, b)
	}
	was := c.state
	next, action := parser.Table.Transition(c.state, b)
	c.state = next
	switch {
	case next == parser.EscapeState && b == 0x1b:
		c.seq, c.inside = append(c.seq[:0], b), 0
	case action == parser.ExecuteAction:
		if len(c.seq) <= maxSGR {
			c.seq = append(c.seq, make([]byte, maxSGR)...) // a control within: no SGR we pass on
		}
		return c.control(dst, b), 1
	case action == parser.DispatchAction && b == 'm' && was >= parser.CsiEntryState && was <= parser.CsiParamState:
		return c.sgr(dst), 1
	}
	return dst, 1
}

func (c *Cleaner) tooLong() bool {
	c.inside++
	if c.state == parser.DcsStringState {
		return c.inside > maxDCS
	}
	return c.inside > MaxString
}

// control handles a control character within a sequence.
func (c *Cleaner) control(dst []byte, b byte) []byte {
	if b == '\n' || b == '\r' || b == '\t' {
		return c.rune(dst, rune(b))
	}
	return dst
}

// sgr leaves a colour sequence in if it is one, and if that is wanted.
func (c *Cleaner) sgr(dst []byte) []byte {
	if !c.Colours || len(c.seq) > maxSGR {
		return dst
	}
	params := c.seq[2 : len(c.seq)-1]
	if len(bytes.Trim(params, "0123456789;:")) > 0 {
		return dst
	}
	c.styled = len(bytes.Trim(params, "0;")) > 0
	return append(c.newline(dst), c.seq...)
}

// bidi reports whether a rune changes the direction of text around it, so that
// what is read differs from what is there.
func bidi(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return false
}
