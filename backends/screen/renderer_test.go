package screen

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Live returns the number of emulators.
func (s *Renderer) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a log in memory that its test writes.
type book struct {
	mu   sync.Mutex
	data []byte
	gaps []spill.Gap
	err  error
	open int
	from int64 // the first byte that was read since it was set
}

func (b *book) add(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, s...)
}

func (b *book) ReadAt(p []byte, off int64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from = min(b.from, off)
	if b.err != nil {
		return 0, b.err
	}
	if off >= int64(len(b.data)) {
		return 0, io.EOF
	}
	n := copy(p, b.data[off:])
	for i := range p[:n] {
		for _, g := range b.gaps {
			if at := off + int64(i); g.From <= at && at < g.To {
				p[i] = 0
			}
		}
	}
	return n, nil
}

func (b *book) State() spill.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return spill.State{Size: int64(len(b.data)), Gaps: b.gaps}
}

func (b *book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	return nil
}

// closed waits until nobody has the book open: that may come behind the answer.
func (b *book) closed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.open == 0
	}, 10*time.Second, time.Millisecond, "a log was not closed")
}

// terminal is the terminal of a job that writes a book.
func (b *book) terminal(id string, size messages.Terminal) backends.Terminal {
	return backends.Terminal{ID: messages.UID(id), Sizes: []backends.SizeChange{{Size: size}}, Log: func() (spill.Log, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open++
		return b, nil
	}}
}

type toldScreen struct {
	text messages.ScreenText
	err  *messages.Error
}

func show(t testing.TB, s *Renderer, of backends.Terminal) (messages.ScreenText, *messages.Error) {
	t.Helper()
	told := make(chan toldScreen, 2)
	s.Show(of, func(text messages.ScreenText, err *messages.Error) { told <- toldScreen{text, err} })
	got := <-told
	return got.text, got.err
}

func see(t testing.TB, s *Renderer, of backends.Terminal) messages.ScreenText {
	t.Helper()
	text, err := show(t, s, of)
	require.Nil(t, err)
	return text
}

func answer(t testing.TB, s *Renderer, of backends.Terminal, after int64) backends.QueryReplies {
	t.Helper()
	told := make(chan backends.QueryReplies, 2)
	s.Answer(of, after, func(a backends.QueryReplies, err *messages.Error) {
		require.Nil(t, err)
		told <- a
	})
	return <-told
}

// newScreens have the time to draw all of a log, however busy the machine is.
func newScreens(t *testing.T) *Renderer {
	s := &Renderer{within: time.Minute}
	t.Cleanup(s.Close)
	return s
}

func seen(text messages.ScreenText) string {
	return strings.TrimRight(strings.Join(text.Lines, "\n"), "\n")
}

func TestScreensDrawWhatTheLogHas(t *testing.T) {
	s, b := newScreens(t), &book{}
	of := b.terminal("A", small)
	require.Equal(t, messages.ScreenText{Lines: make([]string, 6), Cursor: messages.Cursor{Visible: true}, Terminal: small}, see(t, s, of))

	b.add("one\r\n\x1b]0;name\x07\x1b[?1h")
	text := see(t, s, of)
	require.Equal(t, messages.ScreenText{
		Lines: []string{"one", "", "", "", "", ""}, Cursor: messages.Cursor{Row: 1, Visible: true}, Terminal: small, Title: "name", Keys: messages.KeyModes{Cursor: true}, Modes: "\x1b[?1h", At: 19, Bytes: 19,
	}, text)

	b.add("two")
	require.Equal(t, "one\ntwo", seen(see(t, s, of)))
	require.Equal(t, 1, s.Live())
	b.closed(t)
}

// What a node knows of a screen is in the log: another one draws the same.
func TestScreensAreTheSameAfterARestart(t *testing.T) {
	b := &book{}
	of := b.terminal("A", small)
	s := newScreens(t)
	for i := range 300 {
		b.add(fmt.Sprintf("\x1b[%d;%dH%d\x1b[K\r\n", 1+i%6, 1+i%17, i))
		if i%7 == 0 {
			see(t, s, of)
		}
	}
	require.Equal(t, see(t, s, of), see(t, newScreens(t), of))
}

// A long log is drawn from its end; of what was before, the modes count.
func TestScreensSkipToTheEnd(t *testing.T) {
	s, b := newScreens(t), &book{}
	of := b.terminal("A", small)
	b.add("main\x1b]0;editor\x07\x1b[?1049h\x1b[?1h\x1b[2;4r\x1b[>3u\x1b[?25l\x1b)0\x0e")
	for int64(len(b.data)) < 2*window {
		b.add("\x1b[Hqqqq and text \x1b[5;1Hmore text\x1b[K\r")
	}
	text := see(t, s, of)
	require.True(t, strings.HasPrefix(text.Lines[0], "────"), "lines are still drawn as lines")
	require.True(t, text.Alternate)
	require.False(t, text.Visible)
	require.Equal(t, "editor", text.Title)
	require.Equal(t, messages.KeyModes{Cursor: true, Kitty: 3}, text.Keys)
	b.add("\x0f\x1b[4;1H\n\n\x1b[?1049l\x1b[r\x1b[H\x1b[2Jback")
	require.Equal(t, "back", seen(see(t, s, of)))
	require.Zero(t, see(t, s, of).Keys.Kitty, "the flags were those of the other screen")

	for range 3 * window / 10 { // the one that is there is left behind
		b.add("\x1b[31mflood\r\n")
	}
	b.add("end")
	require.Equal(t, strings.Repeat("flood\n", 5)+"end", seen(see(t, s, of)))
}

func TestScreensGoOverGaps(t *testing.T) {
	s, b := newScreens(t), &book{}
	b.add("one\r\n\x1b[3" + strings.Repeat("x", 100) + "1mtwo")
	b.gaps = []spill.Gap{{From: 8, To: 108}}
	require.Equal(t, "1mtwo", seen(see(t, s, b.terminal("A", small))), "from behind it: what was lost may have cleared the screen")

	b, of := &book{}, backends.Terminal{}
	of = b.terminal("B", small)
	b.add("one\r\n\x1b[3")
	see(t, s, of)
	b.add(strings.Repeat("x", 100) + "1mtwo")
	b.gaps = []spill.Gap{{From: 8, To: 108}}
	require.Equal(t, "one\n1mtwo", seen(see(t, s, of)), "no sequence goes over it")
}

// Each size holds from the byte at which the terminal had it.
func TestScreensKnowTheSizes(t *testing.T) {
	s, b := newScreens(t), &book{}
	b.add(strings.Repeat("x", 25))
	of := b.terminal("A", messages.Terminal{Rows: 3, Cols: 10})
	of.Sizes = append(of.Sizes, backends.SizeChange{From: 20, Size: messages.Terminal{Rows: 4, Cols: 30}})
	require.Equal(t, "xxxxxxxxxx\nxxxxxxxxxxxxxxx", seen(see(t, s, of)))
	of.Sizes = append(of.Sizes, backends.SizeChange{From: 25, Size: messages.Terminal{Rows: 2, Cols: 12}})
	text := see(t, s, of)
	require.Equal(t, messages.Terminal{Rows: 2, Cols: 12}, text.Terminal)
	require.Equal(t, "xxxxxxxxxx\nxxxxxxxxxxxx", seen(text))
	require.Equal(t, seen(text), seen(see(t, newScreens(t), of)))
}

func TestScreensAnswerWhatWasAsked(t *testing.T) {
	s, b := newScreens(t), &book{}
	of := b.terminal("A", small)
	b.add("plain \x1b[31mtext\x1b[m\r\n")
	require.Equal(t, backends.QueryReplies{Through: 20, Bytes: 20}, answer(t, s, of, 0))
	require.Zero(t, s.Live(), "nothing was drawn for it")

	b.add("\x1b[6n\x1b[5")
	require.Equal(t, backends.QueryReplies{Data: []byte("\x1b[2;1R"), Through: 27, Bytes: 27}, answer(t, s, of, 20))
	require.Empty(t, answer(t, s, of, 27).Data, "it was answered")
	b.add("n\x1b[6n")
	require.Equal(t, "\x1b[0n\x1b[2;1R", string(answer(t, s, of, 27).Data), "the first was asked over both")
	require.Equal(t, "\x1b[0n\x1b[2;1R", string(answer(t, newScreens(t), of, 27).Data), "and after a restart")
	require.Empty(t, answer(t, newScreens(t), of, 32).Data)
}

// Who has written much since he asked does not wait for an answer: a flood is not read.
func TestScreensLookAtTheEndForQuestions(t *testing.T) {
	s, b := newScreens(t), &book{}
	b.add("\x1b[6n" + strings.Repeat("x\r\n", maxQueryScan))
	require.Equal(t, backends.QueryReplies{Through: int64(len(b.data)), Bytes: int64(len(b.data))}, answer(t, s, b.terminal("A", small), 0))
	require.Zero(t, s.Live())
}

func TestScreensAreFew(t *testing.T) {
	s := newScreens(t)
	before := memory()
	books := make([]*book, 100)
	for i := range books {
		books[i] = &book{}
		books[i].add(lines(200) + fmt.Sprintf("screen %d", i))
		see(t, s, books[i].terminal(fmt.Sprint(i), messages.Terminal{Rows: 40, Cols: 120}))
		require.LessOrEqual(t, s.Live(), MaxLive)
	}
	require.Equal(t, MaxLive, s.Live())
	require.Less(t, memory()-before, int64(MaxLive*12<<20))
	require.Contains(t, seen(see(t, s, books[0].terminal("0", small))), "screen 0", "one that was given up is made again")
}

func TestScreensRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &Renderer{}, &book{}
		see(t, s, b.terminal("A", small))
		time.Sleep(idle / 2)
		see(t, s, b.terminal("A", small))
		time.Sleep(idle - time.Second)
		require.Equal(t, 1, s.Live())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Zero(t, s.Live())
	})
}

// One that fails is made anew, and costs the others nothing.
func TestScreensSurviveTheEmulator(t *testing.T) {
	s, b := newScreens(t), &book{}
	b.add("text")
	s.fresh = func(size messages.Terminal) *emulator {
		broken := newEmulator(size, 0)
		broken.vt = nil
		return broken
	}
	_, err := show(t, s, b.terminal("A", small))
	require.Equal(t, messages.OutputUnavailable, err.Code)
	require.Equal(t, "screen", err.Reason)
	require.NotEmpty(t, err.Hint)
	s.fresh = nil
	require.Equal(t, "text", seen(see(t, s, b.terminal("A", small))))
}

func TestScreensTellWhatCannotBeRead(t *testing.T) {
	s, b := newScreens(t), &book{err: errors.New("no disk")}
	b.add("text")
	_, err := show(t, s, b.terminal("A", small))
	require.Equal(t, messages.OutputUnavailable, err.Code)
	require.Contains(t, err.Message, "no disk")
	_, err = show(t, s, backends.Terminal{ID: "B", Log: func() (spill.Log, error) { return nil, spill.ErrNotFound }})
	require.Equal(t, messages.OutputUnavailable, err.Code)
}

// What takes too long is shown as far as it was drawn, and the next request goes on.
func TestScreensHaveABudget(t *testing.T) {
	b := &book{}
	b.add(strings.Repeat("\x1b[99S\x1b[99T", 400) + "\x1b[Hdone")
	left := 3
	d := &jobScreen{}
	require.NoError(t, d.catchUp(b.terminal("A", small), b, newTermOf, func() bool { left--; return left > 0 }))
	at := d.term.sequences.at
	require.Greater(t, int64(len(b.data)), at)
	require.NoError(t, d.catchUp(b.terminal("A", small), b, newTermOf, func() bool { return true }))
	require.Equal(t, "done", shown(d.term))
}

func newTermOf(size messages.Terminal) *emulator { return newEmulator(size, 0) }

func TestScreensManyAtATime(t *testing.T) {
	s := newScreens(t)
	books := make([]*book, 2*MaxLive)
	for i := range books {
		books[i] = &book{}
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 30 {
				b := books[(i*7+j)%len(books)]
				b.add(fmt.Sprintf("\x1b[%d;1H%d\x1b[K", 1+j%6, j))
				see(t, s, b.terminal(fmt.Sprint((i*7+j)%len(books)), small))
			}
		})
	}
	all.Wait()
	for i, b := range books {
		require.Equal(t, see(t, newScreens(t), b.terminal("x", small)), see(t, s, b.terminal(fmt.Sprint(i), small)))
	}
}

func TestScreensRefuseTooMany(t *testing.T) {
	s, b := newScreens(t), &book{}
	hold := make(chan struct{})
	of := b.terminal("A", small)
	open := of.Log
	of.Log = func() (spill.Log, error) { <-hold; return open() }
	told := make(chan *messages.Error, maxWaiting+1)
	for range maxWaiting + 1 {
		s.Show(of, func(_ messages.ScreenText, err *messages.Error) { told <- err })
	}
	require.Equal(t, messages.ResourceExhausted, (<-told).Code)
	close(hold)
	for range maxWaiting {
		require.Nil(t, <-told)
	}
}

// What a program has told its terminal long ago is known: one that paints each second has
// done so at its beginning, and not since. What was drawn once is not read again for that.
func TestScreensKnowModesOfLongAgo(t *testing.T) {
	s, b := newScreens(t), &book{}
	hour := strings.Repeat("0123456789abcde\n", 1<<20)
	b.add("\x1b[?1049h\x1b[?1002h\x1b[>4;2m\x1b[6 q" + hour)
	of := b.terminal("long", small)
	const want = "\x1b[?1049h\x1b[H\x1b[2J\x1b[?1002h\x1b[>4;2m\x1b[6 q"
	require.Equal(t, want, see(t, s, of).Modes)

	b.add(hour[:2*window] + "\x1b[?1006h")
	b.mu.Lock()
	b.from = int64(len(b.data))
	b.mu.Unlock()
	require.Equal(t, "\x1b[?1049h\x1b[H\x1b[2J\x1b[?1002h\x1b[?1006h\x1b[>4;2m\x1b[6 q", see(t, s, of).Modes)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.GreaterOrEqual(t, b.from, int64(len(hour)))
}
