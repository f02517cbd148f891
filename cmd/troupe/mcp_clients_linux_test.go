package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/messages"
)

// withoutTimes removes from notices how long their jobs ran.
func withoutTimes(all []core.Notice) []core.Notice {
	for i := range all {
		all[i].DurationMS = 0
	}
	return all
}

// A client that turns numbers, booleans and lists into strings gets what it means. What is a
// string stays one.
func TestMCPUnderstandsStringsForOtherTypes(t *testing.T) {
	t.Parallel()
	a := serves(t, nil).agent(withRounds, nil)
	r := a.run(params{"argv": `["printf", "%s.", "5", "true"]`, "wait_seconds": "20", "rows": nil})
	require.Equal(t, "5.true.", r.Output)
	r = a.run(params{"command": "test -t 1 && stty size; echo $A", "pty": "true", "rows": "40", "cols": 100.0, "env": `{"A":"1"}`})
	require.Equal(t, "40 100\n1\n", r.Output)
	r = a.run(params{"command": "5", "name": "true", "background": "True"})
	require.Equal(t, []any{"5", "true", true}, []any{r.Command, r.Name, r.Background})
	require.True(t, a.ended("true").Jobs[0].Met)
	require.Equal(t, "seq", a.run(params{"command": "seq 9", "max_bytes": "4"}).Command[:3])
	require.Contains(t, a.refused("run", params{"command": "true", "rows": "tall"}), "rows is a string; it must be a whole number")
	require.Contains(t, a.refused("run", params{"argv": "seq 9"}), "argv is a string; it must be a list")
}

// A byte order mark before a message is no part of it.
func TestMCPPassesOverAByteOrderMark(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	d := serves(t, nil)
	w := d.scribe()
	w.line(fmt.Sprintf(mark+`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`, withSessions))
	require.Nil(t, w.hear().Error)
	w.line(mark + `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.line(mark + `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	require.Nil(t, w.hear().Error)

	p := d.port()
	body := fmt.Sprintf(mark+`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`, withSessions)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, bytes.NewBufferString(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := (&http.Client{Transport: bearer{p.token, ""}}).Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(said), `"serverInfo"`)
}

// A session on a terminal stays on it for calls that leave pty out.
func TestMCPSessionKeepsItsTerminal(t *testing.T) {
	t.Parallel()
	a := serves(t, nil).agent(withSessions, nil)
	const onTerminal = "[ -t 0 ] && [ -t 1 ] && echo it is; echo $V"
	require.Equal(t, "it is\n5\n", a.run(params{"command": "V=5; " + onTerminal, "session": "s", "pty": true}).Output)
	require.Equal(t, "it is\n5\n", a.run(params{"command": onTerminal, "session": "s"}).Output)
	asks := a.run(params{"command": "read -r x; echo got $x", "session": "s"})
	require.Equal(t, "input", asks.Waiting, "its input is open")
	require.Equal(t, []any{"exited", "s"}, func() []any {
		r := mustCall[core.RunResult](a, "write", params{"job_id": asks.JobID, "keys": "me{enter}", "wait_seconds": 55})
		return []any{r.Outcome, r.Session}
	}())
	require.Contains(t, a.refused("run", params{"command": "true", "session": "s", "pty": false}), "already open with the kind shell-pty")
	require.Equal(t, "\n", a.run(params{"command": onTerminal, "session": "other"}).Output)
}

// Ctrl-C interrupts on a terminal. On a pipe it is a byte, and the result names what
// interrupts.
func TestMCPCtrlCOnAPipe(t *testing.T) {
	t.Parallel()
	a := serves(t, nil).agent(withSessions, nil)
	for _, typed := range []params{{"text": "\x03"}, {"keys": "{ctrl+c}"}} {
		job := a.run(params{"command": "exec cat >/dev/null", "interactive": true, "background": true})
		typed["job_id"], typed["wait_seconds"] = job.JobID, 0
		require.Contains(t, mustCall[core.RunResult](a, "write", typed).Note, "stop with signal INT")
		mustCall[core.StopResult](a, "stop", params{"job_ids": []string{job.JobID}, "signal": "INT"})
		require.Equal(t, "INT", a.ended(job.JobID).Jobs[0].Signal)
	}
	job := a.run(params{"command": "exec cat >/dev/null", "pty": true})
	require.Equal(t, "input", job.Waiting)
	r := mustCall[core.RunResult](a, "write", params{"job_id": job.JobID, "text": "\x03", "wait_seconds": 55})
	require.Empty(t, r.Note)
	require.Equal(t, "INT", a.ended(job.JobID).Jobs[0].Signal)
}

// A wait that is longer than a call may last is cut, and the result says so.
func TestMCPSaysThatAWaitIsCut(t *testing.T) {
	t.Parallel()
	a := serves(t, nil).agent(withSessions, nil)
	const cut = "wait_seconds was cut to 55, the longest wait of a call"
	job := a.run(params{"command": "echo one; exec cat", "wait_seconds": 600, "interactive": true})
	require.Equal(t, cut+". it waits for input: write gives it some, and eof ends it", job.Note)
	require.Equal(t, cut, mustCall[core.RunResult](a, "read", params{"job_id": job.JobID, "from": 0, "wait_seconds": 56}).Note)
	require.Equal(t, cut, mustCall[core.RunResult](a, "write", params{"job_id": job.JobID, "eof": true, "wait_seconds": "1e3"}).Note)
	require.Equal(t, "timeout_seconds was cut to 55, the longest wait of a call", mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{job.JobID}, "timeout_seconds": 100}).Note)
	require.Empty(t, a.run(params{"command": "true", "wait_seconds": 55}).Note)
}

// A job that waits for its turn names the job that has it.
func TestMCPQueuedJobNamesTheOneBefore(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	open := gate(t, d.file("gate"))
	first := a.run(params{"command": "read x < gate", "session": "s", "background": true})
	second, text, err := ask[core.RunResult](t.Context(), a, "run", params{"command": "true", "session": "s", "background": true})
	require.NoError(t, err)
	require.Equal(t, []string{string(messages.Queued), first.JobID}, []string{second.State, second.QueuedAfter})
	require.Contains(t, text, fmt.Sprintf("job %s is queued after job %s, and has not begun", second.JobID, first.JobID))
	for _, job := range mustCall[core.Jobs](a, "list", nil).Jobs {
		require.Equal(t, job.JobID == second.JobID, job.QueuedAfter == first.JobID, job)
	}
	open()
	require.Empty(t, a.ended(second.JobID).Jobs[0].QueuedAfter)
}

// The notice of an end says how long the job ran, why it ended, and its last line.
func TestMCPNoticeSaysHowAJobEnded(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	job := a.run(params{"command": "echo first; echo the last line; exec sleep 600", "name": "server", "background": true})
	mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{"server"}, "pattern": "last", "timeout_seconds": 55})
	d.beside("stop", job.JobID).start().ends(0)
	n := a.notices(1)[0]
	require.Equal(t, []any{"cancelled", "a client", "the last line"}, []any{n.Outcome, n.Cause[:len("a client")], n.LastLine})
	require.Positive(t, n.DurationMS)
	open := gate(t, d.file("gate"))
	a.run(params{"command": "read x < gate; echo last; kill -9 $$", "background": true})
	open()
	n = a.notices(1)[0]
	require.Equal(t, []any{"signaled", "KILL", 137, "last"}, []any{n.Outcome, n.Signal, n.ExitCode, n.LastLine})
}

// What a result shows of an output is a parameter and a setting. A result that is cut says
// how to see the rest.
func TestMCPWindowOfAResult(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	server := d.server()
	server.Env = append(server.Env, d.configures("[mcp]\nshown = 1000\n"))
	a := server.speaks(withSessions, nil)
	r, text, err := ask[core.RunResult](t.Context(), a, "run", params{"command": "seq 2000", "name": "many"})
	require.NoError(t, err)
	require.Equal(t, 1000, len(r.Output))
	require.Contains(t, text, "the tool read shows the rest")
	require.Len(t, a.run(params{"command": "seq 2000", "max_bytes": 5000}).Output, 5000)
	require.Len(t, mustCall[core.RunResult](a, "read", params{"job_id": "many"}).Output, 1000)
	require.Len(t, mustCall[core.RunResult](a, "read", params{"job_id": "many", "from": 0, "max_bytes": 50}).Output, 50)
	_, text, err = ask[core.WaitResult](t.Context(), a, "wait", params{"job_ids": []string{"many"}, "max_bytes": 50})
	require.NoError(t, err)
	require.Contains(t, text, "[shown is the end; the tool read shows the rest]")
}
