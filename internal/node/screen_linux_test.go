package node_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/internal/test/need"
	"troupe/messages"
)

// screenPatience bounds what a test waits for; what it waits for is an event.
const screenPatience = time.Minute

// player is somebody who looks at the terminal of a job and types.
type player struct {
	t    *testing.T
	ctx  context.Context
	node *node.Node
	job  messages.Record
	out  *node.Follower
}

// play starts a command on a terminal of 80 by 24.
func play(t *testing.T, text string) *player {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), screenPatience)
	t.Cleanup(cancel)
	node, err := node.Open(ctx, node.Options{Dir: private(t), WorkDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Shutdown(context.Background(), messages.ShutdownNode{Grace: -1}) })
	job, err := node.Run(ctx, messages.RunCommand{
		Program: messages.Program{Text: text}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}}, Env: messages.Env{Set: []string{"HOME=" + t.TempDir()}}, // where they keep histories
	})
	require.NoError(t, err)
	out, err := node.Output(ctx, job.ID, messages.Merged, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = out.Close() })
	return &player{t: t, ctx: ctx, node: node, job: job, out: out}
}

func private(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "o")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir
}

// screen is what all of the output shows: a busy machine draws it in several turns.
func (p *player) screen() (messages.ScreenText, string) {
	p.t.Helper()
	for {
		s, err := p.node.Screen(p.ctx, p.job.ID)
		require.NoError(p.t, err)
		if s.At == s.Bytes {
			return s, strings.Join(s.Lines, "\n")
		}
	}
}

// until looks each time that something was written, until the screen is as wanted.
func (p *player) until(what string, is func(messages.ScreenText, string) bool) messages.ScreenText {
	p.t.Helper()
	buf := make([]byte, 64<<10)
	for {
		s, text := p.screen()
		if is(s, text) {
			return s
		}
		if _, err := p.out.Read(buf); err != nil {
			s, text = p.screen()
			require.True(p.t, errors.Is(err, io.EOF) && is(s, text), "%s: %v; the screen is\n%s", what, err, text)
			return s
		}
	}
}

func (p *player) shows(want string) messages.ScreenText {
	p.t.Helper()
	return p.until(want, func(_ messages.ScreenText, text string) bool { return strings.Contains(text, want) })
}

func (p *player) types(keys string) {
	p.t.Helper()
	reply, err := p.node.Ask(p.ctx, messages.WriteInput{Job: p.job.ID, Data: []byte(keys)})
	require.NoError(p.t, err)
	require.NoError(p.t, messages.Refusal(reply))
}

func (p *player) ends() messages.Record {
	p.t.Helper()
	reply, err := p.node.Ask(p.ctx, messages.WaitJobs{Jobs: []messages.JobID{p.job.ID}, Timeout: screenPatience})
	require.NoError(p.t, err)
	require.NoError(p.t, messages.Refusal(reply))
	job, err := p.node.Job(p.ctx, p.job.ID)
	require.NoError(p.t, err)
	return job
}

func TestScreenOfVim(t *testing.T) {
	need.Program(t, "vim")
	file := filepath.Join(t.TempDir(), "file")
	p := play(t, "echo before; vim -u NONE -N -i NONE "+file)
	s := p.shows("~\n~\n~")
	require.True(t, s.Alternate)
	require.True(t, p.record().FullScreen)
	require.True(t, p.final().FullScreen)
	p.types("ihello\r\tworld — 漢字\x1b")
	p.shows("hello\n        world — 漢字")
	p.types(":set number\r")
	p.shows("  1 hello\n  2 ")
	p.types(":w\r")
	p.shows("written")
	p.types(":q\r")
	require.Zero(t, p.ends().ExitCode())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "hello\n\tworld — 漢字\n", string(text))
	s, shown := p.screen()
	require.False(t, s.Alternate)
	require.Equal(t, "before", strings.TrimSpace(shown))
	require.False(t, p.record().FullScreen)
	page := p.final()
	require.False(t, page.FullScreen)
	require.Regexp(t, `^before\n\[… \d+ bytes of a full-screen program not shown …\]\n$`, page.Text)
}

// record is what show prints of the job.
func (p *player) record() messages.Record {
	p.t.Helper()
	job, err := p.node.Job(p.ctx, p.job.ID)
	require.NoError(p.t, err)
	return job
}

// final is the end of the output as a terminal shows it.
func (p *player) final() messages.OutputPage {
	p.t.Helper()
	page, err := p.node.Read(p.ctx, messages.ReadOutput{Job: p.job.ID, View: messages.View{Kind: messages.ViewTail}, Plain: true, Final: true})
	require.NoError(p.t, err)
	return page
}

// A program that takes the whole screen says so in its record, also when it ended so, and
// after it has drawn much.
func TestFullScreenInTheRecord(t *testing.T) {
	const wide = `printf '\033[?1049hfull '; yes drawn | head -c 3000000; echo; echo here; read -r a; `
	p := play(t, `printf '10%%\r100%%\n'; echo before; `+wide+`printf '\033[?1049l'; echo after; read -r a; printf '\033[?47hagain'`)
	p.shows("here")
	require.True(t, p.record().FullScreen)
	require.True(t, p.final().FullScreen)
	p.types("\r")
	p.shows("after")
	require.False(t, p.record().FullScreen)
	page := p.final()
	require.False(t, page.FullScreen)
	require.Regexp(t, `^\[… \d+ KiB of a full-screen program not shown …\]\nafter\n$`, page.Text)
	p.types("\r")
	job := p.ends()
	require.True(t, job.FullScreen, "it ended so")
	require.True(t, p.final().FullScreen)
	first, err := p.node.Read(p.ctx, messages.ReadOutput{Job: p.job.ID, View: messages.View{Kind: messages.ViewPage, Offset: 1, Lines: 2}, Plain: true, Final: true})
	require.NoError(t, err)
	require.Equal(t, "100%\nbefore\n", first.Text)
}

func TestScreenOfLess(t *testing.T) {
	need.Program(t, "less")
	p := play(t, "seq 1000 | less")
	require.True(t, p.shows("22\n23\n:").Alternate)
	p.types("G")
	p.shows("999\n1000\n")
	p.types("?^500\r")
	p.until("line 500 first", func(s messages.ScreenText, _ string) bool { return s.Lines[0] == "500" })
	p.types("q")
	require.Zero(t, p.ends().ExitCode())
}

func TestScreenOfPython(t *testing.T) {
	p := play(t, need.Program(t, "python3")+" -q")
	p.shows(">>>")
	p.types("print(6 * 7)\r")
	p.shows("\n42\n>>>")
	p.types("for i in range(3): print('x' * i)\r\r")
	p.shows("\nx\nxx\n>>>")
	p.types("exit(3)\r")
	require.Equal(t, 3, p.ends().ExitCode())
}

func TestScreenOfTop(t *testing.T) {
	need.Program(t, "top")
	p := play(t, "top -d 0.3")
	p.until("a table", func(s messages.ScreenText, text string) bool {
		return strings.Contains(text, "PID") && strings.Contains(text, "COMMAND") && strings.HasPrefix(s.Lines[0], "top - ")
	})
	p.types("q")
	require.Zero(t, p.ends().ExitCode())
}

// A program that asks its terminal gets one answer, though nobody shows it.
func TestScreenAnswersAProgram(t *testing.T) {
	p := play(t, `stty raw -echo; printf 'xyz\033[6n'; IFS= read -rs -d R a; printf 'A%sA' "${a#*[}"
		printf '\033[c'; IFS= read -rs -d c a; printf 'B%sB' "${a#*[}"; IFS= read -rs -t 0.3 -n 1 a; printf 'C%sC' "$a"`)
	p.shows("xyzA1;4AB?62;1;6;22BCC")
	require.Zero(t, p.ends().ExitCode())
}

// The program hears of another size, and the screen has it. A signal that comes as bash
// enters its read is taken when that ends, so it must not be long.
func TestScreenOfAResizedTerminal(t *testing.T) {
	p := play(t, `trap 'stty size' WINCH; stty size; while ! read -rt 1 a; do :; done`)
	p.shows("24 80")
	reply, err := p.node.Ask(p.ctx, messages.ResizeTerminal{Job: p.job.ID, Size: messages.Terminal{Rows: 10, Cols: 33}})
	require.NoError(t, err)
	require.NoError(t, messages.Refusal(reply))
	s := p.shows("10 33")
	require.Equal(t, messages.Terminal{Rows: 10, Cols: 33}, s.Terminal)
	p.types("\r")
	p.ends()
}

// A job that never began has a terminal all the same, on which nothing is to be seen; it
// has written nothing, which is no error.
func TestScreenOfAJobThatNeverBegan(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), screenPatience)
	defer cancel()
	node, err := node.Open(ctx, node.Options{Dir: private(t), Parallel: 1})
	require.NoError(t, err)
	defer shut(t, node)
	size := messages.Terminal{Rows: 4, Cols: 20}
	failed, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Argv: []string{"/no/such/program"}}, Stdio: messages.Stdio{Terminal: size}})
	require.NoError(t, err)
	require.Equal(t, messages.FailedToStart, failed.End.Outcome)
	_, err = node.Ask(ctx, messages.OpenSession{Session: "one"})
	require.NoError(t, err)
	_, err = node.Run(ctx, messages.RunCommand{Session: "one", Program: messages.Program{Text: "exec sleep 600"}, Mode: messages.ModeAsync})
	require.NoError(t, err)
	waits := node.Submit(messages.RunCommand{Session: "one", Program: messages.Program{Text: "echo never"}, Stdio: messages.Stdio{Terminal: size}})
	_, err = node.Ask(ctx, messages.StopCommand{Job: messages.JobID(waits.UID)})
	require.NoError(t, err)
	stopped, err := waits.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, stopped.End.Outcome)
	for _, job := range []messages.Record{failed, stopped} {
		screen, err := node.Screen(ctx, job.ID)
		require.NoError(t, err, job.End.Outcome)
		require.Equal(t, size, screen.Terminal, job.End.Outcome)
		require.Empty(t, strings.Join(screen.Lines, ""), job.End.Outcome)
		typed, err := node.Ask(ctx, messages.WriteInput{Job: job.ID, Keys: "{up}"})
		require.NoError(t, err, job.End.Outcome)
		require.ErrorIs(t, messages.Refusal(typed), &messages.Error{Code: messages.JobFinished}, job.End.Outcome)
		page, err := node.Read(ctx, messages.ReadOutput{Job: job.ID, View: messages.View{Kind: messages.ViewTail}})
		require.NoError(t, err, job.End.Outcome)
		require.Zero(t, page.Bytes, job.End.Outcome)
		out, err := node.Output(ctx, job.ID, messages.Merged, 0)
		require.NoError(t, err, job.End.Outcome)
		text, err := io.ReadAll(out)
		require.NoError(t, err, job.End.Outcome)
		require.Empty(t, text, job.End.Outcome)
		require.False(t, out.Removed(), job.End.Outcome)
		require.NoError(t, out.Close(), job.End.Outcome)
	}
}
