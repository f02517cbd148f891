package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/test/need"
	"troupe/messages"
)

// Without a daemon the server starts one. The user can list, join and stop the jobs of
// the agent like any job, and the agent receives their ends.
func TestMCPAPersonIsThere(t *testing.T) {
	t.Parallel()
	p := program(t)
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	a := p.agent(withSessions, nil)
	asks := a.run(params{"command": "echo name?; read -r x; echo \"got $x\"; exit 3", "interactive": true, "background": true, "description": "asks"})
	waits := a.run(params{"command": "echo begun; exec sleep 600", "background": true})

	ps := p.beside("ps", "--json").start()
	var list struct{ Jobs []struct{ Scope string } }
	require.NoError(t, json.Unmarshal([]byte(ps.rest()), &list))
	ps.ends(0)
	require.Len(t, list.Jobs, 2)
	for _, job := range list.Jobs {
		require.Regexp(t, `^mcp/day-agent-\w{6}$`, job.Scope)
	}
	joins := p.beside("attach", asks.JobID)
	joins.Stdin = strings.NewReader("me\n")
	joins.start()
	require.Contains(t, joins.rest(), "got me\n")
	joins.ends(3)
	p.beside("stop", waits.JobID).start().ends(0)
	told := map[string]core.Notice{}
	for _, n := range a.notices(2) {
		told[n.JobID] = n
	}
	require.Equal(t, 3, told[asks.JobID].ExitCode)
	require.Equal(t, "cancelled", told[waits.JobID].Outcome)
	read := mustCall[core.RunResult](a, "read", params{"job_id": waits.JobID})
	require.Contains(t, read.Cause, "a client")
	a.leaves()
}

// The agent lets one of its own calls go on, which answers at once.
func TestMCPPromotesItsOwn(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, revision := range []string{withSessions, withRounds} {
		a := d.agent(revision, nil)
		begun := post(t, d.file("begun"+revision))
		answer := a.begins(params{"command": "echo > begun" + revision + "; exec sleep 600", "name": "server", "wait_seconds": 55})
		begun()
		promoted := mustCall[core.RunResult](a, "promote", params{"job_id": "server"})
		require.True(t, promoted.Running)
		require.Contains(t, promoted.Note, "goes on in the background; a later result reports its end")
		r := <-answer
		require.NoError(t, r.err)
		require.True(t, r.Running && r.Background)
		require.NotContains(t, r.Flags, string(messages.FlagKept), "it ends with the client")
		a.leaves()
		require.False(t, alive(strconv.Itoa(promoted.PID)))
	}
}

// A result carries its output once, and only that is long.
func TestMCPResultCarriesItsOutputOnce(t *testing.T) {
	t.Parallel()
	a := serves(t, nil).agent(withRounds, nil)
	for _, args := range []params{{"command": "seq 3500"}, {"command": "seq 20000"}, {"command": "seq 3500; read -r x", "interactive": true}} {
		r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run", Arguments: args})
		require.NoError(t, err)
		whole, err := json.Marshal(r)
		require.NoError(t, err)
		text, err := json.Marshal(r.Content[0].(*sdk.TextContent).Text)
		require.NoError(t, err)
		require.Greater(t, len(text), 16_000)
		require.Less(t, len(whole)-len(text), 1_500, args)
	}
}

// A wait is for what it names: a port, a pattern, quiet, input; and when none of it can
// come any more it says so.
func TestMCPWaitsForWhatItNames(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	d := serves(t, nil)
	a := d.agent(withRounds, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0") // the port is free after Close
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	listens := a.run(params{"command": fmt.Sprintf("exec python3 -m http.server --bind 127.0.0.1 %d", port), "background": true})
	talks := a.run(params{"command": "echo the first; echo the second; read -r x; exit 3", "interactive": true, "background": true})
	waits := func(args params) core.WaitResult {
		args["timeout_seconds"] = 55
		return mustCall[core.WaitResult](a, "wait", args)
	}
	require.True(t, waits(params{"job_ids": []string{listens.JobID}, "port": port}).Satisfied)
	w := waits(params{"job_ids": []string{talks.JobID}, "pattern": "(?m)^the sec"})
	require.True(t, w.Satisfied)
	require.Equal(t, "the first\nthe second\n", w.Jobs[0].Output)
	require.True(t, waits(params{"job_ids": []string{talks.JobID}, "until": "input"}).Satisfied)
	require.True(t, waits(params{"job_ids": []string{talks.JobID}, "quiet_seconds": 0.1}).Satisfied)
	mustCall[core.RunResult](a, "write", params{"job_id": talks.JobID, "eof": true, "wait_seconds": 55})
	w = waits(params{"job_ids": []string{talks.JobID}, "pattern": "never"})
	require.True(t, w.Impossible && !w.Satisfied && !w.TimedOut)
}

// What follows a byte is waited for, and is there when it comes; a paste is one for the
// program; a deadline, a signal and the end of a session do what they say.
func TestMCPToolsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	open := gate(t, d.file("gate"))
	one := a.run(params{"command": "echo one; read x < gate; echo two; exec sleep 600", "background": true})
	mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{one.JobID}, "pattern": "one", "timeout_seconds": 55})
	job := mustCall[core.RunResult](a, "read", params{"job_id": one.JobID})
	require.True(t, job.Running)
	require.Equal(t, "one\n", job.Output)
	read := func(wait float64) core.RunResult {
		return mustCall[core.RunResult](a, "read", params{"job_id": job.JobID, "from": job.Next, "wait_seconds": wait})
	}
	require.Empty(t, read(0.1).Output)
	open()
	require.Equal(t, "two\n", read(55).Output)

	pastes := a.run(params{"command": `stty -echo -icanon min 21; printf '\033[?2004hready'; dd bs=21 count=1 2>/dev/null | cat -v; echo; exit 5`, "pty": true, "background": true})
	mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{pastes.JobID}, "pattern": "ready", "timeout_seconds": 55})
	mustCall[core.RunResult](a, "write", params{"job_id": pastes.JobID, "paste": "two\nlines", "wait_seconds": 0})
	ended := a.ended(pastes.JobID).Jobs[0]
	require.Equal(t, 5, *ended.ExitCode)
	require.Contains(t, ended.Output, "^[[200~two")
	require.Contains(t, ended.Output, "lines^[[201~")

	late := a.run(params{"command": "echo begun; sleep 600", "timeout_seconds": 1, "wait_seconds": 55})
	require.Equal(t, []any{"timed_out", 124, "begun\n"}, []any{late.Outcome, *late.ExitCode, late.Output})

	traps := a.run(params{"command": "trap 'echo heard; exit 6' USR1; echo begun; while :; do sleep 600 & wait $!; done", "background": true})
	mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{traps.JobID}, "pattern": "begun", "timeout_seconds": 55})
	sent := mustCall[core.StopResult](a, "stop", params{"job_ids": []string{traps.JobID}, "signal": "USR1"})
	require.Contains(t, sent.Note, "the signal was sent")
	ended = a.ended(traps.JobID).Jobs[0]
	require.Equal(t, []any{"exited", 6, "begun\nheard\n"}, []any{ended.Outcome, *ended.ExitCode, ended.Output})

	shell := strings.TrimSpace(a.run(params{"command": "echo $$", "session": "s"}).Output)
	begun := post(t, d.file("begun"))
	answer := a.begins(params{"command": "echo > begun; sleep 600", "session": "s", "wait_seconds": 55})
	begun()
	stopped := mustCall[core.StopResult](a, "stop", params{"session": "s", "grace_seconds": 0})
	require.Len(t, stopped.Jobs, 1)
	require.Equal(t, "s", stopped.Closed)
	require.Empty(t, stopped.Survivors)
	require.False(t, alive(shell))
	r := <-answer
	require.NoError(t, r.err)
	require.Equal(t, "cancelled", r.Outcome)
	require.Empty(t, mustCall[core.Jobs](a, "list", nil).Sessions)
}

// Of a long output a result shows the end, says so, and has links to all of it; a
// resource is a MiB of it at most, and says where to go on. The record that is a
// resource is the one that a person is shown.
func TestMCPLinksToAllOfIt(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	const size = 3 << 20
	for _, revision := range []string{withSessions, withRounds} {
		a := d.agent(revision, nil)
		r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run", Arguments: params{"command": fmt.Sprintf("yes | head -c %d", size), "max_bytes": 100, "wait_seconds": 55}})
		require.NoError(t, err)
		require.Len(t, r.Content, 2)
		text := r.Content[0].(*sdk.TextContent).Text
		require.Contains(t, text, fmt.Sprintf("shown: bytes %d to %d of %d", size-100, size, size))
		link := r.Content[1].(*sdk.ResourceLink)
		require.EqualValues(t, size, *link.Size)
		part := a.resource(link.URI)
		require.Len(t, part.Text, 1<<20)
		require.EqualValues(t, []any{1 << 20, size}, []any{int(part.Meta["troupe/next"].(float64)), int(part.Meta["troupe/size"].(float64))})
		part = a.resource(link.URI + "?offset=1&limit=2000000")
		require.Len(t, part.Text, 1<<20)

		id, _, _ := strings.Cut(strings.TrimPrefix(link.URI, "artifact://"), "/")
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(a.resource("job://"+id).Text), &record))
		require.Equal(t, d.record(id), record)
		short, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run", Arguments: params{"command": "echo short"}})
		require.NoError(t, err)
		require.Len(t, short.Content, 1)
	}
}
