package view

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	// maxRow bounds a row of unlimited width, in bytes and in columns. The text before it
	// cannot be overwritten any more.
	maxRow = 16 << 10

	// maxBlank bounds the blanks that a cursor movement adds to a row.
	maxBlank = 256

	// maxCols is the largest width. A wider row is taken for one of unlimited width.
	maxCols = 1000

	// maxCell bounds the combining characters of a column, in bytes.
	maxCell = 32

	// maxStyle bounds the sequences of an active style, in bytes.
	maxStyle = 256

	tabStop = 8
)

// terminalRow is the row of the cursor, as a terminal shows it: what is written over other
// text replaces it. It is text until it is overwritten, then columns. With a width, a full
// row is complete, although its line goes on in the next one. The zero terminalRow is an
// empty row of unlimited width.
type terminalRow struct {
	cols  int    // width; 0: unlimited
	text  []byte // with the sequences of its styles; unused if cells is not nil
	cells []cell
	col   int  // of the cursor, if moved or cells is not nil
	moved bool // the cursor may not be at the end of text

	begin string // style at the beginning of the row
	shown string // style at the end of text
	style string // active style

	out   bool   // the beginning of the row is in the output
	drawn []byte // what a terminal that follows the output shows of the row
}

// cell is one column. The columns after the first one of a wide character or tab have no
// text.
type cell struct {
	text  string
	style string
}

const blank = " "

// print adds text without control characters other than tabs and newlines.
func (r *terminalRow) print(dst, p []byte) []byte {
	for {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			return r.write(dst, p)
		}
		dst = r.newline(r.write(dst, p[:n]))
		p = p[n+1:]
		if last := bytes.LastIndexByte(p, '\n') + 1; last > 0 && r.shown == r.style { // whole lines
			dst = append(dst, p[:last]...)
			p = p[last:]
		}
	}
}

// write adds text of one line.
func (r *terminalRow) write(dst, p []byte) []byte {
	if len(p) == 0 {
		return dst
	}
	dst = r.afterOutput(dst)
	if r.cells == nil && r.moved && r.col < r.width() {
		r.divide()
	}
	if r.cells == nil {
		r.text = append(r.restyle(r.text), p...)
		r.moved = false
		return r.bound(dst)
	}
	for len(p) > 0 {
		c, n := utf8.DecodeRune(p)
		dst = r.put(dst, c)
		p = p[n:]
		if r.cells == nil { // the row was full
			return r.write(dst, p)
		}
	}
	return dst
}

// afterOutput begins a new line if the cursor has returned to text that is in the output.
func (r *terminalRow) afterOutput(dst []byte) []byte {
	if r.out && r.moved {
		dst = r.newline(dst)
	}
	return dst
}

// restyle adds the change to the active style.
func (r *terminalRow) restyle(dst []byte) []byte {
	dst = append(dst, transition(r.shown, r.style)...)
	r.shown = r.style
	return dst
}

// transition returns the sequences that change a style.
func transition(from, to string) string {
	switch {
	case from == to:
		return ""
	case to == "":
		return resetSGR
	case strings.HasPrefix(to, from):
		return to[len(from):]
	}
	return resetSGR + to
}

// bound moves the beginning of a long text to the output: full rows, or all of it.
func (r *terminalRow) bound(dst []byte) []byte {
	if len(r.text) > maxRow {
		dst = r.wrap(dst)
	}
	if len(r.text) <= maxRow {
		return dst
	}
	dst = r.emit(dst)
	r.reset()
	r.out = true
	return dst
}

// wrap moves the full rows of the text to the output.
func (r *terminalRow) wrap(dst []byte) []byte {
	if r.cols == 0 || r.cells != nil || r.moved {
		return dst
	}
	col, row, style, begin := 0, 0, r.begin, r.begin
	for i := 0; i < len(r.text); {
		if n, next := styleAt(r.text[i:], style); n > 0 {
			i, style = i+n, next
			continue
		}
		c, n := utf8.DecodeRune(r.text[i:])
		w := r.advance(c, col)
		if col+w > r.cols {
			col, row, begin = 0, i, style
			w = r.advance(c, 0)
		}
		col, i = col+w, i+n
	}
	if row == 0 {
		return dst
	}
	rest := r.text[row:]
	r.text = r.text[:row]
	dst = r.emit(dst)
	r.text, r.begin, r.out, r.drawn = append(r.text[:0], rest...), begin, false, nil
	return dst
}

// advance returns by how many columns a rune moves the cursor.
func (r *terminalRow) advance(c rune, col int) int {
	if c != '\t' {
		return Columns(c)
	}
	to := (col/tabStop + 1) * tabStop
	if r.cols > 0 { // a tab does not wrap
		to = max(col, min(to, r.cols-1))
	}
	return to - col
}

// styleAt returns the length of the style sequence at the beginning of p, and the style
// after it. The sequences of a text are those that print has added.
func styleAt(p []byte, style string) (int, string) {
	if p[0] != 0x1b {
		return 0, style
	}
	n := bytes.IndexByte(p, 'm') + 1
	return n, styled(style, string(p[:n]))
}

// styled returns the style after a sequence.
func styled(style, seq string) string {
	params := seq[2 : len(seq)-1]
	switch {
	case strings.Trim(params, "0;") == "":
		return ""
	case strings.HasPrefix(params, "0;"), len(style)+len(seq) > maxStyle:
		return seq
	}
	return style + seq
}

// width returns the number of columns of the text.
func (r *terminalRow) width() int {
	col := 0
	for i := 0; i < len(r.text); {
		if n, _ := styleAt(r.text[i:], ""); n > 0 {
			i += n
			continue
		}
		c, n := utf8.DecodeRune(r.text[i:])
		col, i = col+r.advance(c, col), i+n
	}
	return col
}

// divide divides the text into columns.
func (r *terminalRow) divide() {
	p, style, col, active := r.text, r.begin, r.col, r.style
	r.cells, r.col = make([]cell, 0, len(p)+tabStop), 0
	for len(p) > 0 {
		if n, next := styleAt(p, style); n > 0 {
			p, style = p[n:], next
			continue
		}
		c, n := utf8.DecodeRune(p)
		r.style = style
		r.set(c, r.advance(c, r.col))
		p = p[n:]
	}
	r.text, r.col, r.style = r.text[:0], col, active
}

// put writes a rune at the cursor of a row of columns. A full row goes to the output.
func (r *terminalRow) put(dst []byte, c rune) []byte {
	w := r.advance(c, r.col)
	most := r.cols
	if most == 0 {
		most = maxRow
	}
	if r.col+w > most {
		dst = r.emit(dst)
		r.reset()
		r.out = r.cols == 0
		r.text = utf8.AppendRune(r.restyle(r.text), c)
		return dst
	}
	if c == '\t' && r.col < len(r.cells) { // it moves over what is there
		r.col += w
		return dst
	}
	r.set(c, w)
	return dst
}

// set writes a rune of w columns at the cursor. A wide character that it cuts becomes
// blank.
func (r *terminalRow) set(c rune, w int) {
	switch {
	case w == 0 && c == '\t': // at the right margin
		return
	case w == 0:
		if i := r.first(r.col - 1); i >= 0 && len(r.cells[i].text) < maxCell {
			r.cells[i].text += string(c)
		}
		return
	}
	r.extend(r.col + w)
	r.cut(r.col)
	r.cut(r.col + w)
	r.cells[r.col] = cell{string(c), r.style}
	for i := r.col + 1; i < r.col+w; i++ {
		r.cells[i] = cell{"", r.style}
	}
	r.col += w
}

// first returns the first column of the character at a column, -1 if there is none.
func (r *terminalRow) first(col int) int {
	if col >= len(r.cells) {
		return -1
	}
	for col > 0 && r.cells[col].text == "" {
		col--
	}
	return col
}

// extend adds blanks up to a column.
func (r *terminalRow) extend(to int) {
	for len(r.cells) < to {
		r.cells = append(r.cells, cell{text: blank})
	}
}

// cut makes a character blank that reaches over the beginning of a column.
func (r *terminalRow) cut(col int) {
	if col >= len(r.cells) || r.cells[col].text != "" {
		return
	}
	for i := r.first(col); i < len(r.cells) && (i < col || r.cells[i].text == ""); i++ {
		r.cells[i] = cell{blank, r.cells[i].style}
	}
}

// newline ends the line.
func (r *terminalRow) newline(dst []byte) []byte {
	dst = append(r.restyle(r.emit(dst)), '\n')
	r.reset()
	r.out = false
	return dst
}

// end ends the line if it has text.
func (r *terminalRow) end(dst []byte) []byte {
	if row, _ := r.row(); len(row) == 0 && !r.out {
		dst = r.emit(dst) // a terminal may have drawn more
		r.reset()
		return dst
	}
	return r.newline(dst)
}

// reset makes the row empty, with the active style.
func (r *terminalRow) reset() {
	r.text, r.cells, r.col, r.moved, r.drawn = r.text[:0], nil, 0, false, nil
	r.begin = r.shown
}

// emit adds what the output lacks of the row.
func (r *terminalRow) emit(dst []byte) []byte {
	row, shown := r.row()
	if rest, longer := bytes.CutPrefix(row, r.drawn); longer {
		dst = append(dst, rest...)
	} else { // only a terminal has drawn
		dst = append(dst, '\r')
		dst = append(append(dst, resetSGR+eraseRow...), r.begin...)
		dst = append(dst, row...)
	}
	r.shown = shown
	return dst
}

// eraseRow erases a row from the cursor on.
const eraseRow = "\x1b[K"

// row returns the text of the row, and the style at its end. Blanks after the cursor are
// left out once something was overwritten.
func (r *terminalRow) row() (row []byte, shown string) {
	if r.cells == nil {
		return r.text, r.shown
	}
	end := len(r.cells)
	for end > r.col && r.cells[end-1].text == blank {
		end--
	}
	style := r.begin
	for _, c := range r.cells[:end] {
		if c.text != "" {
			row = append(append(row, transition(style, c.style)...), c.text...)
			style = c.style
		}
	}
	return row, style
}
