package screen

import uv "github.com/charmbracelet/ultraviolet"

// Characters that move those behind them, which vt does not.

// insert makes room for a character of insert mode. Behind a line that is full it is in
// the next one.
func (t *emulator) insert(width int) {
	t.look()
	if t.modes.set[autoWrap] && t.size.Cols > 1 && t.vt.CursorPosition().X == t.size.Cols-1 {
		t.wrap()
	}
	t.shift(width)
}

// wrap goes to the next line if the cursor's is full. vt tells whether it is by what it
// does with a character, whose place is as it was then.
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
	t.look()
	if at := t.vt.CursorPosition(); at.X == 1 {
		t.vt.SetCell(0, at.Y, first)
		t.put("\b")
	}
}

// shift is ICH, or of a negative number DCH, which vt does within the scrolling region
// only.
func (t *emulator) shift(n int) {
	t.look()
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
