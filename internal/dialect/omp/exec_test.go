package omp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/internal/node"
	"troupe/internal/shelltext"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR051_StreamsAreMergedInALiveShellOrInNone(t *testing.T) {
	live, alone := newRig(t), newRig(t, settings(func(s *Settings) { s.OneShot = true }))
	for _, r := range []*rig{live, alone} {
		require.Contains(t, r.run("echo 1; echo 2 >&2; echo 3"), "1\n2\n3\n")
		r.run("state=kept")
	}
	require.Contains(t, live.run("echo [$state]"), "[kept]")
	require.Contains(t, alone.run("echo [$state]"), "[]")
	require.Equal(t, messages.BackendShell, live.ran()[0].Backend)
	require.Equal(t, messages.BackendPipe, alone.ran()[0].Backend)
}

func TestR052_AShellIsSharedByItsKey(t *testing.T) {
	node := dialecttest.Node(t)
	one, same := rigOn(t, node), rigOn(t, node)
	same.options.Env, same.options.Dir = one.options.Env, one.options.Dir
	one.run("state=shared")
	require.Contains(t, same.run("echo [$state]"), "[shared]", "process-wide")
	for name, change := range map[string]with{
		"session":   func(o *Options, _ *JobsOptions) { o.SessionID = "s2" },
		"prefix":    settings(func(s *Settings) { s.ShellPrefix = "time" }),
		"env":       func(o *Options, _ *JobsOptions) { o.Env = append(o.Env, "X=1") },
		"minimizer": settings(func(s *Settings) { s.Minimizer.Enabled = false }),
	} {
		other := rigOn(t, node, func(o *Options, _ *JobsOptions) { o.Env = append([]string(nil), one.options.Env...) }, change)
		require.Contains(t, other.run("echo [$state]"), "[]", name)
	}
}

func TestR053_TheSessionKeysItsShellsAndJobsHaveTheirOwn(t *testing.T) {
	r := newRig(t, async)
	r.run("state=mine")
	r.bash(args{"command": "echo [$state]", "async": true})
	require.Contains(t, (<-r.told).Text, "[]")
	jobs := r.ran()
	require.NotEqual(t, jobs[0].Session, jobs[1].Session)
	require.Equal(t, messages.BackendShell, jobs[1].Backend)
	digest := shelltext.ReuseKey{Session: shelltext.SessionKey("s1")}.Digest()
	require.NotEqual(t, digest, shelltext.ReuseKey{Session: shelltext.JobKey("s1", "bg_1")}.Digest())
}

func TestR054_AShellIsDroppedBehindATimeout(t *testing.T) {
	r := newRig(t)
	r.run("state=old")
	require.True(t, r.bash(args{"command": "sleep 9", "timeout": 1}).IsError)
	require.Contains(t, r.run("echo [$state]"), "[]")
	jobs := r.ran()
	require.Equal(t, jobs[0].Session, jobs[1].Session)
	require.NotEqual(t, jobs[1].Session, jobs[2].Session)

	hold := r.useShell(shelltext.ReuseKey{Session: "broken"}, false)
	r.release(hold, breakShell)
	require.Nil(t, r.useShell(shelltext.ReuseKey{Session: "broken"}, false), "behind a hard timeout there is none for the key")
}

func TestR055_AReplacedShellIsSaid(t *testing.T) {
	r := newRig(t)
	r.run("A=1")
	require.NotContains(t, r.run("true"), textShellReplaced)
	r.bash(args{"command": "sleep 9", "timeout": 1})
	require.Contains(t, r.run("true"), textShellReplaced)
	require.NotContains(t, r.run("true"), textShellReplaced, "it is said once")
	r.run("exit 1")
	require.Contains(t, r.run("true"), textShellReplaced, "it ended by itself")
}

func TestR056_APrefixStandsBeforeTheCommand(t *testing.T) {
	for name, change := range map[string]with{
		"setting": settings(func(s *Settings) { s.ShellPrefix = "echo pre;" }),
		"ours": func(o *Options, _ *JobsOptions) {
			o.Env = append(o.Env, "TROUPE_SHELL_PREFIX=echo pre;", "PI_SHELL_PREFIX=no")
		},
		"pi": func(o *Options, _ *JobsOptions) {
			o.Env = append(o.Env, "PI_SHELL_PREFIX=echo pre;", "CLAUDE_CODE_SHELL_PREFIX=no")
		},
		"claude": func(o *Options, _ *JobsOptions) { o.Env = append(o.Env, "CLAUDE_CODE_SHELL_PREFIX=echo pre;") },
	} {
		r := newRig(t, change, settings(func(s *Settings) {
			s.Interceptor, s.Rules = true, []shelltext.Rule{{Pattern: `^cat`, Tool: "read", Message: "m"}}
		}), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read"} })
		require.Contains(t, r.run("echo it"), "pre\nit\n", name)
		require.Equal(t, "Blocked: m\n\ncat x", r.run("cat x"), "rules have the command alone")
	}
}

func TestR057_TheShellIsChosen(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.ShellPath = "/no/shell" }))
	result := r.bash(args{"command": "true"})
	require.True(t, result.IsError)
	require.Contains(t, result.Text, "/no/shell")
	require.Contains(t, result.Text, "shellPath")
	sh := newRig(t, settings(func(s *Settings) { s.ShellPath, s.OneShot = "/bin/sh", true }))
	require.Contains(t, sh.run("echo $0"), "/bin/sh\n")
	fish := newRig(t, func(o *Options, _ *JobsOptions) { o.Env[2] = "SHELL=/usr/bin/fish" })
	require.Contains(t, fish.run("echo $BASH"), "bash\n")
	login := newRig(t, settings(func(s *Settings) { s.OneShot = true }), func(o *Options, _ *JobsOptions) { o.Env = o.Env[:3] })
	require.Contains(t, login.run("shopt -q login_shell && echo login"), "login\n")
	require.NotContains(t, newRig(t, settings(func(s *Settings) { s.OneShot = true })).run("shopt -q login_shell && echo login"), "login\n")
}

func TestR058_TheBaseEnvironmentTellsOfAnAgent(t *testing.T) {
	r := newRig(t, func(o *Options, _ *JobsOptions) {
		o.Env = append(o.Env, "MINE=1", "MallocStackLoggingNoCompact=1", "X_API_KEY=secret", "GITHUB_TOKEN=t")
		o.Settings.PassEnv = []string{"GITHUB_TOKEN"}
	})
	for _, call := range []args{{"command": "env"}, {"command": "env", "env": args{"A": "1"}}} {
		text := r.bash(call).Text
		for _, want := range []string{"SHELL=/bin/bash\n", "GIT_EDITOR=true\n", "GPG_TTY=not a tty\n", "OMPCODE=1\n", "CLAUDECODE=1\n", "CI=true\n", "MINE=1\n", "GITHUB_TOKEN=t\n"} {
			require.Contains(t, text, want)
		}
		require.NotContains(t, text, "MallocStack")
		require.NotContains(t, text, "X_API_KEY", "secrets are named to be let through (R-278)")
	}
	quiet := newRig(t, func(o *Options, _ *JobsOptions) { o.Env = append(o.Env, "PI_BASH_NO_CI=1") })
	require.NotContains(t, quiet.run("env"), "\nCI=")
}

func TestR059_TheShellKnowsWhatItsUserHasSetUp(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".bashrc"), []byte("alias greet='echo from an alias'\nshout() { echo from a function; }\n"), 0o600))
	node := dialecttest.Node(t, func(o *node.Options) { o.Snapshot = true })
	r := rigOn(t, node, func(o *Options, _ *JobsOptions) { o.Env[1] = "HOME=" + home })
	require.Contains(t, r.run("greet; shout"), "from an alias\nfrom a function\n")
	bad := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bad, ".bashrc"), []byte("exit 1\n"), 0o600))
	r = rigOn(t, node, func(o *Options, _ *JobsOptions) { o.Env[1] = "HOME=" + bad })
	require.Contains(t, r.run("echo runs"), "runs\n", "without one the command runs all the same")
}

func TestR061_TheCallWinsOverTheDefaults(t *testing.T) {
	r := newRig(t)
	require.Contains(t, r.bash(args{"command": "echo $PAGER $CI $TERM", "env": args{"PAGER": "less", "CI": ""}}).Text, "less dumb\n")
	require.Contains(t, r.run("echo $PAGER"), "cat\n", "and only for itself")
}

func TestR062_ProgramsDoNotAsk(t *testing.T) {
	r := newRig(t)
	text := r.run("env")
	for _, want := range shelltext.NonInteractive(true) {
		require.Contains(t, text, want+"\n")
	}
}

func TestR063_ACallThatWasAbortedBeforeRunsNothing(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result, err := r.ExecuteTo(ctx, "touch x", io.Discard)
	require.NoError(t, err)
	require.Equal(t, BashResult{Output: "[Command cancelled]", Cancelled: true}, result)
	_, err = r.Bash(ctx, Params{Command: "touch x"}, nil)
	var abort *AbortError
	require.ErrorAs(t, err, &abort)
	require.Empty(t, r.ran())
}

func TestR064_TheExecutorRaisesNothing(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	result, err := r.ExecuteTo(ctx, "echo begun; sleep 60", &pieces{t: t, seen: func(text string) {
		if text == "begun\n" {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.True(t, result.Cancelled)
	require.Nil(t, result.ExitCode)
	require.Equal(t, "[Command cancelled]\nbegun\n", result.Output)
	again, err := r.ExecuteTo(context.Background(), "echo alive", io.Discard)
	require.NoError(t, err)
	require.Equal(t, "alive\n", again.Output)
	failed, err := r.ExecuteTo(context.Background(), "exit 4", io.Discard)
	require.NoError(t, err)
	require.Equal(t, 4, *failed.ExitCode)
}

func TestR065_TheAnnotationComesFirst(t *testing.T) {
	second := timeout(number1(2.5), DefaultSettings())
	for want, e := range map[string]ended{
		"[Command cancelled]\nout":                                        {how: aborted},
		"[Command timed out after 2.5 seconds]\nout":                      {how: timedOut, timeout: second},
		"[Command timed out]\nout":                                        {how: timedOut},
		"[" + strings.ReplaceAll(textHardTimeout, "%s", "7.5") + "]\nout": {how: abandoned, timeout: second},
		"out": {how: exited},
	} {
		e.out = Captured{Text: "out"}
		require.Equal(t, want, e.plain().Output)
	}
}

func number1(n float64) *float64 { return &n }

// stuck is a host whose commands neither end nor say anything, until the test is over.
type stuck struct {
	dialect.Host
	ran  chan messages.RunCommand
	over chan struct{}
}

func (s *stuck) Run(_ context.Context, r messages.RunCommand, _ int, _ func(messages.JobID)) (messages.Record, dialect.Text, error) {
	s.ran <- r
	<-s.over
	return messages.Record{}, dialect.Text{}, context.Canceled
}

func (s *stuck) Do(ctx context.Context, r messages.Refusable) (any, error) {
	switch r.(type) {
	case messages.WaitJobs:
		<-ctx.Done()
		return nil, ctx.Err()
	case messages.CloseSession:
		return messages.SessionClosed{}, nil
	}
	return nil, &messages.Error{Code: messages.NotFound}
}

func TestR066_ACallReturnsBehindItsHardTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, beside := &stuck{ran: make(chan messages.RunCommand, 2), over: make(chan struct{})}, &sync.WaitGroup{}
		s := New(Options{Host: host, Beside: beside, Dir: "/", SessionID: "s1", Settings: DefaultSettings(), FS: disk.Files{}})
		began := time.Now()
		result, err := s.Bash(context.Background(), Params{Command: "x"}, nil)
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.Contains(t, result.Text, "did not end within 305 seconds")
		require.True(t, strings.HasSuffix(result.Text, "Command timed out after 300 seconds"))
		require.Equal(t, 308*time.Second, time.Since(began), "305, and a last look")
		require.Equal(t, messages.BackendShell, (<-host.ran).Open.Backend)
		l, err := s.launchOf(&call{command: "x", dir: "/"}, "s1")
		require.NoError(t, err)
		require.Nil(t, l.live, "its key is for processes of their own from now on")
		close(host.over)
		beside.Wait()
	})
}

func TestR067_WhatIgnoresTermIsKilled(t *testing.T) {
	r := newRig(t)
	began := time.Now()
	result := r.bash(args{"command": `trap "" TERM; echo up; sleep 60 & wait; sleep 60`, "timeout": 1, "env": args{"ALONE": "1"}})
	require.True(t, strings.HasSuffix(result.Text, "Command timed out after 1 seconds"), result.Text)
	require.Contains(t, result.Text, "up\n")
	require.Less(t, time.Since(began), 6*time.Second)
	require.Equal(t, "KILL", r.ran()[0].End.Cause.Signal)
	require.Equal(t, grace, 2*time.Second)
}

func TestR068_AResultDoesNotWaitForWhatIsLeftBehind(t *testing.T) {
	for _, oneShot := range []bool{false, true} {
		r := newRig(t, settings(func(s *Settings) { s.OneShot = oneShot }))
		began := time.Now()
		require.Contains(t, r.run("sleep 60 & echo done"), "done\n")
		require.Less(t, time.Since(began), 5*time.Second)
	}
}

func TestR071_ABashResultHasItsFields(t *testing.T) {
	r := newRig(t)
	result, err := r.ExecuteTo(context.Background(), "seq 30000", io.Discard)
	require.NoError(t, err)
	zero := 0
	require.Equal(t, BashResult{
		Output: result.Output, ExitCode: &zero, Truncated: true, TotalLines: 30001, TotalBytes: 168894,
		OutputLines: result.OutputLines, OutputBytes: 51200, ArtifactID: "0", FullOutputPath: filepath.Join(r.store.Dir(), "0.bash.log"),
	}, result)
	small, err := r.ExecuteTo(context.Background(), "echo a", io.Discard)
	require.NoError(t, err)
	require.Equal(t, BashResult{Output: "a\n", ExitCode: &zero, TotalLines: 2, TotalBytes: 2, OutputLines: 2, OutputBytes: 2}, small)
	late, err := r.ExecuteTo(context.Background(), "no-such-program", io.Discard)
	require.NoError(t, err)
	require.Equal(t, 127, *late.ExitCode)
}

func TestR072_ACommandReadsNothing(t *testing.T) {
	r := newRig(t)
	require.Contains(t, r.run("cat"), "(no output)")
	require.Contains(t, r.bash(args{"command": "read x || echo end", "env": args{"A": "1"}}).Text, "end\n")
}

// The time of a call that has none is not bounded.
func TestAWaitWithoutATimeoutHasNoHardOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		f := &activeRun{done: make(chan struct{}), cancel: func() {}}
		go func() {
			time.Sleep(24 * time.Hour)
			close(f.done)
		}()
		require.Equal(t, endedSoFar, s.wait(context.Background(), f))
	})
}

// noShells is a host that has no live shell to give.
type noShells struct{ dialect.Host }

func (n noShells) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if r.Open != nil {
		return messages.Record{}, dialect.Text{}, &messages.Error{Code: messages.ResourceExhausted, Reason: "shells"}
	}
	return n.Host.Run(ctx, r, most, known)
}

// Where no live shell can be had, commands run all the same, each in a process of its own.
func TestCommandsRunWithoutLiveShells(t *testing.T) {
	r := newRig(t, async)
	r.options.Host = noShells{r.options.Host}
	shown := ""
	result, err := r.call(context.Background(), "bash", args{"command": "echo $((6*7))"}, func(u dialect.Result) { shown = u.Text })
	require.NoError(t, err)
	require.Contains(t, result.Text, "42\n")
	require.Equal(t, "42\n", shown)
	require.Equal(t, messages.BackendPipe, r.ran()[0].Backend)
	long := "echo " + strings.Repeat("x", 200_000) + " | wc -c"
	require.Contains(t, r.run(long), "200001\n", "longer than a word of a program may be")
	require.Contains(t, r.run("yes | head -2"), "y\ny\n\nWall")
	r.bash(args{"command": "echo $((6*7))", "async": true})
	require.Contains(t, (<-r.told).Text, "42\n")
}

// A shell that cannot be started fails the command, and not the session.
func TestAShellThatDoesNotStart(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.ShellPath = "/etc/passwd" }))
	require.Contains(t, r.run("true"), "/etc/passwd")
	bad := filepath.Join(r.dir, "bad")
	require.NoError(t, os.WriteFile(bad, []byte("#!/no/interpreter\n"), 0o700))
	r = newRig(t, settings(func(s *Settings) { s.ShellPath = bad }))
	result := r.bash(args{"command": "true"})
	require.True(t, result.IsError)
	require.Contains(t, result.Text, "Command could not be started: ")
}
