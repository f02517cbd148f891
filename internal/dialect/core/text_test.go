package core

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// unsaid are the fields of a structure that its text need not say: the caller's own
// words, what says of itself that it is there, and what is said in other words.
var unsaid = []string{"description", "pid", "artifact", "duration_ms", "stream", "running", "background", "truncated", "alternate", "cause", "cwd", "code", "reason"}

// says checks that a text says what a structure says.
func says(t *testing.T, text string, structure any, but ...string) {
	t.Helper()
	b, err := json.Marshal(structure)
	require.NoError(t, err)
	var v any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				if !slices.Contains(unsaid, key) && !slices.Contains(but, key) {
					walk(at+"."+key, inner)
				}
			}
		case []any:
			for _, inner := range v {
				walk(at, inner)
			}
		case string:
			require.Contains(t, text, strings.TrimRight(v, "\n"), at)
		case json.Number:
			require.Contains(t, text, v.String(), at)
		}
	}
	walk("", v)
}

func code(n int) *int { return &n }

var told = ResultNotices{
	Note: "something happened", Notifications: []Notice{
		{JobID: "j71", Command: "make all", Outcome: "exited", ExitCode: 72},
		{JobID: "j73", Name: "server", Command: "serve", Outcome: "timed_out", ExitCode: 124},
		{JobID: "j74", Command: "x", Outcome: "signaled", ExitCode: 137},
		{JobID: "j75", Command: "y", Outcome: "lost", ExitCode: 125},
	},
}

// Each result says as a text what it says as a structure: a front end shows its model
// one of them.
func TestTextsSayWhatStructuresSay(t *testing.T) {
	worded := []string{"outcome", "state", "command", "outputs", "line", "lines", "bytes", "from", "next"}
	for name, r := range map[string]RunResult{
		"exited":   {JobRecord: JobRecord{JobID: "j1", Name: "build", State: "finished", Outcome: "exited", ExitCode: code(41)}, OutputExcerpt: OutputExcerpt{Output: "hello\n", Bytes: 6, Next: 6}, ResultNotices: told},
		"signaled": {JobRecord: JobRecord{JobID: "j2", State: "finished", Outcome: "signaled", ExitCode: code(139), Signal: "SEGV", Flags: []string{"core_dumped"}}},
		"timed out": {JobRecord: JobRecord{
			JobID: "j3", State: "finished", Outcome: "timed_out", ExitCode: code(124), Signal: "KILL", Cause: "its deadline", Survivors: []int{4711, 4712},
		}},
		"cancelled":       {JobRecord: JobRecord{JobID: "j4", State: "finished", Outcome: "cancelled", ExitCode: code(130), Cause: "a client: it was too slow"}},
		"failed to start": {JobRecord: JobRecord{JobID: "j5", State: "finished", Outcome: "failed_to_start", ExitCode: code(127), Error: &Error{"exec_failed", "program", "there is no such program", "look at PATH"}}},
		"lost":            {JobRecord: JobRecord{JobID: "j6", State: "finished", Outcome: "lost", ExitCode: code(125)}},
		"gaps":            {JobRecord: JobRecord{JobID: "j7", State: "finished", Outcome: "exited", ExitCode: code(0)}, OutputExcerpt: OutputExcerpt{Output: "x", Missing: []Gap{{100, 20100}}}},
	} {
		t.Run(name, func(t *testing.T) { says(t, r.Text(), r, worded...) })
	}
	require.Contains(t, RunResult{JobRecord: JobRecord{Outcome: "cancelled", Cause: "a client: why"}}.Text(), "a client: why")
	running := JobRecord{JobID: "j8", State: "running", Running: true, Session: "work", Cwd: "/srv/app"}
	says(t, RunResult{JobRecord: running, OutputExcerpt: OutputExcerpt{Output: "some", Next: 4, Bytes: 4}}.Text(), RunResult{JobRecord: running, OutputExcerpt: OutputExcerpt{Output: "some", Next: 4, Bytes: 4}}, "from")
	require.Contains(t, RunResult{JobRecord: running}.Text(), "/srv/app")
	cut := RunResult{JobRecord: running, OutputExcerpt: OutputExcerpt{Output: "…", Truncated: true, From: 1000, Next: 2000, Bytes: 3000, Line: 17, Lines: 99, Stream: "stderr"}}
	says(t, cut.Text(), cut)
	require.Contains(t, cut.Text(), "stderr")
	for waiting, want := range map[string]string{"input": "waits for input", "secret": "waits for a password"} {
		require.Contains(t, RunResult{JobRecord: JobRecord{JobID: "j9", Running: true, Waiting: waiting}}.Text(), want)
	}
	row := JobRecord{JobID: "j10", Name: "n", Command: "make", State: "queued", Running: true, Background: true, Outputs: []Stream{{Stream: "stdout", Bytes: 12345}}}
	says(t, Jobs{Jobs: []JobRecord{row}, Sessions: []Session{{"work", "bash", "/srv", 3, 5}}, ResultNotices: told}.Text(), Jobs{Jobs: []JobRecord{row}, Sessions: []Session{{"work", "bash", "/srv", 3, 5}}, ResultNotices: told}, "outcome")
	hosts := Jobs{Jobs: []JobRecord{row}, Tasks: []Task{{"agent-7", "agent", "failed", true, "reads the logs"}}}
	says(t, hosts.Text(), hosts, "outcome", "ended")
	require.Contains(t, hosts.Text(), "task agent-7 (agent): failed, ended: reads the logs\n")
	says(t, StopResult{Jobs: []JobRecord{row}, Survivors: []int{99}, ResultNotices: told}.Text(), StopResult{Jobs: []JobRecord{row}, Survivors: []int{99}, ResultNotices: told}, "outcome")
	closed := StopResult{Jobs: []JobRecord{}, Closed: "build"}
	require.Equal(t, "the session build was closed\n", closed.Text())
	seen := WaitResult{Satisfied: true, Jobs: []WaitedJob{{JobRecord: row, Met: true, Output: "done\n"}}, ResultNotices: told}
	says(t, seen.Text(), seen, "outcome")
	require.Contains(t, seen.Text(), "* job j10")
	screen := Screen{JobID: "j11", Screen: []string{"top", "", "bottom"}, Row: 7, Col: 8, Rows: 24, Cols: 80, Alternate: true, Title: "vim", ResultNotices: told}
	says(t, screen.Text(), screen, "outcome")
	require.Contains(t, screen.Text(), "top\n\nbottom\n")
	says(t, Fail(&messages.Error{Code: messages.Busy, Reason: "calls", Message: "too many", Hint: "wait"}).Text(told), told, "outcome")
	require.Equal(t, "too many (busy, calls)\nwait\n", Fail(&messages.Error{Code: messages.Busy, Reason: "calls", Message: "too many", Hint: "wait"}).Text(ResultNotices{}))
}

// How a wait went is said in words.
func TestWaitsSayHowTheyWent(t *testing.T) {
	for want, a := range map[string]WaitResult{
		"what was waited for has come": {Satisfied: true}, "you can wait again": {TimedOut: true}, "it can no longer come": {Impossible: true},
	} {
		require.Contains(t, a.Text(), want)
	}
}

// A command within a line is one line, and not long.
func TestPreview(t *testing.T) {
	for given, want := range map[string]string{
		"make": "make", "  a\nb": "a …", strings.Repeat("日", 200): strings.Repeat("日", 120) + "…", "": "", "one\n": "one",
	} {
		require.Equal(t, want, Preview(given))
	}
	require.NotContains(t, Notice{Command: "a\nb\nc"}.line(), "\n")
	require.Equal(t, []string{"0.25 s", "2m0s"}, []string{duration(250e6), duration(120e9)}, "durations")
}

// A job that waits for its turn has not run for any time.
func TestTheTextOfAJobThatWaitsForItsTurn(t *testing.T) {
	require.Equal(t, "job j1 is queued, and has not begun: make\n", JobRecord{JobID: "j1", Command: "make", State: "queued", Running: true, Background: true}.row())
}

// A pipe that hides a failure is noted, with what hides it.
func TestAPipeThatHidesAStatus(t *testing.T) {
	code := 0
	r := Tell(messages.Record{
		ID: "j1", State: messages.Finished, Backend: messages.BackendShell, Flags: []messages.Flag{messages.FlagErrexit},
		End: messages.End{Outcome: messages.Exited, Code: &code, Pipe: []int{141, 1, 0}},
	}, time.Time{})
	require.Equal(t, []int{141, 1, 0}, r.Pipe)
	text := strings.Join(r.details(), "\n")
	require.Contains(t, text, "note: the pipe hides a status: 141 | 1 | 0")
	require.Contains(t, text, "set -e ended the command; the shell of the session goes on")
	require.NotContains(t, strings.Join(Tell(messages.Record{}, time.Time{}).details(), "\n"), "pipe")
}
