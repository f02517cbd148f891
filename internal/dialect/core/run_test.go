package core

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

func number(n float64) *float64 { return &n }

var around = RunEnv{
	Scope: "mcp/me", Dir: "/srv", Env: []string{"PATH=/bin", "HOME=/srv/me", "SECRET_TOKEN=s", "PROXY=p", "OTHER=o"}, Pass: []string{"PROXY"}, Umask: "022",
	Quota: messages.Quota{Bytes: 7},
}

// The parameters of run become a request.
func TestRunRequest(t *testing.T) {
	for name, c := range map[string]struct {
		p    Run
		want func(t *testing.T, r messages.RunCommand)
	}{
		"plain": {Run{Command: "make"}, func(t *testing.T, r messages.RunCommand) {
			require.Equal(t, []any{"make", messages.ScopePath("mcp/me"), "/srv", "022", DefaultWait, messages.StdinNull, int64(7)}, []any{r.Text, r.Scope, r.Dir, r.Umask, r.PromoteAfter, r.Stdin, r.Quota.Bytes})
			require.False(t, r.Mode.Background())
			require.Zero(t, r.Timeout)
			require.Nil(t, r.Open)
		}},
		"argv":         {Run{Argv: []string{"a", "b c"}}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, []string{"a", "b c"}, r.Argv) }},
		"relative cwd": {Run{Command: "x", Cwd: "a/../b"}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, "/srv/b", r.Dir) }},
		"absolute cwd": {Run{Command: "x", Cwd: "/tmp"}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, "/tmp", r.Dir) }},
		"wait":         {Run{Command: "x", WaitSeconds: number(1.5)}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, 1500*time.Millisecond, r.PromoteAfter) }},
		"a long wait":  {Run{Command: "x", WaitSeconds: number(1e9)}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, MaxWait, r.PromoteAfter) }},
		"no wait":      {Run{Command: "x", WaitSeconds: number(0)}, func(t *testing.T, r messages.RunCommand) { require.True(t, r.Mode.Background()) }},
		"background":   {Run{Command: "x", Background: true}, func(t *testing.T, r messages.RunCommand) { require.True(t, r.Mode.Background() && r.PromoteAfter == 0) }},
		"detach":       {Run{Command: "x", Detach: true}, func(t *testing.T, r messages.RunCommand) { require.True(t, r.Mode == messages.ModeDetached) }},
		"deadline":     {Run{Command: "x", Timeout: 90}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, 90*time.Second, r.Timeout) }},
		"grace":        {Run{Command: "x", Grace: number(0.5)}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, time.Second/2, r.Grace) }},
		"no grace":     {Run{Command: "x", Grace: number(0)}, func(t *testing.T, r messages.RunCommand) { require.Negative(t, r.Grace) }},
		"stdin":        {Run{Command: "x", Stdin: "text"}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, messages.StdinPipe, r.Stdin) }},
		"interactive":  {Run{Command: "x", Interactive: true}, func(t *testing.T, r messages.RunCommand) { require.Equal(t, messages.StdinPipe, r.Stdin) }},
		"terminal": {Run{Command: "x", Pty: new(true)}, func(t *testing.T, r messages.RunCommand) {
			require.Equal(t, messages.Terminal{Rows: 24, Cols: 80}, r.Terminal)
		}},
		"large terminal": {Run{Command: "x", Pty: new(true), Rows: 50, Cols: 200}, func(t *testing.T, r messages.RunCommand) {
			require.Equal(t, messages.Terminal{Rows: 50, Cols: 200}, r.Terminal)
		}},
		"environment": {Run{Command: "x", Env: map[string]string{"B": "2", "A": "1"}}, func(t *testing.T, r messages.RunCommand) {
			require.Equal(t, messages.EnvCaller, r.Env.Policy)
			require.Subset(t, r.Env.Base, []string{"PATH=/bin", "HOME=/srv/me", "PROXY=p", "A=1", "B=2", "TERM=dumb"})
			require.False(t, slices.ContainsFunc(r.Env.Base, func(e string) bool { return strings.HasPrefix(e, "SECRET") || strings.HasPrefix(e, "OTHER") }))
		}},
		"what is passed may be set": {Run{Command: "x", Env: map[string]string{"PROXY": "mine"}}, func(t *testing.T, r messages.RunCommand) {
			require.Contains(t, r.Env.Base, "PROXY=mine")
			require.NotContains(t, r.Env.Base, "PROXY=p")
		}},
		"environment of a terminal": {Run{Command: "x", Pty: new(true)}, func(t *testing.T, r messages.RunCommand) { require.Contains(t, r.Env.Base, "TERM=xterm-256color") }},
		"terminal of its own kind":  {Run{Command: "x", Pty: new(true), Env: map[string]string{"TERM": "vt100"}}, func(t *testing.T, r messages.RunCommand) { require.Contains(t, r.Env.Base, "TERM=vt100") }},
		"session": {Run{Command: "x", Session: "s", Shell: "zsh", Env: map[string]string{"A": "1"}}, func(t *testing.T, r messages.RunCommand) {
			require.Equal(t, messages.SessionID("s"), r.Session)
			require.Equal(t, []string{"A=1"}, r.Env.Set)
			require.Empty(t, r.Dir+r.Shell+r.Umask)
			require.Equal(t, []any{messages.BackendShell, "/srv", "zsh", "022"}, []any{r.Open.Backend, r.Open.Dir, r.Open.Shell, r.Open.Umask})
		}},
		"session on a terminal, elsewhere": {Run{Command: "x", Session: "s", Pty: new(true), Cwd: "d"}, func(t *testing.T, r messages.RunCommand) {
			require.Equal(t, messages.BackendShellPTY, r.Open.Backend)
			require.Equal(t, r.Terminal, r.Open.Terminal)
			require.Equal(t, "/srv/d", r.Dir)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := c.p.Request(around)
			require.Nil(t, err)
			c.want(t, r)
		})
	}
}

// What is wrong is said by the name of the parameter.
func TestBadInputOfCoreParameters(t *testing.T) {
	for want, bad := range map[string][]Run{
		"wait_seconds":    {{WaitSeconds: number(-1)}, {WaitSeconds: number(math.NaN())}, {WaitSeconds: number(math.Inf(-1))}},
		"timeout_seconds": {{Timeout: -1}, {Timeout: 1e300}, {Timeout: math.Inf(1)}, {Timeout: math.NaN()}},
		"grace_seconds":   {{Grace: number(-1)}, {Grace: number(math.NaN())}, {Grace: number(1e300)}},
		"max_bytes":       {{MaxBytes: -1}, {MaxBytes: messages.MaxViewBytes + 1}},
		"stdin":           {{Stdin: "a", Interactive: true}, {Stdin: "a", Pty: new(true)}, {Stdin: strings.Repeat("a", messages.MaxInput+1)}},
		"rows":            {{Rows: 1}, {Cols: 1}, {Pty: new(true), Rows: -1}, {Pty: new(true), Cols: 1001}},
		"env":             {{Env: map[string]string{"": "a"}}, {Env: map[string]string{"A=B": "a"}}, {Env: map[string]string{"A\x00": "a"}}},
	} {
		for _, p := range bad {
			p.Command = "x"
			_, err := p.Request(around)
			require.NotNil(t, err, want)
			require.Equal(t, want, err.Reason, "%+.100v", p)
		}
	}
	for want, bad := range map[string][]Read{
		"max_bytes":    {{MaxBytes: -1}},
		"line":         {{Line: -1}, {Head: -1}, {Tail: -1}, {Limit: -1}, {Line: 1, Tail: 1}, {Limit: 1, Head: 1}},
		"from":         {{From: new(int64), Line: 1}, {From: new(int64), Tail: 1}},
		"head":         {{Head: 1, Tail: 2}},
		"wait_seconds": {{WaitSeconds: number(1)}},
	} {
		for _, p := range bad {
			_, err := p.View()
			require.NotNil(t, err, "%+v", p)
			require.Equal(t, want, err.Reason, "%+v", p)
		}
	}
	for want, bad := range map[string][]Await{
		"until":           {{Until: "never"}, {Until: "Exit"}},
		"timeout_seconds": {{TimeoutSeconds: number(-1)}, {TimeoutSeconds: number(math.NaN())}},
		"max_bytes":       {{MaxBytes: -1}},
	} {
		for _, p := range bad {
			_, err := p.Request([]messages.JobID{"j1"})
			require.NotNil(t, err, "%+v", p)
			require.Equal(t, want, err.Reason, "%+v", p)
		}
	}
	require.NotNil(t, Write{}.Check())
	require.NotNil(t, Write{Text: "a", Keys: "b"}.Check())
	require.NotNil(t, Stop{}.Check())
	require.NotNil(t, Stop{All: true, Signal: "INT"}.Check())
	require.NotNil(t, Stop{Session: "../x"}.Check())
	require.NotNil(t, Stop{JobIDs: make([]string, messages.MaxAwaited+1)}.Check())
}

// The views of read.
func TestReadViews(t *testing.T) {
	for want, p := range map[messages.View]Read{
		{Kind: messages.ViewTail, Bytes: DefaultBytes}:                        {},
		{Kind: messages.ViewTail, Bytes: 5}:                                   {MaxBytes: 5},
		{Kind: messages.ViewPage, Offset: 7, Lines: 200, Bytes: DefaultBytes}: {Line: 7},
		{Kind: messages.ViewPage, Offset: 1, Lines: 9, Bytes: DefaultBytes}:   {Limit: 9},
		{Kind: messages.ViewPage, Offset: 1, Lines: 3, Bytes: DefaultBytes}:   {Head: 3},
		{Kind: messages.ViewTailLine, Lines: 4, Bytes: DefaultBytes}:          {Tail: 4},
		{Kind: messages.ViewHeadTail, Lines: 2, Bytes: DefaultBytes}:          {Head: 2, Tail: 2},
	} {
		got, err := p.View()
		require.Nil(t, err)
		require.Equal(t, want, got)
	}
}

// What is waited for follows from what is given.
func TestAwaitConditions(t *testing.T) {
	for want, p := range map[messages.Condition]Await{
		{Kind: messages.UntilExit}:                                  {},
		{Kind: messages.UntilPattern, Pattern: "(?m)x+"}:            {Pattern: "x+"},
		{Kind: messages.UntilPattern, Pattern: "(?m)y"}:             {Until: "match", Pattern: "y"},
		{Kind: messages.UntilPort, Port: 80}:                        {Port: 80},
		{Kind: messages.UntilQuiet, Quiet: time.Second}:             {Until: "quiet"},
		{Kind: messages.UntilQuiet, Quiet: 2500 * time.Millisecond}: {QuietSeconds: 2.5},
		{Kind: messages.UntilInput}:                                 {Until: "input"},
	} {
		r, err := p.Request([]messages.JobID{"j1"})
		require.Nil(t, err, "%+v", p)
		require.Equal(t, want, r.Condition)
		require.Equal(t, DefaultWait, r.Timeout)
	}
	r, err := Await{TimeoutSeconds: number(0)}.Request([]messages.JobID{"j1"})
	require.Nil(t, err)
	require.Equal(t, time.Millisecond, r.Timeout)
}

// A record tells a job as it is now.
func TestTell(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := Tell(messages.Record{
		ID: "j1", State: messages.Running, Started: now.Add(-1500 * time.Millisecond), WaitingForInput: true, WaitingForSecret: true, PID: 7,
		Output: []messages.StreamOutput{{Stream: messages.Stderr, Bytes: 9}},
	}, now)
	require.True(t, r.Running)
	require.Nil(t, r.ExitCode)
	require.Equal(t, []any{"secret", int64(1500), 7, []Stream{{"stderr", 9, "artifact://j1/stderr"}}}, []any{r.Waiting, r.DurationMS, r.PID, r.Outputs})
	for outcome, want := range map[messages.Outcome]int{messages.Cancelled: 130, messages.TimedOut: 124, messages.Lost: 125} {
		r := Tell(messages.Record{ID: "j2", State: messages.Finished, End: messages.End{Outcome: outcome, Cause: messages.Cause{By: messages.ByClient, Reason: "why"}}, PID: 7}, now)
		require.False(t, r.Running)
		require.Equal(t, want, *r.ExitCode)
		require.Equal(t, "a client: why", r.Cause)
		require.Zero(t, r.PID)
	}
}
