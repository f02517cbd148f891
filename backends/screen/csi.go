package screen

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// csi returns a control sequence with one number.
func csi(n int, final byte) string { return "\x1b[" + strconv.Itoa(n) + string(final) }

// cup returns the sequence that moves the cursor to a row and column, from 0.
func cup(row, col int) string { return fmt.Sprintf("\x1b[%d;%dH", row+1, col+1) }

// text implements sink.
func (t *emulator) text(p []byte) {
	t.scrolls += len(p)/t.size.Cols + 1
	if t.modes.insert {
		for _, b := range p {
			t.insert(1)
			t.out = append(t.out, b)
		}
	} else {
		t.out = append(t.out, p...)
	}
	t.last = len(t.out) - 1 // a combining mark may join the last character
	t.again = append(t.again[:0], p[len(p)-1])
	if len(t.out) >= maxOut {
		t.flush(t.last)
	}
}

// char implements sink.
func (t *emulator) char(r rune, joins bool) {
	if joins {
		t.out = utf8.AppendRune(t.out, r)
		t.again = utf8.AppendRune(t.again, r)
		return
	}
	width := ansi.StringWidth(string(r))
	if width == 0 { // a combining mark without a character
		return
	}
	t.put("")
	if width > 1 { // vt loses a wide character that does not fit into the line
		t.flushAll()
		if t.modes.set[autoWrap] && t.vt.CursorPosition().X+width > t.size.Cols {
			t.put("\r\n")
		}
	}
	if t.modes.insert {
		t.insert(width)
	}
	t.scrolls++
	t.last = len(t.out)
	t.out = utf8.AppendRune(t.out, r)
	t.again = utf8.AppendRune(t.again[:0], r)
}

// control implements sink.
func (t *emulator) control(b byte) {
	switch b {
	case 0x0e, 0x0f: // vt lacks them: the set itself is selected instead
		t.modes.shift(b)
		t.charset()
	case '\n':
		t.scrolls++
		t.put("\n")
		if t.modes.newline {
			t.put("\r")
		}
	default:
		t.put(string(rune(b)))
	}
}

func (t *emulator) charset() { t.put("\x1b(" + string(t.modes.sets[t.modes.shifted])) }

// escape implements sink.
func (t *emulator) escape(inter, final byte) {
	t.modes.escape(inter, final)
	switch {
	case inter == '(' || inter == ')':
		t.charset()
	case inter != 0:
	case final == '8':
		t.restore()
	case final == 'E':
		t.scrolls++
		t.put("\r\n")
	case final == 'c':
		t.reset()
	case final == 'D':
		t.scrolls++
		t.put("\x1bD")
	case final == '7':
		t.save()
	case final == 'H' || final == 'M':
		t.put("\x1b" + string(final))
	}
}

// save performs DECSC. modes keeps what vt does not save with the cursor.
func (t *emulator) save() {
	t.modes.save()
	t.put("\x1b7")
}

// restore performs DECRC. vt keeps the pending wrap of a full line until the cursor
// moves.
func (t *emulator) restore() {
	t.modes.restore()
	t.put("\x1b8" + csi(0, 'A'))
	t.charset()
}

// reset performs RIS.
func (t *emulator) reset() {
	t.modes.reset()
	t.name = ""
	t.put("\x1bc")
	t.flushAll()
	t.scrolls = 0
}

// softReset performs DECSTR: it undoes what most programs leave set.
func (t *emulator) softReset() {
	t.modes.softReset()
	t.put("\x1b[?25h\x1b[?7h\x1b[?6l\x1b[m\x1b(B\x1b7" + "\x1b[r\x1b8" + csi(0, 'A'))
}

// csi implements sink.
func (t *emulator) csi(c sequence) {
	switch {
	case c.inter == '$' && c.final == 'p' && len(c.params) == 1 && (c.prefix == 0 || c.prefix == '?'):
		t.flushAll()
		t.reply(t.modes.report(c.param(0, 0), c.prefix == '?'))
	case c.inter == '!' && c.final == 'p' && c.prefix == 0:
		t.softReset()
	case t.modes.foreignTo(c):
	case c.inter != 0:
	case c.final == 'u' && c.prefix != 0:
		t.modes.keyboard(c)
	case c.final == 'h' || c.final == 'l':
		t.setModes(c)
	case c.final == 'n' || c.final == 'c':
		t.replyToQuery(c)
	case c.prefix == 0 && c.final == 'm':
		if strings.Trim(string(c.raw), "0123456789;:") == "" {
			t.put("\x1b[" + colours(c) + "m")
		}
	case c.prefix == 0:
		t.move(c)
	}
}

// colours returns the numbers of an SGR, within bounds.
func colours(c sequence) string {
	var b strings.Builder
	i := 0
	for _, r := range string(c.raw) {
		if r == ';' || r == ':' {
			i++
			if i == len(c.params) {
				break
			}
			b.WriteRune(r)
		} else if n := b.Len(); n == 0 || strings.IndexByte(";:", b.String()[n-1]) >= 0 {
			b.WriteString(strconv.Itoa(c.params[i]))
		}
	}
	return b.String()
}

// setModes performs SM and RM.
func (t *emulator) setModes(c sequence) {
	on := c.final == 'h'
	for _, mode := range c.params {
		if !t.modes.change(mode, c.prefix, on) || c.prefix != '?' {
			continue
		}
		switch mode {
		case savedCursor:
			if on {
				t.save()
			} else {
				t.restore()
			}
		case altScreen47, altScreen, altScreenSaved:
			t.alternate(on, mode == altScreenSaved)
		case autoWrap:
			t.put(fmt.Sprintf("\x1b[?%d%c", mode, c.final))
		case originMode:
			t.put(t.home())
		}
	}
}

// alternate switches between the two screens. The cursor keeps its position; if it was
// saved on the way in, it returns there on the way out. Both screens share the margins.
func (t *emulator) alternate(on, saved bool) {
	if on == t.modes.alt {
		return
	}
	if on && saved {
		t.save()
	}
	t.flushAll()
	at := t.vt.CursorPosition()
	t.modes.alt = on
	if on {
		t.put("\x1b[?1047h")
		t.scrolls = 0
	} else {
		t.trim()
		t.put("\x1b[?1047l")
		if saved {
			t.restore()
			t.flushAll()
			at = t.vt.CursorPosition()
		}
	}
	if t.modes.region {
		t.put(fmt.Sprintf("\x1b[%d;%dr", t.modes.top+1, t.modes.bottom))
	} else {
		t.put("\x1b[r")
	}
	t.put(cup(at.Y, at.X))
}

// row converts a program's line number, from 1, to a row from 0. vt does not get origin
// mode: it applies that to some cursor movements only, and to CR.
func (t *emulator) row(n int) int {
	if t.modes.region && t.modes.set[originMode] {
		return min(t.modes.top+n, t.modes.bottom) - 1
	}
	return min(n, t.size.Rows) - 1
}

func (t *emulator) home() string { return cup(t.row(1), 0) }

// move passes on cursor movements and edits of the screen.
func (t *emulator) move(c sequence) {
	rows, cols := t.size.Rows, t.size.Cols
	switch c.final {
	case 'A', 'B', 'E', 'F':
		t.put(csi(t.within(min(c.param(0, 1), rows), c.final), c.final))
	case 'd':
		t.put(csi(t.row(c.param(0, 1))+1, 'd'))
	case 'T', 'e':
		t.put(csi(min(c.param(0, 1), rows), c.final))
	case 'C', 'D', 'G', 'I', 'X', 'Z', '`', 'a':
		t.put(csi(min(c.param(0, 1), cols), c.final))
	case '@':
		t.shift(min(c.param(0, 1), cols))
	case 'P':
		t.shift(-min(c.param(0, 1), cols))
	case 'S':
		n := min(c.param(0, 1), rows)
		t.scrolls += n
		t.put(csi(n, 'S'))
	case 'L', 'M':
		t.lines(min(c.param(0, 1), rows), c.final)
	case 'H', 'f':
		t.put(cup(t.row(c.param(0, 1)), min(c.param(1, 1), cols)-1))
	case 'J':
		t.erase(c.param(0, 0))
	case 'K':
		if n := c.param(0, 0); n <= 2 {
			t.put(csi(n, 'K'))
		}
	case 'b':
		t.flushAll()
		t.repeat(min(c.param(0, 1), cols-t.vt.CursorPosition().X))
	case 'g':
		t.put(csi(c.param(0, 0), 'g'))
	case 'r':
		t.margins(c.param(0, 1), min(c.param(1, rows), rows))
	case 's':
		t.save()
	case 'u':
		t.restore()
	}
}

// margins performs DECSTBM.
func (t *emulator) margins(top, bottom int) {
	if top < bottom {
		t.modes.margins(top, bottom)
		t.modes.region = top > 1 || bottom < t.size.Rows
		t.put(fmt.Sprintf("\x1b[%d;%dr", top, bottom) + t.home())
	}
}

// erase performs ED. In vt, ED 1 also erases the rest of the cursor's line, and ED 3
// also the screen.
func (t *emulator) erase(what int) {
	switch what {
	case 0, 2:
		t.scrolls += t.size.Rows
		t.put(csi(what, 'J'))
	case 1:
		t.flushAll()
		for y := range t.vt.CursorPosition().Y {
			for x := range t.size.Cols {
				t.vt.SetCell(x, y, nil)
			}
		}
		t.put(csi(1, 'K'))
	case 3:
		t.flushAll()
		t.vt.ClearScrollback()
	}
}

// lines performs IL and DL. After them vt's cursor is in a wrong line if there is a
// scrolling region.
func (t *emulator) lines(n int, final byte) {
	t.flushAll()
	at := t.vt.CursorPosition()
	t.scrolls += n
	t.put(csi(n, final))
	if t.modes.region && at.Y >= t.modes.top && at.Y < t.modes.bottom {
		t.put(cup(at.Y, 0))
	}
}

// within limits an upward or downward move. A margin stops the cursor from either side;
// vt honours it only from between the margins.
func (t *emulator) within(n int, final byte) int {
	if !t.modes.region {
		return n
	}
	t.flushAll()
	at := t.vt.CursorPosition().Y
	switch up := final == 'A' || final == 'F'; {
	case up && at >= t.modes.top:
		return min(n, at-t.modes.top)
	case !up && at < t.modes.bottom:
		return min(n, t.modes.bottom-1-at)
	}
	return n
}

// repeat performs REP; n is at most the rest of the line. vt repeats ASCII only,
// without a bound.
func (t *emulator) repeat(n int) {
	if len(t.again) == 0 {
		return
	}
	again := append([]byte(nil), t.again...)
	for range n {
		if again[0] < utf8.RuneSelf && len(again) == 1 {
			t.text(again)
			continue
		}
		for i, r := range []rune(string(again)) {
			t.char(r, i > 0)
		}
	}
}

// title implements sink.
func (t *emulator) title(p []byte) { t.name = title(p) }

// title returns the part of a title that any terminal can show.
func title(p []byte) string {
	var b strings.Builder
	n := 0
	for len(p) > 0 && n < maxTitle {
		r, size := utf8.DecodeRune(p)
		p = p[size:]
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			continue
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
