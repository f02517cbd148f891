// Package screen draws what the terminals of jobs show. A Screen is one terminal:
// bytes go in, the text that would be seen comes out. Screens keeps those of a node:
// it draws a job's screen when somebody asks for it, from the end of the job's log,
// and gives it up when nobody has asked for a while.
//
// The emulator is charmbracelet/x/vt. What a job writes is hostile to it, so nothing
// reaches it but what a sieve has let through: no query (its answers would block it),
// no number out of bounds, no string, no mode it would only remember. What it lacks
// is made of what it has.
package screen

import (
	"io"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"troupe/messages"
)

// Screen is a terminal that nobody looks at. It is not safe for concurrent use, and
// holds nothing but memory: no goroutine, no descriptor. Give it bytes in pieces of a
// few kilobytes where time matters: it draws some ten thousand lines a second.
type Screen interface {
	// Write draws p. How the bytes are cut into pieces makes no difference, unless
	// somebody looks in the middle of a character.
	Write(p []byte) (int, error)
	// Resize changes the size, within bounds. Lines are cut and not folded anew.
	Resize(messages.Terminal)
	Size() messages.Terminal
	// Text is what is seen: a string for each row, without the blanks at its end.
	Text() []string
	Cursor() Cursor
	// Alt reports whether the alternate screen is shown, as by an editor.
	Alt() bool
	// Title is what the program calls itself, without what acts on a terminal.
	Title() string
	// Keys are the modes that decide what a key sends.
	Keys() messages.KeyModes
	// Modes is what makes another terminal one of these modes.
	Modes() string
	// Scrollback are the lines that went out at the top, oldest first, as many as are
	// kept.
	Scrollback() []string
	// Replies are the answers to what the program has asked the terminal, each with
	// the byte behind its question: those behind the byte after, of the last maxReplies.
	Replies(after int64) []Reply
}

// Cursor is where the next character goes; rows and columns count from 0.
type Cursor struct {
	Row, Col int
	Visible  bool
}

// Reply is what a terminal answers a program.
type Reply struct {
	At   int64 // bytes written up to the end of the question
	Data []byte
}

// Bounds of a screen.
const (
	// MaxScrollback bounds the lines that are kept: x/vt moves all of them for each
	// line that goes.
	MaxScrollback = 1000
	// MaxRows and MaxCols bound its size: a cell takes 112 bytes, twice.
	MaxRows, MaxCols = 300, 500
	// maxReplies bounds the answers that nobody has taken.
	maxReplies = 64
	// maxTitle bounds a title, in runes.
	maxTitle = 256
)

// bounded is a size that can be drawn.
func bounded(size messages.Terminal) messages.Terminal {
	if size.Rows <= 0 || size.Cols <= 0 {
		size = messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols}
	}
	return messages.Terminal{Rows: min(size.Rows, MaxRows), Cols: min(size.Cols, MaxCols)}
}

// emulator is a Screen: the sink of a sieve, in front of an emulator.
type emulator struct {
	sieve sequenceParser
	modes modes
	vt    *vt.Emulator
	size  messages.Terminal

	out     []byte // not given to vt yet
	last    int    // where in out its last character begins; another one may join it
	again   []byte // the last character, for REP
	scrolls int    // at most so many lines went into the scrollback of the alternate screen
	name    string
	replies []Reply
}

// maxOut is how much is given to vt at a time.
const maxOut = 4 << 10

func newEmulator(size messages.Terminal, scrollback int) *emulator {
	t := &emulator{size: bounded(size)}
	t.sieve.to = t
	t.modes.reset()
	t.vt = vt.NewEmulator(t.size.Cols, t.size.Rows)
	// Whatever it would answer: with its pipe closed it cannot wait for a reader.
	if c, ok := t.vt.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
	t.vt.SetScrollbackSize(min(max(scrollback, 1), MaxScrollback))
	return t
}

// Write implements Screen.
func (t *emulator) Write(p []byte) (int, error) {
	return t.draw(p, func() bool { return true }), nil
}

// drawStep is how much is drawn before somebody may have had enough: the worst takes
// vt 0.1 s.
const drawStep = 1 << 10

// draw draws p for as long as more says so, and returns how much of it.
func (t *emulator) draw(p []byte, more func() bool) int {
	done := 0
	for simple := 0; done < len(p) && more(); {
		if done >= simple {
			skip, length := t.ahead(p[done:])
			simple = done + max(length, 1)
			if skip > 0 {
				t.out, t.last = append(t.out[:0], '\r'), 1
				t.sieve.at += int64(skip)
				done += skip
			}
		}
		n := min(drawStep, max(simple-done, stumble), len(p)-done)
		t.sieve.take(p[done : done+n])
		done += n
	}
	t.flush(t.last)
	return done
}

// stumble is how much is drawn where text does not go on, before it is looked for
// again.
const stumble = 64

// flush gives vt the first n bytes of out.
func (t *emulator) flush(n int) {
	if n > 0 {
		_, _ = t.vt.Write(t.out[:n]) // it fails only when it is closed
		t.out = append(t.out[:0], t.out[n:]...)
		t.last = max(0, t.last-n)
	}
	if t.modes.alt && t.scrolls >= maxAltScrollback {
		t.trim()
	}
}

// look brings the emulator to where the bytes are.
func (t *emulator) look() { t.flush(len(t.out)) }

// put adds what no character behind it joins.
func (t *emulator) put(s string) {
	t.out = append(t.out, s...)
	t.last = len(t.out)
	if t.last >= maxOut {
		t.flush(t.last)
	}
}

// Resize implements Screen.
func (t *emulator) Resize(size messages.Terminal) {
	size = bounded(size)
	if size == t.size {
		return
	}
	t.look()
	if over := t.vt.CursorPosition().Y - size.Rows + 1; over > 0 && !t.modes.alt && !t.modes.region { // the line of the cursor stays
		t.put(csi(over, 'S') + csi(over, 'A'))
		t.look()
	}
	t.size = size
	t.vt.Resize(size.Cols, size.Rows)
	t.modes.region = false
}

// Size implements Screen.
func (t *emulator) Size() messages.Terminal { return t.size }

// Text implements Screen.
func (t *emulator) Text() []string {
	t.look()
	lines := make([]string, t.size.Rows)
	for y := range lines {
		lines[y] = line(t.size.Cols, func(x int) *uv.Cell { return t.vt.CellAt(x, y) })
	}
	return lines
}

// line is the text of a row.
func line(cols int, cell func(x int) *uv.Cell) string {
	var b strings.Builder
	for x := 0; x < cols; x++ {
		switch c := cell(x); {
		case c == nil, c.Content == "" && c.Width > 0:
			b.WriteByte(' ')
		case c.Content == "": // behind a wide one
		default:
			b.WriteString(c.Content)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Cursor implements Screen.
func (t *emulator) Cursor() Cursor {
	t.look()
	at := t.vt.CursorPosition()
	return Cursor{Row: at.Y, Col: at.X, Visible: t.modes.visible}
}

// Alt implements Screen.
func (t *emulator) Alt() bool { return t.modes.alt }

// Title implements Screen.
func (t *emulator) Title() string { return t.name }

// Keys implements Screen.
func (t *emulator) Keys() messages.KeyModes { return t.modes.keys() }

// Modes implements Screen.
func (t *emulator) Modes() string { return t.modes.replay() }

// Scrollback implements Screen.
func (t *emulator) Scrollback() []string {
	t.look()
	kept := t.vt.Scrollback()
	lines := make([]string, kept.Len())
	for y := range lines {
		cells := kept.Line(y)
		lines[y] = line(len(cells), func(x int) *uv.Cell { return &cells[x] })
	}
	return lines
}

// Replies implements Screen.
func (t *emulator) Replies(after int64) []Reply {
	for i, r := range t.replies {
		if r.At > after {
			return append([]Reply(nil), t.replies[i:]...)
		}
	}
	return nil
}

// reply remembers an answer.
func (t *emulator) reply(data string) {
	if len(t.replies) == maxReplies {
		t.replies = append(t.replies[:0], t.replies[1:]...)
	}
	t.replies = append(t.replies, Reply{At: t.sieve.done, Data: []byte(data)})
}
