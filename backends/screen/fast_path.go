package screen

import (
	"bytes"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi/parser"
)

// maxAltScrollback bounds the scrollback of the alternate screen. vt keeps 10,000
// lines, up to 100 MiB, and has no method to change that.
const maxAltScrollback = 64

// trim empties the scrollback of the alternate screen if that is shown. The only
// sequence for it also clears the screen, so trim draws the cells again.
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

// fastPath returns how many bytes at the start of p need not be drawn. Of text that
// scrolls by, only the last lines stay on the screen, and vt takes 30 µs for each line.
// simple is the length of p in which nothing more can be skipped.
//
// Only text, tabs, line ends, colours and EL can be skipped. After two screens of lines
// the cursor is in the last one, and those lines have replaced all above it.
func (t *emulator) fastPath(p []byte) (skip, simple int) {
	if t.sequences.state != parser.GroundState || len(t.sequences.part) > 0 || t.modes.region || t.modes.insert || t.modes.set[originMode] {
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

// stretch measures the text at the start of p and counts its line ends.
func stretch(p []byte) (n, lines int) {
	for n < len(p) {
		switch b := p[n]; {
		case b == '\n':
			lines++
		case b == 0x1b:
			skip := sgrLength(p[n:])
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

// sgrLength returns the length of the SGR or EL at the start of p; 0: none.
func sgrLength(p []byte) int {
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
