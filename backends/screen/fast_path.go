package screen

import (
	"bytes"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi/parser"
)

// maxAltScrollback is how many lines vt may keep of what scrolls out of the alternate
// screen. It keeps 10,000 of them, 100 MiB of a wide one, and has no method to say
// otherwise.
const maxAltScrollback = 64

// trim empties the scrollback of the alternate screen, if that is shown. There is one
// sequence for it, which clears the screen, too.
func (t *emulator) trim() {
	t.scrolls = 0
	if !t.vt.IsAltScreen() {
		return
	}
	type kept struct {
		x, y int
		cell *uv.Cell
	}
	var cells []kept
	for y := range t.size.Rows {
		for x := range t.size.Cols {
			if c := t.vt.CellAt(x, y); c != nil && c.Width > 0 && !c.Equal(&uv.EmptyCell) {
				cells = append(cells, kept{x, y, c.Clone()})
			}
		}
	}
	_, _ = t.vt.WriteString("\x1b[3J")
	for _, k := range cells {
		t.vt.SetCell(k.x, k.y, k.cell)
	}
}

// ahead is how much of the beginning of p makes no difference to what is seen behind
// it: of lines of text that scroll by only the last can still be on the screen. vt
// takes 30 µs for each line that scrolls. simple is how far it is known that nothing
// more can be left out.
//
// A stretch counts that holds nothing but text, tabs, ends of lines, colours and EL.
// Behind two screens of lines the cursor is in the last one, and all above it was
// written by them.
func (t *emulator) ahead(p []byte) (skip, simple int) {
	if t.sieve.state != parser.GroundState || len(t.sieve.part) > 0 || t.modes.region || t.modes.insert || t.modes.set[originMode] {
		return 0, 0
	}
	end, lines := stretch(p)
	enough := 2 * t.size.Rows
	if lines < 2*enough {
		return 0, end
	}
	for at, kept := end, 0; ; kept++ {
		at = bytes.LastIndexByte(p[:at], '\n')
		switch {
		case at < 0:
			return 0, end
		case kept >= enough && at > 0 && p[at-1] == '\r': // the next line begins at the left
			return at + 1, end
		}
	}
}

// stretch is how long the text is that p begins with, and how many lines it ends.
func stretch(p []byte) (n, lines int) {
	for n < len(p) {
		switch b := p[n]; {
		case b == '\n':
			lines++
		case b == 0x1b:
			skip := coloured(p[n:])
			if skip == 0 {
				return n, lines
			}
			n += skip
			continue
		case b < 0x20 && b != '\r' && b != '\t', b == 0x7f:
			return n, lines
		}
		n++
	}
	return n, lines
}

// coloured is the length of the SGR or EL that p begins with, 0 if it is none.
func coloured(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i, b := range p[2:min(len(p), maxCSI)] {
		switch {
		case b == 'm' || b == 'K':
			return i + 3
		case (b < '0' || b > '9') && b != ';' && b != ':':
			return 0
		}
	}
	return 0
}
