package view

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// With Final, a Cleaner gives the text that a terminal shows in the end. A line is complete
// with its newline; before that, CR, backspace and movements within the line overwrite it.
// It is bounded (see terminalRow). A movement to another line begins a new one. What is drawn
// on the alternate screen is left out, and one line says how much.

// hiddenText returns the line that replaces n bytes of the alternate screen.
func hiddenText(n int64) string {
	return fmt.Sprintf("[… %s of a full-screen program not shown …]\n", amount(n))
}

// sized sets the width of the row.
func (c *Cleaner) sized() {
	if c.row.cols = c.Cols; c.Cols < 0 || c.Cols > maxCols {
		c.row.cols = 0
	}
}

// FullScreen reports whether the alternate screen is shown, as by an editor.
func (c *Cleaner) FullScreen() bool { return c.alt }

// Enter says whether the alternate screen is shown before the first byte.
func (c *Cleaner) Enter(alternate bool) { c.alt = alternate }

// Flush adds the incomplete line, which cannot be overwritten then. A CR in it begins a new
// line.
func (c *Cleaner) Flush(dst []byte) []byte {
	if row, _ := c.row.row(); len(row) == 0 {
		return dst
	}
	if !c.row.atEnd() {
		return c.row.newline(dst)
	}
	dst = c.row.emit(dst)
	c.row.reset()
	c.row.out = true
	return dst
}

// Follow adds the incomplete line for a terminal that shows all of the text. The next call
// changes what the terminal shows of the line.
func (c *Cleaner) Follow(dst []byte) []byte {
	dst = c.row.emit(c.row.wrap(dst))
	row, _ := c.row.row()
	c.row.drawn = append(c.row.drawn[:0], row...)
	return dst
}

// Rest returns what End would add. It changes nothing.
func (c *Cleaner) Rest() []byte {
	try := c.Clone()
	return try.End(nil)
}

// Clone returns a copy that shares nothing with c.
func (c *Cleaner) Clone() Cleaner {
	to := *c
	to.seq, to.part = bytes.Clone(c.seq), bytes.Clone(c.part)
	to.row.text, to.row.cells, to.row.drawn = bytes.Clone(c.row.text), slices.Clone(c.row.cells), bytes.Clone(c.row.drawn)
	return to
}

// endRow adds the incomplete line and ends its style.
func (c *Cleaner) endRow(dst []byte) []byte {
	dst = c.row.emit(c.shows(dst))
	if c.row.shown != "" {
		dst = append(dst, resetSGR...)
	}
	style := c.row.style
	c.row = terminalRow{style: style}
	c.sized()
	return dst
}

// print adds text of the main screen.
func (c *Cleaner) print(dst, p []byte) []byte {
	if c.alt {
		c.hidden += int64(len(p))
		return dst
	}
	if c.hidden > 0 {
		if dst = c.shows(dst); p[0] == '\n' { // the line of shows has one
			p = p[1:]
		}
	}
	return c.row.print(dst, p)
}

// shows adds the line that stands for the alternate screen.
func (c *Cleaner) shows(dst []byte) []byte {
	if c.hidden == 0 {
		return dst
	}
	dst = c.row.end(dst)
	dst = append(dst, hiddenText(c.hidden)...)
	c.hidden = 0
	return dst
}

// finalRune handles one rune outside sequences.
func (c *Cleaner) finalRune(dst []byte, r rune) []byte {
	switch {
	case r == '\r' && !c.alt:
		return c.row.moveTo(dst, 0)
	case r == '\b' && !c.alt:
		return c.row.move(dst, -1)
	case unprintable(r):
		return dst
	case bidi(r):
		return c.print(dst, fmt.Appendf(nil, `\u%04x`, r))
	}
	return c.print(dst, utf8.AppendRune(nil, r))
}

// csi handles a control sequence without intermediates.
func (c *Cleaner) csi(dst []byte, final byte) []byte {
	params := c.seq[2 : len(c.seq)-1]
	switch {
	case final == 'm':
		return c.sgr(dst)
	case len(params) > 0 && params[0] == '?':
		if final == 'h' || final == 'l' {
			c.mode(params[1:], final == 'h')
		}
		return dst
	case len(params) > 0 && params[0] >= '<', bytes.IndexByte([]byte("ABCDEFGHPX@dfae`"), final) < 0 && (final != 'K' && final != 'J' || !c.Final):
		return dst
	case !c.Final:
		c.redrawn = true
		return dst
	case c.alt:
		return dst
	}
	return c.moves(dst, final, params)
}

// mode follows the modes that switch to the alternate screen and back.
func (c *Cleaner) mode(params []byte, on bool) {
	for p := range bytes.SplitSeq(params, []byte{';'}) {
		switch string(p) {
		case "47", "1047", "1049":
			c.redrawn = c.redrawn || on != c.alt
			c.alt = on
		}
	}
}

// moves moves the cursor or erases, within the line or to another.
func (c *Cleaner) moves(dst []byte, final byte, params []byte) []byte {
	first := numberOf(params, 0)
	n := max(first, 1)
	switch final {
	case 'C', 'a':
		return c.row.move(dst, n)
	case 'D':
		return c.row.move(dst, -n)
	case 'G', '`':
		return c.row.moveTo(dst, n-1)
	case 'K':
		return c.row.erase(dst, first)
	case 'J': // the rows above stay in a text, and so does this one
		if first == 0 {
			dst = c.row.erase(dst, 0)
		}
		return dst
	case 'X':
		return c.row.blanks(dst, n)
	case 'P':
		return c.row.remove(dst, n)
	case '@':
		return c.row.insert(dst, n)
	case 'H', 'f':
		return c.row.moveTo(c.row.end(dst), max(numberOf(params, 1), 1)-1)
	case 'E', 'F':
		return c.row.end(dst)
	}
	dst = c.row.wrap(dst)
	at := c.row.at()
	return c.row.moveTo(c.row.end(dst), at)
}

// maxNumber bounds a parameter of a sequence.
const maxNumber = 1 << 15

// numberOf returns a parameter of a sequence, 0 if it is absent.
func numberOf(params []byte, i int) int {
	for p := range bytes.SplitSeq(params, []byte{';'}) {
		if i--; i >= 0 {
			continue
		}
		n := 0
		for _, d := range p {
			if d < '0' || d > '9' {
				break
			}
			n = min(n*10+int(d-'0'), maxNumber)
		}
		return n
	}
	return 0
}
