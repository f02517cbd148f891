package omp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
)

func TestR001_TheCommandIsTheText(t *testing.T) {
	r := newRig(t)
	require.Contains(t, r.run("echo one; echo 'two  three'"), "one\ntwo  three\n")
	for _, wrong := range []string{`{"command":3}`, `{"cmd":"ls"}`, `[]`} {
		result := r.bash(wrong)
		require.True(t, result.IsError, wrong)
	}
	require.Contains(t, string(r.Tools()[0].Schema), `"required":["command"]`)
	require.Len(t, r.ran(), 1)
}

func TestR002_AnInvalidEnvNameIsRefusedFirst(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"1A", "A-B", "", "A=B", "Ä", "A B"} {
		result := r.bash(args{"command": "true", "cwd": "/nowhere", "async": true, "env": args{"OK_1": "x", name: "v"}})
		require.True(t, result.IsError)
		require.Equal(t, "Invalid bash env name: "+name, result.Text)
	}
	require.Empty(t, r.ran())
	require.Contains(t, r.bash(args{"command": `echo "$_a1$B"`, "env": args{"_a1": "x", "B": "y"}}).Text, "xy\n")
}

func TestR003_AnEmptyEnvIsAbsentAndValuesAreNoShellText(t *testing.T) {
	r := newRig(t)
	r.run("kept=here")
	require.Contains(t, r.bash(args{"command": "echo [$kept]", "env": args{}}).Text, "[here]", "it runs as a call without env: in the session's shell")
	value := "$(echo no) `echo no` \"' \\ $HOME"
	require.Contains(t, r.bash(args{"command": `printf '%s|' "$V"`, "env": args{"V": value}}).Text, value+"|")
}

func TestR004_TheTimeoutIsClampedToItsBounds(t *testing.T) {
	for _, c := range []struct{ asked, want float64 }{{1, 1}, {0.5, 1}, {0, 1}, {-3, 1}, {2.5, 2.5}, {3600, 3600}, {3601, 3600}, {1e300, 3600}} {
		require.Equal(t, c.want, timeout(&c.asked, DefaultSettings()).Effective)
	}
	require.Equal(t, 300.0, timeout(nil, DefaultSettings()).Effective)
	r := newRig(t)
	require.Equal(t, 300.0, details(t, r.bash(args{"command": "true"})).TimeoutSeconds)
	require.Equal(t, 5*time.Minute, r.ran()[0].Timeout)
}

func TestR005_AClampedTimeoutIsSaid(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "true", "timeout": 0.5})
	require.Contains(t, result.Text, "Timeout: 0.5 seconds asked for, 1 seconds used (allowed: 1 to 3600)")
	require.Contains(t, r.bash(args{"command": "true", "timeout": 4000}).Text, "Timeout: 4000 seconds asked for, 3600 seconds used (allowed: 1 to 3600)")
	require.NotContains(t, r.bash(args{"command": "true", "timeout": 2.5}).Text, "asked for")
	require.NotContains(t, r.run("true"), "asked for")
}

func TestR006_ZeroIsNoDeadlineWhereASettingSaysSo(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.ZeroTimeoutDisables, s.MaxTimeout = true, 100 }))
	result := r.bash(args{"command": "true", "timeout": 0})
	require.Equal(t, true, dialecttest.Fields(t, result.Details)["timeoutDisabled"])
	require.Zero(t, r.ran()[0].Timeout)
	capped := r.bash(args{"command": "true", "timeout": 200})
	require.Equal(t, 100.0, details(t, capped).TimeoutSeconds)
	require.Contains(t, capped.Text, "\nTimeout: 200 seconds asked for, 100 seconds used (allowed: 1 to 100, 0 for none)")
	off := newRig(t)
	require.Equal(t, 1.0, details(t, off.bash(args{"command": "true", "timeout": 0})).TimeoutSeconds)
}

func TestR007_TheDirectoryIsBelowTheSessions(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "sub"), 0o700))
	require.Contains(t, r.bash(args{"command": "pwd", "cwd": "sub"}).Text, r.dir+"/sub\n")
	require.Contains(t, r.bash(args{"command": "pwd", "cwd": "/"}).Text, r.dir+"\n")
	require.Contains(t, r.run("pwd"), r.dir+"\n", "the directory of a call is that of this call")
	require.Contains(t, r.bash(args{"command": "pwd", "cwd": "/usr"}).Text, "/usr\n")
}

func TestR008_AsyncIsInTheSchemaWhileItIsEnabled(t *testing.T) {
	properties := func(s Settings) map[string]any {
		var schema struct{ Properties map[string]any }
		require.NoError(t, json.Unmarshal(bashSchema(s), &schema))
		return schema.Properties
	}
	off, on := DefaultSettings(), DefaultSettings()
	on.AsyncEnabled = true
	require.NotContains(t, properties(off), "async")
	require.Contains(t, properties(on), "async")
	require.Equal(t, "boolean", properties(off)["pty"].(map[string]any)["type"])
	r := newRig(t)
	require.Contains(t, r.run("test -t 1 || echo no terminal"), "no terminal", "pty is off where it is not asked for")
}

func TestR009_AsyncNeedsItsSettingAndItsManager(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "true", "async": true})
	require.True(t, result.IsError)
	require.True(t, strings.HasPrefix(result.Text, "Async bash execution is disabled"), result.Text)
	require.Contains(t, result.Text, "async.enabled")
	r = newRig(t, async, func(o *Options, _ *JobsOptions) { o.Jobs = noJobs })
	require.Equal(t, "Async job manager unavailable for this session.", r.bash(args{"command": "true", "async": true}).Text)
	require.Empty(t, r.ran())
}

func TestR010_HeadAndTailAreParameters(t *testing.T) {
	r := newRig(t)
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 10", "head": 2}).Text, "1\n2\n\nWall"))
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 10", "tail": 2}).Text, "9\n10\n\nWall"))
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 10", "head": 5, "tail": 2}).Text, "4\n5\n\nWall"))
}

func TestR011_CallsOfOneSessionNeverOverlap(t *testing.T) {
	r := newRig(t)
	ends := make(chan dialect.Result, 3)
	for range 3 { // two at a time would find the directory of the other
		r.beside.Go(func() { ends <- r.bash(args{"command": "mkdir here && sleep 0.05 && rmdir here"}) })
	}
	for range 3 {
		result := <-ends
		require.False(t, result.IsError, result.Text)
	}
	require.Contains(t, string(r.Tools()[0].Schema), `"additionalProperties":false`)
	require.Contains(t, r.bash(`{"command":"true","surprise":1}`).Text, "surprise")
}

// Each call is wrong in two ways: what is said is of the earlier step.
func TestR012_TheStepsHaveTheirOrder(t *testing.T) {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	require.Equal(t, []string{"env", "limits", "cd", "async", "intercept", "urls", "cwd", "timeout", "path"}, names)

	r := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read"} })
	url, env := "cat artifact://x", args{"1": ""}
	for _, c := range []struct {
		call args
		want string
	}{
		{args{"command": url, "env": env, "async": true, "cwd": "/nowhere"}, "Invalid bash env name: 1"},
		{args{"command": "cd /nowhere && " + url, "async": true}, "Async bash execution is disabled"},
		{args{"command": "cd /nowhere && " + url}, "Blocked: "},
		{args{"command": url + " | head -5", "cwd": "/nowhere"}, "Blocked: "},
		{args{"command": "ls artifact://x", "cwd": "/nowhere"}, "artifact://x"},
		{args{"command": "cd /nowhere && ls", "timeout": 9999}, "Working directory does not exist: /nowhere"},
	} {
		result := r.bash(c.call)
		require.True(t, result.IsError)
		require.Contains(t, result.Text, c.want, c.call)
	}
	require.Empty(t, r.ran())
	_, err := r.store.Find("0")
	require.Error(t, err, "no artifact was allocated")
}

func TestR013_ThePathIsChosen(t *testing.T) {
	for _, c := range []struct {
		name string
		at   callContext
		want path
	}{
		{"async outranks all", callContext{async: true, auto: true, manager: true, client: true, pty: true, eligible: true}, asJob},
		{"automatic outranks the client", callContext{auto: true, manager: true, client: true}, asAutoJob},
		{"automatic needs a manager", callContext{auto: true, client: true}, onClient},
		{"a terminal is not put in the background", callContext{auto: true, manager: true, pty: true, eligible: true}, onPTY},
		{"client", callContext{client: true, eligible: true}, onClient},
		{"the client has no terminal of ours", callContext{client: true, pty: true, eligible: true}, onPTY},
		{"a terminal that cannot be", callContext{pty: true}, inShell},
		{"nothing", callContext{eligible: true}, inShell},
	} {
		require.Equal(t, c.want, choose(c.at), c.name)
	}
	client := &playedClient{end: ClientEnd{TerminalID: "t7", Output: "there\n", ExitCode: new(int)}}
	r := newRig(t, func(o *Options, _ *JobsOptions) { o.Client = client })
	result := r.bash(args{"command": "echo here"})
	require.True(t, strings.HasPrefix(result.Text, "there\n"), result.Text)
	require.Equal(t, "t7", details(t, result).TerminalID)
	require.Equal(t, []string{"/bin/bash", "-c", "echo here"}, client.got.Argv)
	r.bash(args{"command": "yes | head -n 2"})
	require.Equal(t, "yes | head -n 2", client.got.Argv[2], "nothing else ends it in the client")
	require.Empty(t, r.ran())
}

type playedClient struct {
	got ClientRun
	end ClientEnd
}

func (p *playedClient) Run(_ context.Context, r ClientRun, update func(string, string)) (ClientEnd, error) {
	p.got = r
	update("", p.end.TerminalID)
	return p.end, nil
}

func TestR014_ACallIsShownAsItWouldBeTyped(t *testing.T) {
	p := Params{Command: "make", Env: map[string]string{"B": "1", "A": "a\"b\\c\nd\re\tf$g`h"}}
	require.Equal(t, `$ A="a\"b\\c\nd\re\tf\$g`+"\\`"+`h" B="1" make`, CommandLine(p, "/s"))
	p = Params{Command: "make", Cwd: "/x"}
	require.Equal(t, "$ cd /x && make", CommandLine(p, "/s"))
	require.Equal(t, "$ make", CommandLine(p, "/x"))
}

// A call waits for its turn no longer than its caller.
func TestATurnIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		s.turn <- struct{}{}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.ErrorIs(t, s.takeTurn(ctx), context.DeadlineExceeded)
	})
}
