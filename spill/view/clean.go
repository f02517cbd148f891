package view

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/parser"
)

const (
	// MaxString bounds the bytes of an OSC, APC, PM or SOS. A longer one is taken for
	// an accident, so that binary output does not hide what follows.
	MaxString = 8 << 10

	// maxDCS is the same bound for a DCS, which may be a picture.
	maxDCS = 1 << 20

	// maxSGR is the length of the longest colour sequence that stays.
	maxSGR = 64
)

// resetSGR ends the colour that a cut text would leave active.
const resetSGR = "\x1b[0m"

// Cleaner removes from a stream of bytes what only a terminal understands: escape
// sequences and control characters. Printable text, tabs and newlines stay. CR and CRLF
// become newlines, bidirectional controls are spelled out, and invalid UTF-8 becomes
// U+FFFD. It keeps its state between calls. The zero Cleaner is ready.
//
// A CR without LF becomes a newline too. A progress bar that overwrites itself
// gives one line for each state, and no output is lost. With Final it gives its last
// state, as on a terminal: see final.go.
type Cleaner struct {
	Colours bool // keep SGR
	Final   bool // apply CR, backspace and movements within a line; leave out the alternate screen
	Cols    int  // width of the terminal, for Final; 0: unlimited

	state  parser.State
	seq    []byte // the current sequence, if it may be SGR
	inside int    // length of the current string in bytes
	part   []byte // beginning of an incomplete rune
	cr     bool   // set after a CR whose newline is not written
	held   int    // bytes at the end whose meaning depends on what follows
	styled bool   // an SGR is active

	row     terminalRow // the incomplete line, for Final
	alt     bool        // the alternate screen is shown
	hidden  int64       // bytes of text on the alternate screen, not reported yet
	redrawn bool        // the final text may differ
}

// Append adds the clean text of p to dst.
func (c *Cleaner) Append(dst, p []byte) []byte {
	c.sized()
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

// next adds the text of the first bytes of p and returns how many it used.
func (c *Cleaner) next(dst, p []byte) ([]byte, int) {
	if c.state != parser.GroundState {
		return c.escape(dst, p[0])
	}
	if n := printable(p); n > 0 {
		if c.Final {
			return c.print(dst, p[:n]), n
		}
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

// Held returns how many of the last bytes depend on what follows: a CR, a part of a
// rune, or a sequence without its end.
func (c *Cleaner) Held() int { return c.held }

// End adds the text of the held bytes, after the last byte of the stream.
func (c *Cleaner) End(dst []byte) []byte {
	for range c.part {
		dst = c.rune(dst, utf8.RuneError)
	}
	c.part, c.held = nil, 0
	if c.Final {
		return c.endRow(dst)
	}
	dst = c.newline(dst)
	if c.styled {
		dst = append(dst, resetSGR...)
	}
	c.styled = false
	return dst
}

// Begin sets the state that the bytes before a part of a stream leave in a terminal. It
// returns how many bytes at the beginning of part belong to a character that begins in
// before. The last MaxString bytes are enough, except within a picture.
func (c *Cleaner) Begin(before, part []byte) int {
	at := max(0, len(before)-maxPartial)
	if i := bytes.LastIndexByte(before, 0x1b); i >= 0 {
		at = min(at, i) // an ESC ends the sequence before it
	}
	c.Append(nil, before[at:])
	c.resume()
	return wholeFrom(before, part)
}

// resume forgets the held bytes, which are not part of the view.
func (c *Cleaner) resume() {
	c.part, c.cr, c.held, c.styled = nil, false, 0, false
	c.row, c.hidden, c.redrawn = terminalRow{}, 0, false
	c.sized()
}

// complete finishes a rune that began in the last call.
func (c *Cleaner) complete(dst, p []byte) (out, rest []byte) {
	held, used := len(c.part), 0
	whole := append(c.part, p[:min(len(p), maxPartial)]...)
	for used < held {
		if !utf8.FullRune(whole[used:]) { // p is used up
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

// printable returns how many bytes at the beginning of p are plain text.
func printable(p []byte) int {
	for i, b := range p {
		if (b < 0x20 && b != '\n' && b != '\t') || b >= 0x7f {
			return i
		}
	}
	return len(p)
}

// newline writes the newline of a CR, once it is known that no LF follows.
func (c *Cleaner) newline(dst []byte) []byte {
	if c.cr {
		c.cr, c.redrawn = false, true
		dst = append(dst, '\n')
	}
	return dst
}

// rune handles one rune outside sequences.
func (c *Cleaner) rune(dst []byte, r rune) []byte {
	switch {
	case c.Final && r != 0x1b:
		return c.finalRune(dst, r)
	case r == '\b':
		c.redrawn = true
		return dst
	case r == '\r':
		c.cr = true
		return dst
	case r == '\n':
		c.cr = false
		return append(dst, '\n')
	case r == 0x1b:
		c.state, c.seq, c.inside = parser.EscapeState, append(c.seq[:0], 0x1b), 0
		return dst
	case unprintable(r):
		return dst
	case bidi(r):
		return fmt.Appendf(c.newline(dst), `\u%04x`, r)
	}
	return utf8.AppendRune(c.newline(dst), r)
}

// unprintable reports whether a rune is left out.
func unprintable(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0xfff9 && r <= 0xfffb
}

// escape handles one byte within a sequence and returns 1 if it used the byte, else 0.
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
			c.seq = append(c.seq, make([]byte, maxSGR)...) // a control within the sequence: it is dropped, even if it is SGR
		}
		return c.control(dst, b), 1
	case action == parser.DispatchAction && was >= parser.CsiEntryState && was <= parser.CsiParamState && len(c.seq) <= maxSGR:
		return c.csi(dst, b), 1
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
	if b == '\n' || b == '\r' || b == '\t' || b == '\b' {
		return c.rune(dst, rune(b))
	}
	return dst
}

// sgr keeps a valid colour sequence if colours are wanted.
func (c *Cleaner) sgr(dst []byte) []byte {
	if !c.Colours {
		return dst
	}
	params := c.seq[2 : len(c.seq)-1]
	if len(bytes.Trim(params, "0123456789;:")) > 0 {
		return dst
	}
	if c.Final {
		c.row.style = styled(c.row.style, string(c.seq))
		return dst
	}
	c.styled = len(bytes.Trim(params, "0;")) > 0
	return append(c.newline(dst), c.seq...)
}

// bidi reports whether a rune changes the direction of text, so that a reader would see
// another text than there is.
func bidi(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return false
}
