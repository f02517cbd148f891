package view

// Movements of the cursor within a terminalRow, and what erases a part of it.

// moveTo moves the cursor to a column, from 0. Full rows before it are complete.
func (r *terminalRow) moveTo(dst []byte, col int) []byte {
	dst = r.wrap(dst)
	most := max(len(r.cells), len(r.text), maxBlank)
	if r.cols > 0 {
		most = min(most, r.cols-1)
	}
	r.col, r.moved = min(max(col, 0), most), true
	if r.cells == nil && r.col > 0 {
		r.divide()
	}
	return dst
}

// move moves the cursor n columns to the right; negative: to the left. After a full row it is
// in the last column.
func (r *terminalRow) move(dst []byte, n int) []byte {
	dst = r.wrap(dst)
	at := r.at()
	if r.cols > 0 {
		at = min(at, r.cols-1)
	}
	return r.moveTo(dst, at+n)
}

// at returns the column of the cursor. The text has no full row before it.
func (r *terminalRow) at() int {
	if r.cells != nil || r.moved {
		return r.col
	}
	return r.width()
}

// atEnd reports whether the cursor is after all text of the row.
func (r *terminalRow) atEnd() bool {
	if r.cells == nil {
		return !r.moved
	}
	return r.col >= len(r.cells)
}

// columns divides the row into columns. The cursor stays.
func (r *terminalRow) columns(dst []byte) []byte {
	dst = r.wrap(dst)
	if r.cells == nil {
		r.col = r.at()
		r.divide()
	}
	r.moved = true
	return dst
}

// erase erases a part of the row: 0 from the cursor on, 1 to the cursor, 2 all.
func (r *terminalRow) erase(dst []byte, part int) []byte {
	switch {
	case part == 0 && r.cells == nil && !r.moved: // at the end of the text
		return dst
	case r.out && len(r.text) == 0 && r.cells == nil:
		return dst // what the output has stays
	}
	dst = r.columns(dst)
	switch part {
	case 0:
		r.cut(r.col)
		r.cells = r.cells[:min(r.col, len(r.cells))]
	case 1:
		r.extend(r.col + 1)
		r.cut(r.col + 1)
		r.clear(0, r.col+1)
	case 2:
		r.cells = r.cells[:0]
	}
	if len(r.cells) == 0 && r.col == 0 { // as at its beginning
		r.text, r.cells, r.moved, r.shown = r.text[:0], nil, r.out, r.begin
	}
	return dst
}

// clear makes columns blank.
func (r *terminalRow) clear(from, to int) {
	for i := from; i < min(to, len(r.cells)); i++ {
		r.cells[i] = cell{text: blank}
	}
}

// blanks erases n columns from the cursor on.
func (r *terminalRow) blanks(dst []byte, n int) []byte {
	dst = r.columns(dst)
	r.cut(r.col)
	r.cut(r.col + n)
	r.clear(r.col, r.col+n)
	return dst
}

// remove removes n columns from the cursor on; what follows moves to the left.
func (r *terminalRow) remove(dst []byte, n int) []byte {
	dst = r.columns(dst)
	r.cut(r.col)
	r.cut(r.col + n)
	if r.col < len(r.cells) {
		r.cells = append(r.cells[:r.col], r.cells[min(r.col+n, len(r.cells)):]...)
	}
	return dst
}

// insert inserts n blanks at the cursor; what follows moves to the right, out of a full row.
func (r *terminalRow) insert(dst []byte, n int) []byte {
	dst = r.columns(dst)
	if r.col >= len(r.cells) {
		return dst
	}
	r.cut(r.col)
	most := r.cols
	if most == 0 {
		most = maxRow
	}
	n = min(n, most-r.col)
	rest := append([]cell(nil), r.cells[r.col:]...)
	r.cells = r.cells[:r.col]
	r.extend(r.col + n)
	r.cells = append(r.cells, rest...)
	r.cut(most)
	r.cells = r.cells[:min(most, len(r.cells))]
	return dst
}
