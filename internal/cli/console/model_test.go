package console

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/dialect/omp"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// recorded implements effects: it records what the model asks for.
type recorded struct {
	asked []string
	full  bool // the overlay takes no more keys
}

func (r *recorded) did(format string, values ...any) tea.Cmd {
	r.asked = append(r.asked, fmt.Sprintf(format, values...))
	return nil
}

func (r *recorded) Bang(id int, command string) tea.Cmd { return r.did("bang %d %s", id, command) }
func (r *recorded) Tool(id int, command string) tea.Cmd { return r.did("tool %d %s", id, command) }
func (r *recorded) Cancel(id int) tea.Cmd               { return r.did("cancel %d", id) }
func (r *recorded) Promote(id int) tea.Cmd              { return r.did("promote %d", id) }
func (r *recorded) Load(id int, job messages.JobID) tea.Cmd {
	return r.did("load %d %s", id, job)
}

func (r *recorded) Show(id int, _ dialect.Result, width int) tea.Cmd {
	return r.did("show %d %d", id, width)
}
func (r *recorded) Send(text string) tea.Cmd        { return r.did("send %s", text) }
func (r *recorded) CancelSend()                     { r.did("unsend") }
func (r *recorded) Complete(command string) tea.Cmd { return r.did("complete %s", command) }
func (r *recorded) Key(sequence []byte) bool        { r.did("key %q", sequence); return !r.full }
func (r *recorded) Paste(text string) bool          { r.did("paste %q", text); return !r.full }
func (r *recorded) Resize(s messages.Terminal) bool {
	r.did("resize %dx%d", s.Cols, s.Rows)
	return true
}

// bench is a model on a screen of 80x24 with the recorded effects.
type bench struct {
	*testing.T
	*Model
	did *recorded
}

func newBench(t *testing.T) *bench {
	t.Helper()
	did := &recorded{}
	return &bench{t, newModel(did, "messages", true, messages.Terminal{Rows: 24, Cols: 80}), did}
}

// gets sends messages to the model.
func (b *bench) gets(msgs ...tea.Msg) tea.Cmd {
	var last tea.Cmd
	for _, m := range msgs {
		_, last = b.Update(m)
	}
	return last
}

// types types a text and presses Enter.
func (b *bench) types(text string) {
	for _, r := range text {
		b.gets(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	b.gets(tea.KeyPressMsg{Code: tea.KeyEnter})
}

func ctrl(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }

// asked takes the effects so far.
func (b *bench) asked() []string {
	asked := b.did.asked
	b.did.asked = nil
	return asked
}

// screen returns the screen without its styles. No row is wider than it.
func (b *bench) screen() string {
	b.Helper()
	text := ansi.Strip(b.View().Content)
	rows := strings.Split(text, "\n")
	require.LessOrEqual(b, len(rows), b.size.Rows)
	for _, row := range rows {
		require.LessOrEqual(b, ansi.StringWidth(row), b.size.Cols, "%q", row)
	}
	return text
}

func exitedWith(code int, out string) codelia.ExecResult {
	return codelia.ExecResult{CommandPreview: "made", ExitCode: &code, Stdout: out, DurationMS: 5}
}

// runs runs a ! command that ends at once.
func (b *bench) runs(command string, r codelia.ExecResult) {
	b.types(command)
	b.gets(knownMsg{b.started, "01J"}, bangEndedMsg{id: b.started, result: r, text: r.Stdout + r.Stderr})
}

func TestR241_ABangRunsAtOnceAndSendsNothing(t *testing.T) {
	b := newBench(t)
	b.types("!git status")
	require.Equal(t, []string{"bang 1 git status"}, b.asked())
	require.Contains(t, b.screen(), "bang exec started: git status")
	b.gets(bangEndedMsg{id: 1, result: exitedWith(2, "")})
	require.Contains(t, b.screen(), "bang exec done: exit_code=2, 5 ms, 1 queued", "R-256")
	b.gets(tea.PasteMsg{Content: "  !ls  "}, tea.KeyPressMsg{Code: tea.KeyEnter})
	require.Equal(t, []string{"bang 2 ls"}, b.asked(), "a pasted one is one too")
	b.gets(bangEndedMsg{id: 2, result: exitedWith(0, "")})
	for _, empty := range []string{"!", "!  ", "!!", "!! "} {
		b.types(empty)
		require.Empty(t, b.asked(), empty)
		require.Contains(t, b.screen(), "bang command is empty", empty)
		require.Equal(t, input{}, b.composer.now(), "a ! typed now begins a command")
	}
}

func TestR157_TwoBangsKeepAResultOut(t *testing.T) {
	b := newBench(t)
	b.runs("!!secret", exitedWith(0, "x"))
	require.Equal(t, []string{"bang 1 secret"}, b.asked())
	require.Contains(t, b.screen(), "!! secret")
	b.types("hello")
	require.Equal(t, []string{"send hello"}, b.asked())
}

func TestR157_ASecondCommandIsRefused(t *testing.T) {
	b := newBench(t)
	b.types("!sleep 9")
	b.types("!ls")
	require.Equal(t, []string{"bang 1 sleep 9"}, b.asked())
	require.Contains(t, b.screen(), "A command is still running. Ctrl+B lets it go on in the background. Esc ends it.")
	require.Equal(t, "ls", b.composer.now().Text, "it returns to the editor")
	b.gets(tea.KeyPressMsg{Code: tea.KeyEscape})
	require.Equal(t, []string{"cancel 1"}, b.asked())
	b.gets(bangEndedMsg{id: 1, result: codelia.ExecResult{}})
	require.Contains(t, b.screen(), "✗ cancelled")
}

func TestR257_BangModeIsEnteredAndLeft(t *testing.T) {
	b := newBench(t)
	b.gets(tea.KeyPressMsg{Code: '!', Text: "!"})
	require.Equal(t, input{Composer: codelia.Composer{Bang: true}}, b.composer.now(), "the character is not inserted")
	require.Contains(t, b.screen(), "── ! command")
	b.gets(tea.KeyPressMsg{Code: tea.KeyBackspace})
	require.Equal(t, input{}, b.composer.now())
	require.Contains(t, b.screen(), "── message")
	b.gets(tea.KeyPressMsg{Code: '!', Text: "!"}, tea.KeyPressMsg{Code: tea.KeyEscape})
	require.Equal(t, input{}, b.composer.now())
	b.gets(ctrl('t'))
	require.Contains(t, b.screen(), "── $ command on a terminal")
	b.gets(tea.KeyPressMsg{Code: tea.KeyEscape})
	require.Equal(t, input{}, b.composer.now())
	b.types("a ! b")
	require.Equal(t, []string{"send a ! b"}, b.asked(), "R-258")
	b.gets(sentMsg{})
	b.types("/help !x")
	require.Equal(t, []string{"send /help !x"}, b.asked(), "R-258")
}

func TestR252_AFailedMessageKeepsItsResults(t *testing.T) {
	b := newBench(t)
	b.runs("!one", exitedWith(0, "first\n"))
	b.runs("!two", exitedWith(1, "second\n"))
	b.asked()
	b.types("go")
	first := strings.TrimPrefix(b.asked()[0], "send ")
	got, text := dialecttest.ShellResults[codelia.ShellResult](first)
	require.Equal(t, "go", text)
	require.Equal(t, []string{"first\n", "second\n"}, []string{*got[0].Stdout, *got[1].Stdout}, "in the order of the commands")
	b.gets(sentMsg{err: errors.New("no reader")})
	require.Contains(t, b.screen(), "not sent: no reader; 2 results kept for the next message")
	require.Equal(t, "go", b.composer.now().Text, "the text returns")
	b.gets(ctrl('c'))
	b.runs("!three", exitedWith(0, "third\n"))
	b.asked()
	b.types("again")
	got, text = dialecttest.ShellResults[codelia.ShellResult](strings.TrimPrefix(b.asked()[0], "send "))
	require.Equal(t, "again", text)
	require.Equal(t, []string{"shell_1", "shell_2", "shell_3"}, []string{got[0].ID, got[1].ID, got[2].ID})
	b.gets(sentMsg{})
	require.Contains(t, b.screen(), "sent, with 3 results")
	b.types("last")
	require.Equal(t, []string{"send last"}, b.asked(), "results are used once")
}

func TestR257_MessagesWaitForTheOneBefore(t *testing.T) {
	b := newBench(t)
	b.runs("!one", exitedWith(0, "first\n"))
	b.asked()
	b.types("a")
	b.asked()
	b.runs("!two", exitedWith(0, "second\n"))
	b.types("b")
	b.types("c")
	require.Equal(t, []string{"bang 2 two"}, b.asked(), "b waits")
	b.gets(sentMsg{})
	held := b.asked()[0]
	got, text := dialecttest.ShellResults[codelia.ShellResult](strings.TrimPrefix(held, "send "))
	require.Equal(t, "b", text)
	require.Equal(t, "shell_2", got[0].ID)
	for range codelia.DispatchTries {
		require.NotNil(t, b.gets(sentMsg{err: errors.New("away")}), "it is sent again after a pause")
		b.gets(resendMsg{})
		require.Equal(t, []string{held}, b.asked())
	}
	b.gets(sentMsg{err: errors.New("away")})
	require.Equal(t, []string{"send c"}, b.asked(), "the next one is sent")
	require.Equal(t, 1, b.outbox.queue.Len(), "the results of b wait")
	b.gets(sentMsg{})
	require.Nil(t, b.outbox.active)

	b.types("d")
	for range mostWaiting {
		b.types("waits")
	}
	b.types("too many")
	require.Contains(t, b.screen(), "8 messages wait to be sent")
	require.Contains(t, b.composer.now().Text, "too many")
}

func TestR158_TheEndOfAnOutputIsShown(t *testing.T) {
	b := newBench(t)
	b.gets(tea.WindowSizeMsg{Width: 80, Height: 60})
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	b.types("!make")
	b.gets(knownMsg{1, "01J"}, outputMsg{1, lines.String(), false})
	require.Contains(t, b.screen(), "… 10 lines hidden (Ctrl+O to expand)\nline 10\n")
	require.Contains(t, b.screen(), "line 29\n… running: Esc ends it")
	cut := codelia.Truncated{Stdout: true, Combined: true}
	b.gets(bangEndedMsg{id: 1, text: lines.String(), result: codelia.ExecResult{ExitCode: new(int), Truncated: cut, StdoutCacheID: "x_stdout"}})
	require.Contains(t, b.screen(), "Output truncated")
	require.Contains(t, b.screen(), "x_stdout")
	require.Contains(t, b.screen(), "✓ exited with code 0")
	b.asked()
	b.gets(ctrl('o'))
	require.Equal(t, []string{"load 1 01J"}, b.asked())
	b.gets(loadedMsg{id: 1, text: "whole\n" + lines.String()})
	require.Contains(t, b.screen(), "! make\nwhole\nline 0\n")
	b.gets(ctrl('o'))
	require.NotContains(t, b.screen(), "whole")
}

func TestR158_TheStatesOfACommandDiffer(t *testing.T) {
	for want, m := range map[string]bangEndedMsg{
		"✓ exited with code 0 after 7 ms":   {result: codelia.ExecResult{ExitCode: new(int), DurationMS: 7}},
		"✗ cancelled":                       {result: codelia.ExecResult{}},
		"✗ command timed out":               {result: codelia.ExecResult{FailureMessage: "command timed out"}},
		"✗ shell.exec failed: the rule":     {err: errors.New("the rule")},
		"✗ exited with code 3 after 0 ms":   {result: exitedCode(3)},
		"shown\n✗ exited with code 1 after": {result: exitedCode(1), text: "shown\n"},
	} {
		b := newBench(t)
		b.types("!x")
		m.id = 1
		b.gets(m)
		require.Contains(t, b.screen(), want)
		require.Nil(t, b.now)
	}
}

func exitedCode(code int) codelia.ExecResult { return codelia.ExecResult{ExitCode: &code} }

func TestR158_LongLinesAreClamped(t *testing.T) {
	b := newBench(t)
	b.types("!x")
	b.gets(outputMsg{1, strings.Repeat("é", clampChars+7) + "\n", false})
	b.scrolled = 0
	require.Contains(t, strings.ReplaceAll(b.screen(), "\n", ""), "é … +7 columns")
	rows := b.all[0].draw(80)
	require.Len(t, rows, 1+1+clampChars/80+1)
}

// Output that would change the terminal is shown as text.
func TestBadInputConsoleOutput(t *testing.T) {
	b := newBench(t)
	for _, hostile := range []string{"\x1b[2J\x1b]0;t\x07red\x1b[31m", "a\rb\x00\x08c\x7f", "\xff\xfe\xc3", "\u202e\u2066x", strings.Repeat("\x1b[", 1000), "\x9b2Jx"} {
		b.types("!x")
		b.gets(outputMsg{b.started, hostile, false})
		b.screen()
		b.gets(bangEndedMsg{id: b.started, result: exitedWith(0, hostile), text: hostile})
		b.types("!" + strings.ToValidUTF8(hostile, ""))
		for _, row := range strings.Split(b.View().Content, "\n") {
			plain := ansi.Strip(row)
			require.False(t, strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }), "%q", row)
		}
		b.now = nil
	}
}

func TestPromotedCommandsEndWithANotice(t *testing.T) {
	b := newBench(t)
	b.gets(ctrl('b'))
	require.Contains(t, b.screen(), "No command runs")
	b.types("!serve")
	b.gets(knownMsg{1, "01J"}, ctrl('b'), promotedMsg{id: 1})
	require.Equal(t, []string{"bang 1 serve", "promote 1"}, b.asked())
	require.Contains(t, b.screen(), "The command goes on in the background: 01J")
	b.types("!ls")
	require.Equal(t, []string{"bang 2 ls"}, b.asked(), "the composer is free")
	b.gets(bangEndedMsg{id: 1, result: exitedWith(4, "bye\n"), text: "bye\n"})
	require.Contains(t, b.screen(), "In the background, serve exited with code 4\nbye")
	require.NotNil(t, b.now, "ls still runs")
	require.Equal(t, 1, b.outbox.queue.Len())
}

func TestR122_TheBackgroundJobsOfTheToolShowTheirProgress(t *testing.T) {
	b := newBench(t)
	async := func(state omp.JobStatus) *omp.Details {
		return &omp.Details{Async: &omp.Async{State: string(state), JobID: "bg_1", Type: "bash"}}
	}
	b.gets(ctrl('t'))
	b.types("build")
	require.Equal(t, []string{"tool 1 build"}, b.asked())
	b.gets(outputMsg{1, "begun\n", false}, toolEndedMsg{id: 1, result: dialect.Result{Text: "Background job bg_1 started: build", Details: async(omp.JobRunning)}})
	require.Nil(t, b.now)
	b.gets(progressMsg{"bg_1", dialect.Result{Text: "half\n", Details: async(omp.JobRunning)}})
	require.Contains(t, b.screen(), "half\n… running in the background")
	b.gets(progressMsg{"bg_1", dialect.Result{Text: "whole\n", Details: async(omp.JobCompleted)}})
	require.Contains(t, b.screen(), "whole\n✓ done")
	b.gets(noticeMsg{omp.Delivery{Text: "Background job bg_1 has completed"}})
	require.Contains(t, b.screen(), "Background job bg_1 has completed")
}

func TestR099_TheResultOfTheToolIsDrawnByOMP(t *testing.T) {
	b := newBench(t)
	b.gets(ctrl('t'))
	b.types("seq 30")
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "%d\n", i)
	}
	b.gets(toolEndedMsg{id: 1, result: dialect.Result{Text: text.String(), Details: &omp.Details{TimeoutSeconds: 300}}})
	require.Contains(t, b.screen(), "… 20 lines hidden, 10 of 30 shown (Ctrl+O to expand)\n20\n")
	require.Contains(t, b.screen(), "29\nTimeout: 300s\n✓ done")
	b.asked()
	b.gets(ctrl('o'))
	require.Equal(t, []string{"show 1 80"}, b.asked(), "R-100")
	b.gets(shownMsg{1, 80, []string{"all of it"}})
	require.Contains(t, b.screen(), "all of it\n✓ done")
}

func TestR108_TheOverlayTakesTheKeys(t *testing.T) {
	b := newBench(t)
	b.gets(ctrl('t'))
	b.types("vim")
	b.gets(overlayMsg{omp.Frame{Title: "Console", Icon: "▶", Command: "vim", Badge: "running", Running: true, Rows: []string{"text"}, Row: 0, Col: 2, Visible: true}})
	require.Equal(t, []string{"tool 1 vim", "resize 80x24"}, b.asked())
	screen := b.screen()
	require.Contains(t, screen, "Console")
	require.Contains(t, screen, "│text")
	c := b.View().Cursor
	require.Equal(t, "te", strings.Split(screen, "\n")[c.Y][len("│"):][:c.X-1], "the cursor is that of the terminal")
	b.gets(tea.KeyPressMsg{Code: 'x', Text: "x"}, tea.KeyPressMsg{Code: tea.KeyEscape}, ctrl('b'), tea.PasteMsg{Content: "a\nb"}, tea.KeyReleaseMsg{Code: 'x'}, tea.WindowSizeMsg{Width: 100, Height: 30})
	require.Equal(t, []string{`key "x"`, `key "\x1b[27u"`, `key "\x1b[98;5u"`, `paste "a\nb"`, "resize 100x30"}, b.asked())
	b.did.full = true
	b.gets(tea.KeyPressMsg{Code: 'x', Text: "x"})
	require.Contains(t, b.screen(), "The command reads no keys")
	b.gets(closedMsg{})
	require.NotContains(t, b.screen(), "Console")
}

func TestHistoryAndCompletion(t *testing.T) {
	b := newBench(t)
	b.runs("!git status", exitedWith(0, ""))
	b.types("hello")
	b.gets(sentMsg{})
	for _, r := range "draft" {
		b.gets(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	up, down := tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyDown}
	b.gets(up)
	require.Equal(t, "hello", b.composer.now().Text)
	b.gets(up, up)
	require.Equal(t, input{Composer: codelia.Composer{Text: "git status", Bang: true}}, b.composer.now())
	b.gets(down, down)
	require.Equal(t, "draft", b.composer.now().Text)
	b.gets(ctrl('c'))
	b.asked()
	b.gets(tea.KeyPressMsg{Code: '!', Text: "!"}, tea.KeyPressMsg{Code: 'g', Text: "g"}, tea.KeyPressMsg{Code: tea.KeyTab})
	require.Equal(t, []string{"complete g"}, b.asked())
	b.gets(completedMsg{"g", []string{"gitk "}})
	require.Equal(t, "git", b.composer.now().Text, "of gitk and the earlier git status")
	require.Contains(t, b.screen(), "gitk  git status")
	b.gets(completedMsg{"g", []string{"grep "}})
	require.Equal(t, "git", b.composer.now().Text, "late")
}

func TestToLeaveIsAskedTwice(t *testing.T) {
	b := newBench(t)
	require.NotNil(t, b.gets(ctrl('d')), "nothing would be lost")
	b.runs("!x", exitedWith(0, ""))
	require.Nil(t, b.gets(ctrl('d')))
	require.Contains(t, b.screen(), "1 result not sent: once more to leave")
	b.gets(tea.KeyPressMsg{Code: tea.KeyPgUp})
	require.Nil(t, b.gets(ctrl('d')), "another key came between")
	require.NotNil(t, b.gets(ctrl('d')))
	b.target = ""
	b.types("hi")
	require.Contains(t, b.screen(), "start the console with --send")
	require.Equal(t, "hi", b.composer.now().Text)
}

func TestSmallScreens(t *testing.T) {
	b := newBench(t)
	b.runs("!x", exitedWith(0, strings.Repeat("wide ", 100)))
	b.gets(ctrl('t'))
	b.types("vim")
	for _, size := range []tea.WindowSizeMsg{{Width: 1, Height: 1}, {Width: 5, Height: 3}, {Width: 20, Height: 4}, {Width: 400, Height: 200}, {Width: 80, Height: 24}} {
		b.gets(size)
		b.screen()
		b.gets(overlayMsg{omp.Frame{Title: "Console", Rows: []string{"text"}, Running: true, Visible: true}})
		b.View()
		b.gets(closedMsg{})
	}
}
