package screen

import uv "github.com/charmbracelet/ultraviolet"

// insert makes room for a character of insert mode, which vt lacks. After a full line
// the room is in the next line.
func (t *emulator) insert(width int) {
	t.flushAll()
	if t.modes.set[autoWrap] && t.size.Cols > 1 && t.vt.CursorPosition().X == t.size.Cols-1 {
		t.wrap()
	}
	t.shift(width)
}

// wrap moves to the next line if the cursor's line is full. vt shows a pending wrap
// only by where it puts a character, so wrap writes one and restores its cell.
func (t *emulator) wrap() {
	from, bottom := t.vt.CursorPosition().Y, t.size.Rows
	if t.modes.region {
		bottom = t.modes.bottom
	}
	var first *uv.Cell // nil: a new line is scrolled in
	if c := t.vt.CellAt(0, min(from+1, t.size.Rows-1)); c != nil && from != bottom-1 {
		first = c.Clone()
	}
	t.scrolls++
	t.put("x")
	t.flushAll()
	if at := t.vt.CursorPosition(); at.X == 1 {
		t.vt.SetCell(0, at.Y, first)
		t.put("\b")
	}
}

// shift performs ICH, or DCH if n is negative. vt performs them within the scrolling
// region only.
func (t *emulator) shift(n int) {
	t.flushAll()
	at := t.vt.CursorPosition()
	cells := make([]*uv.Cell, t.size.Cols)
	for x := range cells {
		if c := t.vt.CellAt(x, at.Y); c != nil {
			cells[x] = c.Clone()
		}
	}
	for x := at.X; x < t.size.Cols; x++ {
		t.vt.SetCell(x, at.Y, nil)
	}
	for x := at.X; x < t.size.Cols; x++ {
		if to := x + n; to >= at.X && to < t.size.Cols && cells[x] != nil && cells[x].Width > 0 {
			t.vt.SetCell(to, at.Y, cells[x])
		}
	}
	t.put(csi(0, 'A'))
}
