package omp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/messages"
)

// person is somebody at a console.
type person struct {
	*Console
	t      *testing.T
	frames chan Frame // every one that was shown
	closed chan error // what Show returned
	leave  context.CancelFunc
}

// atConsole runs a command on a terminal, with a person at it while it does, and gives the
// person, and where the result comes.
func atConsole(t *testing.T, command string, changes ...with) (*rig, *person, func() (dialect.Result, error)) {
	t.Helper()
	r := newRig(t, append(changes, withUI)...)
	came := make(chan *person, 1)
	r.options.Console = func(c *Console) {
		ctx, leave := context.WithCancel(context.Background())
		p := &person{Console: c, t: t, frames: make(chan Frame, 10000), closed: make(chan error, 1), leave: leave}
		r.beside.Go(func() { p.closed <- c.Show(ctx, func(f Frame) { p.frames <- f }) })
		came <- p
	}
	var result dialect.Result
	var err error
	var over sync.WaitGroup
	over.Go(func() {
		result, err = r.call(context.Background(), "bash", args{"command": command, "pty": true}, nil)
	})
	p := <-came
	t.Cleanup(p.leave)
	return r, p, func() (dialect.Result, error) {
		over.Wait()
		return result, err
	}
}

// sees waits for a frame with a text on it.
func (p *person) sees(text string) Frame {
	p.t.Helper()
	for {
		select {
		case f := <-p.frames:
			if strings.Contains(strings.Join(f.Rows, "\n"), text) {
				return f
			}
		case err := <-p.closed:
			p.closed <- err
			require.FailNow(p.t, "the console was closed without "+text, "%v", err)
		}
	}
}

// last is the frame that stays when the console is closed.
func (p *person) last() (f Frame) {
	p.t.Helper()
	require.NoError(p.t, <-p.closed)
	close(p.frames)
	for f = range p.frames {
	}
	return f
}

func (p *person) types(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		require.NoError(p.t, p.Key(context.Background(), []byte(key)))
	}
}

func TestR108_TheConsoleForwardsKeys(t *testing.T) {
	_, p, result := atConsole(t, `read -r x; echo "got $x"`)
	require.Equal(t, `read -r x; echo "got $x"`, p.command)
	first := <-p.frames
	require.Equal(t, "Console", first.Title)
	require.True(t, first.Running)
	p.types("h", "é", "\x1b[97u", "\x1b[98;1:3u", "\r") // the fourth is a release
	f := p.last()
	require.Contains(t, f.Rows, "got héa")
	require.Equal(t, []string{"✓", "exited with code 0", "Finished"}, []string{f.Icon, f.Badge, f.Footer})
	require.False(t, f.Running)
	r, err := result()
	require.NoError(t, err)
	require.Contains(t, r.Text, "got héa")
	p.types("x", "\x1b") // of a console that is closed
	require.NoError(t, p.Resize(context.Background(), messages.Terminal{Rows: 9, Cols: 9}))
}

// What an arrow sends is as the program asked for.
func TestR111_TheConsoleKnowsWhatTheProgramAskedFor(t *testing.T) {
	const show = `stty raw -echo; printf ready; dd bs=3 count=1 2>/dev/null | od -An -c; `
	_, p, _ := atConsole(t, `stty raw -echo; printf '\033[?1hready'; dd bs=3 count=1 2>/dev/null | od -An -c`)
	p.sees("ready")
	p.types("\x1b[A")
	require.Contains(t, strings.Join(p.last().Rows, "\n"), "033   O   A")
	_, p, _ = atConsole(t, show)
	p.sees("ready")
	p.types("\x1b[1;1:1A")
	require.Contains(t, strings.Join(p.last().Rows, "\n"), "033   [   A")
}

func TestR108_EscKillsWhatRuns(t *testing.T) {
	for name, esc := range map[string]string{"a terminal of always": "\x1b", "one with the kitty protocol": "\x1b[27;1:1u"} {
		_, p, result := atConsole(t, `trap '' HUP; sleep 1000 & echo up $!; wait`)
		p.sees("up")
		p.types("\x1b[27;1:3u") // it is let go of a key that was pressed elsewhere
		p.types(esc)
		f := p.last()
		require.Equal(t, []string{"✗", "killed", "Finished"}, []string{f.Icon, f.Badge, f.Footer}, name)
		killed(t, result)
	}
}

func TestR108_ToDismissTheConsoleKills(t *testing.T) {
	_, p, result := atConsole(t, `sleep 1000 & echo up $!; wait`)
	p.sees("up")
	p.leave()
	require.ErrorIs(t, <-p.closed, context.Canceled)
	killed(t, result)
}

// killed wants the result to say who killed the command, and nothing of it to be left.
func killed(t *testing.T, result func() (dialect.Result, error)) {
	t.Helper()
	got, err := result()
	require.NoError(t, err)
	require.True(t, got.IsError)
	text, pid, ok := strings.Cut(got.Text, "up ")
	require.True(t, ok)
	require.Equal(t, "[Command cancelled: killed at its console]\n", text)
	line, _ := os.ReadFile("/proc/" + pid + "/cmdline") // a zombie has none
	require.Empty(t, line)
}

func TestR108_ASizeReachesTheTerminal(t *testing.T) {
	_, p, _ := atConsole(t, `trap 'stty size' WINCH; echo up; while ! read -r x; do :; done`)
	p.sees("up")
	require.NoError(t, p.Resize(context.Background(), messages.Terminal{Rows: 30, Cols: 100}))
	p.sees("26 98")
	p.types("\r")
	require.Equal(t, "exited with code 0", p.last().Badge)
}

func TestR110_TheConsoleSaysHowItEnded(t *testing.T) {
	for command, want := range map[string][2]string{
		"exit 3":       {"✗", "exited with code 3"},
		"kill -9 $$":   {"✗", "exited without a code"},
		"sleep 1000 #": {"✗", "timed out"},
		"true":         {"✓", "exited with code 0"},
	} {
		_, p, _ := atConsole(t, command, settings(func(s *Settings) { s.MaxTimeout = 1 }))
		f := p.last()
		require.Equal(t, want, [2]string{f.Icon, f.Badge}, command)
	}
}

// All that was queued is drawn before the console closes.
func TestR110_TheConsoleClosesBehindTheOutput(t *testing.T) {
	_, p, result := atConsole(t, "seq 1 20000")
	rows := p.last().Rows
	require.Contains(t, rows, "20000")
	r, err := result()
	require.NoError(t, err)
	require.Contains(t, r.Text, "\n20000\n")
}

// deafScreen is a host that cannot show terminals.
type deafScreen struct{ dialect.Host }

var errNoScreen = errors.New("no screen")

func (d deafScreen) Do(ctx context.Context, r messages.Refusable) (any, error) {
	if _, looks := r.(messages.ReadScreen); looks {
		return nil, errNoScreen
	}
	return d.Host.Do(ctx, r)
}

// A console that cannot be shown says so, and kills nothing.
func TestTheConsoleCannotBeShown(t *testing.T) {
	r := newRig(t, withUI)
	closed := make(chan error, 1)
	r.options.Console = func(c *Console) {
		c.host = deafScreen{c.host}
		r.beside.Go(func() {
			err := c.Show(context.Background(), func(Frame) {})
			closed <- errors.Join(err, dialect.Input(context.Background(), r.options.Host, messages.WriteInput{Job: c.Job(), Data: []byte("on\n")}))
		})
	}
	require.Contains(t, body(r.bash(args{"command": "read -r x; echo went $x", "pty": true})), "went on")
	require.ErrorIs(t, <-closed, errNoScreen)
}

func TestR110_AFrameIsDrawn(t *testing.T) {
	f := frameOf("seq 3\nvim  \x1b[31mfile\x1b[0m", messages.Record{}, messages.ScreenText{
		Lines: []string{"1", "2", "3", "", "", ""}, Cursor: messages.Cursor{Row: 3, Visible: true},
	})
	require.Equal(t, strings.TrimPrefix(`
╭ ▶ Console ──────────────────────────────────────╮
│$ seq 3 vim  file                       [running]│
│1                                                │
│2                                                │
│3                                                │
│                                                 │
│Esc kills the command; all other keys go to it   │
╰─────────────────────────────────────────────────╯`, "\n"), strings.Join(f.Draw(messages.Terminal{Rows: 20, Cols: 51}), "\n"))
	f = frameOf(strings.Repeat("long ", 20), messages.Record{End: messages.End{Outcome: messages.Exited, Code: new(2)}}, messages.ScreenText{
		Lines: []string{"1", "2", "3", "世界世界世界世界世界世界世界世界世界", "", ""}, Cursor: messages.Cursor{Visible: true},
	})
	require.Equal(t, strings.TrimPrefix(`
╭ ✗ Console ───────────────────╮
│$ long l… [exited with code 2]│
│3                             │
│世界世界世界世界世界世界世界世│
│Finished                      │
╰──────────────────────────────╯`, "\n"), strings.Join(f.Draw(messages.Terminal{Rows: 8, Cols: 32}), "\n"))
}

// The part of the terminal with the cursor is seen.
func TestR110_TheCursorIsOnTheFrame(t *testing.T) {
	rows := strings.Split("abcdefghij", "")
	require.Equal(t, rows[1:4], Frame{Rows: rows, Row: 1, Visible: true}.window(3))
	require.Equal(t, rows[7:], Frame{Rows: rows, Row: 9, Visible: true}.window(3))
	require.Equal(t, rows[7:], Frame{Rows: rows, Row: 1}.window(3))
	require.Empty(t, Frame{Rows: []string{"", ""}}.window(3))
}

// The cursor is where the terminal has it, in the part of the terminal that fits.
func TestR109_TheCursorOfTheOverlay(t *testing.T) {
	screen := messages.Terminal{Rows: 24, Cols: 80}
	rows := make([]string, 20)
	for i := range rows {
		rows[i] = fmt.Sprint("row ", i)
	}
	for _, at := range []int{0, 7, 19} {
		f := Frame{Rows: rows, Row: at, Col: 3, Visible: true, Running: true}
		row, col, ok := f.Cursor(screen)
		require.True(t, ok)
		require.Equal(t, 4, col)
		require.Contains(t, f.Draw(screen)[row], rows[at]+" ")
	}
	_, _, ok := Frame{Rows: rows}.Cursor(screen)
	require.False(t, ok, "it is hidden")
}
