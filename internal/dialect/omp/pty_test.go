package omp

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/messages"
)

func withUI(o *Options, _ *JobsOptions) { o.HasUI = true }

func TestR101_AMinimizedOutputIsWhatIsShown(t *testing.T) {
	r := newRig(t)
	raw, command := passing(r)
	result := r.bash(args{"command": command})
	require.Contains(t, result.Text, "\n[raw output: artifact://0]\n")
	require.Less(t, len(result.Text), len(raw)/2)
	require.Equal(t, raw, r.file("0"))
	plain, err := r.ExecuteTo(context.Background(), command, io.Discard)
	require.NoError(t, err)
	require.Equal(t, int64(len(raw)), plain.TotalBytes, "the counters are those of the raw output")
	require.Equal(t, lines(raw), plain.TotalLines)
}

// passing is a program that says what a go test of passing packages does, and that it is.
func passing(r *rig) (raw, command string) {
	var b strings.Builder
	for range 100 {
		b.WriteString("=== RUN   TestSomething\n--- PASS: TestSomething (0.00s)\n")
	}
	b.WriteString("PASS\nok  \tx/y\t0.01s\n")
	r.program("go", b.String())
	return b.String(), "go test -v ./..."
}

func TestR102_TheRawOutputIsAnArtifactOfItsOwn(t *testing.T) {
	r := newRig(t)
	_, command := passing(r)
	r.run(command)
	path, err := r.store.Find("0")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(path, "/0.bash-original.log"))
	without := newRig(t, func(o *Options, _ *JobsOptions) { o.Files = nil })
	_, command = passing(without)
	text := without.run(command)
	require.NotContains(t, text, "raw output")
	require.NotContains(t, text, "=== RUN", "it is minimized all the same")

	last := ""
	r = newRig(t)
	raw, command := passing(r)
	_, err = r.call(context.Background(), "bash", args{"command": command}, func(u dialect.Result) { last = u.Text })
	require.NoError(t, err)
	require.Equal(t, raw, last, "updates are raw")
	require.NotContains(t, r.run(command+"; true"), "raw output", "a chain stays as it is")
}

func TestR107_ATerminalNeedsSomebodyToSeeIt(t *testing.T) {
	const ask = "test -t 0 && echo terminal || echo none"
	for name, c := range map[string]struct {
		change with
		pty    any
		want   string
	}{
		"all is there":      {withUI, true, "terminal"},
		"nobody sees it":    {func(*Options, *JobsOptions) {}, true, "none"},
		"not asked for":     {withUI, false, "none"},
		"forbidden by ours": {func(o *Options, j *JobsOptions) { withUI(o, j); o.Env = append(o.Env, "TROUPE_NO_PTY=1") }, true, "none"},
		"forbidden by pi's": {func(o *Options, j *JobsOptions) { withUI(o, j); o.Env = append(o.Env, "PI_NO_PTY=1") }, true, "none"},
		"not forbidden":     {func(o *Options, j *JobsOptions) { withUI(o, j); o.Env = append(o.Env, "PI_NO_PTY=0") }, true, "terminal"},
	} {
		require.Equal(t, c.want, body(newRig(t, c.change).bash(args{"command": ask, "pty": c.pty})), name)
	}
}

func TestR291_TheSettingIsTheDefaultOfTheParameter(t *testing.T) {
	on := settings(func(s *Settings) { s.VirtualTerminal = "on" })
	const ask = "test -t 0 && echo terminal || echo none"
	require.Equal(t, "terminal", body(newRig(t, withUI, on).bash(args{"command": ask})))
	require.Equal(t, "none", body(newRig(t, withUI, on).bash(args{"command": ask, "pty": false})))
	require.Equal(t, "none", body(newRig(t, on).bash(args{"command": ask})), "nobody sees it")
}

func TestR109_TheTerminalHasItsSize(t *testing.T) {
	for screen, want := range map[messages.Terminal]messages.Terminal{
		{}:                       {Rows: 40, Cols: 120},
		{Rows: 24, Cols: 80}:     {Rows: 20, Cols: 78},
		{Rows: 3, Cols: 10}:      {Rows: 5, Cols: 20},
		{Rows: 1000, Cols: 1000}: {Rows: 200, Cols: 400},
	} {
		require.Equal(t, want, PTYSize(screen))
	}
	require.Equal(t, []int{5, 19, 80}, []int{OverlayRows(1), OverlayRows(24), OverlayRows(100)})
	r := newRig(t, withUI, func(o *Options, _ *JobsOptions) { o.Screen = messages.Terminal{Rows: 24, Cols: 80} })
	require.Equal(t, "20 78", body(r.bash(args{"command": "stty size", "pty": true})))
	require.Equal(t, []string{"sh", "-lc", "stty size"}, r.ran()[0].Argv)
}

func TestR112_ATerminalsEnvironmentBeginsWithTheDefaults(t *testing.T) {
	r := newRig(t, withUI)
	require.Equal(t, "dumb true cat", body(r.bash(args{"command": "echo $TERM $CI $PAGER", "pty": true})))
	require.Equal(t, "xterm true", body(r.bash(args{"command": "echo $TERM $CI", "pty": true, "env": args{"TERM": "xterm"}})))
}

func TestR113_ATerminalsOutputIsText(t *testing.T) {
	r := newRig(t, withUI)
	require.Equal(t, "red\nb\nc", body(r.bash(args{"command": `printf '\033[31mred\033[0m\nb\rc\n'`, "pty": true})))
	result := r.bash(args{"command": "seq 20000", "pty": true})
	require.Equal(t, int64(108894), details(t, result).Meta.Truncation.TotalBytes)
	require.True(t, strings.HasPrefix(r.file("0"), "1\n2\n"))
}

func TestR114_AnErrorOfTheTerminalIsALine(t *testing.T) {
	result := ended{how: statusless, pty: true, why: "no terminal is free", out: Captured{Text: "some"}}.result()
	require.True(t, result.IsError)
	require.Equal(t, "some\nPTY error: no terminal is free\n\nCommand failed: missing exit status", result.Text)
	r := newRig(t, withUI)
	r.options.Host = refusing{r.options.Host}
	require.Equal(t, "PTY error: no terminal\n\nCommand failed: missing exit status", r.bash(args{"command": "true", "pty": true}).Text)
}

// refusing is a host that takes no command.
type refusing struct{ dialect.Host }

func (refusing) Run(context.Context, messages.RunCommand, int, func(messages.JobID)) (messages.Record, dialect.Text, error) {
	return messages.Record{}, dialect.Text{}, &messages.Error{Code: messages.ResourceExhausted, Message: "no terminal"}
}

func TestR115_ATimeoutOfATerminalIsSaid(t *testing.T) {
	r := newRig(t, withUI)
	result := r.bash(args{"command": "echo up; sleep 60", "pty": true, "timeout": 1})
	require.Equal(t, "up\n\nCommand timed out after 1 seconds", result.Text)
	require.True(t, details(t, result).TimedOut)
	require.True(t, ended{how: timedOut}.plain().Cancelled, "elsewhere it is a cancelled result with an annotation")
}
