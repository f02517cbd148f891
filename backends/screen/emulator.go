package screen

import (
	"io"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"troupe/messages"
)

// Cursor is the position of the next character; rows and columns count from 0.
type Cursor struct {
	Row, Col int
	Visible  bool
}

// Reply is a terminal's reply to a query.
type Reply struct {
	At   int64 // bytes written up to the end of the query
	Data []byte
}

// Bounds of a screen.
const (
	// MaxScrollback bounds the kept lines: vt moves all of them for each line that scrolls
	// out.
	MaxScrollback = 1000
	// MaxRows and MaxCols bound the size: a cell takes 112 bytes, twice.
	MaxRows, MaxCols = 300, 500
	// maxReplies bounds the replies kept for Replies.
	maxReplies = 64
	// maxTitle bounds a title, in runes.
	maxTitle = 256
)

// bounded returns a size that can be drawn.
func bounded(size messages.Terminal) messages.Terminal {
	if size.Rows <= 0 || size.Cols <= 0 {
		size = messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols}
	}
	return messages.Terminal{Rows: min(size.Rows, MaxRows), Cols: min(size.Cols, MaxCols)}
}

// emulator is a terminal in memory, a parserSink in front of vt. It is not safe for
// concurrent use, and has no goroutine and no descriptor. It draws some ten thousand
// lines a second; write pieces of a few KiB where time matters.
type emulator struct {
	sequences sequenceParser
	modes     modes
	vt        *vt.Emulator
	size      messages.Terminal

	out     []byte // output not yet given to vt
	last    int    // offset in out of the last character, which a combining mark may join
	again   []byte // the last character, for REP
	scrolls int    // upper bound of the lines in the alternate screen's scrollback
	name    string
	replies []Reply
}

// maxOut is how many bytes vt gets at a time.
const maxOut = 4 << 10

func newEmulator(size messages.Terminal, scrollback int) *emulator {
	t := &emulator{size: bounded(size)}
	t.sequences.to = t
	t.modes.reset()
	t.vt = vt.NewEmulator(t.size.Cols, t.size.Rows)
	// With its pipe closed vt never waits for a reader of its replies.
	if c, ok := t.vt.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
	t.vt.SetScrollbackSize(min(max(scrollback, 1), MaxScrollback))
	return t
}

// Write draws p. Its division into pieces makes no difference, except to a view
// taken within a character.
func (t *emulator) Write(p []byte) (int, error) {
	return t.draw(p, func() bool { return true }), nil
}

// drawStep is how many bytes are drawn between two checks of the time: the worst take
// vt 0.1 s.
const drawStep = 1 << 10

// draw draws p while more returns true, and returns the number of bytes drawn.
func (t *emulator) draw(p []byte, more func() bool) int {
	done := 0
	for simple := 0; done < len(p) && more(); {
		if done >= simple {
			skip, length := t.fastPath(p[done:])
			simple = done + max(length, 1)
			if skip > 0 {
				t.out, t.last = append(t.out[:0], '\r'), 1
				t.sequences.at += int64(skip)
				done += skip
			}
		}
		n := min(drawStep, max(simple-done, retryStep), len(p)-done)
		t.sequences.take(p[done : done+n])
		done += n
	}
	t.flush(t.last)
	return done
}

// retryStep is how many bytes are drawn, where plain text ends, before fastPath looks
// again.
const retryStep = 64

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

// flushAll gives vt all of out.
func (t *emulator) flushAll() { t.flush(len(t.out)) }

// put adds output that no later character joins.
func (t *emulator) put(s string) {
	t.out = append(t.out, s...)
	t.last = len(t.out)
	if t.last >= maxOut {
		t.flush(t.last)
	}
}

// Resize changes the size, within bounds. Lines are cut, not rewrapped.
func (t *emulator) Resize(size messages.Terminal) {
	size = bounded(size)
	if size == t.size {
		return
	}
	t.flushAll()
	if over := t.vt.CursorPosition().Y - size.Rows + 1; over > 0 && !t.modes.alt && !t.modes.region { // the line of the cursor stays
		t.put(csi(over, 'S') + csi(over, 'A'))
		t.flushAll()
	}
	t.size = size
	t.vt.Resize(size.Cols, size.Rows)
	t.modes.region = false
}

func (t *emulator) Size() messages.Terminal { return t.size }

// Text returns one string for each row, without trailing blanks.
func (t *emulator) Text() []string {
	t.flushAll()
	lines := make([]string, t.size.Rows)
	for y := range lines {
		lines[y] = line(t.size.Cols, func(x int) *uv.Cell { return t.vt.CellAt(x, y) })
	}
	return lines
}

// line returns the text of a row.
func line(cols int, cell func(x int) *uv.Cell) string {
	var b strings.Builder
	for x := range cols {
		switch c := cell(x); {
		case c == nil, c.Content == "" && c.Width > 0:
			b.WriteByte(' ')
		case c.Content == "": // second cell of a wide character
		default:
			b.WriteString(c.Content)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (t *emulator) Cursor() Cursor {
	t.flushAll()
	at := t.vt.CursorPosition()
	return Cursor{Row: at.Y, Col: at.X, Visible: t.modes.visible}
}

// Alt reports whether the alternate screen is shown, as by an editor.
func (t *emulator) Alt() bool { return t.modes.alt }

// Title returns the program's title, without characters that act on a terminal.
func (t *emulator) Title() string { return t.name }

// Keys returns the modes that decide what a key sends.
func (t *emulator) Keys() messages.KeyModes { return t.modes.keys() }

// Modes returns the sequences that set these modes on another terminal.
func (t *emulator) Modes() string { return t.modes.replay() }

// Replies returns the replies to queries that ended after the byte offset after, at
// most the last maxReplies.
func (t *emulator) Replies(after int64) []Reply {
	for i, r := range t.replies {
		if r.At > after {
			return append([]Reply(nil), t.replies[i:]...)
		}
	}
	return nil
}

// reply stores a reply.
func (t *emulator) reply(data string) {
	if len(t.replies) == maxReplies {
		t.replies = append(t.replies[:0], t.replies[1:]...)
	}
	t.replies = append(t.replies, Reply{At: t.sequences.done, Data: []byte(data)})
}
