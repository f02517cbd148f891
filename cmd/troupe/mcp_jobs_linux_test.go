package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/dialect/core"
	"troupe/internal/test/need"
	"troupe/messages"
)

// reply is what a call answers that something else is done beside.
type reply struct {
	core.RunResult
	text string
	err  error
}

// begins calls run, and goes on.
func (a *agent) begins(args params) <-chan reply {
	answered := make(chan reply, 1)
	go func() {
		r, text, err := ask[core.RunResult](a.t.Context(), a, "run", args)
		answered <- reply{r, text, err}
	}()
	return answered
}

// A user promotes a command while its call waits: the call answers at once and says so.
// The end is reported once.
func TestMCPPromotedByAPerson(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, revision := range []string{withSessions, withRounds} {
		t.Run(revision, func(t *testing.T) {
			a := d.agent(revision, nil)
			fifo := d.file("gate" + revision)
			open, passed := gate(t, fifo), post(t, fifo+"-begun")
			answer := a.begins(params{
				"command": fmt.Sprintf("echo begun; echo > %[1]s-begun; read x < %[1]s; echo done; exit 4", fifo), "name": "build-" + revision, "wait_seconds": 55,
			})
			passed()
			var job string
			eventually(t, "the job does not run", func() bool { // its output can come before the news of its start
				live := mustCall[core.Jobs](a, "list", nil).Jobs[0]
				job = live.JobID
				return live.State == string(messages.Running)
			})
			d.beside("promote", job).start().ends(0)
			r := <-answer
			require.NoError(t, r.err)
			require.True(t, r.Running && r.Background)
			require.Nil(t, r.ExitCode)
			require.Equal(t, job, r.JobID)
			require.Equal(t, "begun\n", r.Output)
			require.Contains(t, r.Note, "a person has moved it to the background")
			require.Contains(t, r.text, r.Note)
			require.Contains(t, r.text, "running in the background")
			require.Contains(t, r.Flags, string(messages.FlagKept))
			require.Empty(t, a.run(params{"command": "true"}).Notifications)
			open()
			d.beside("wait", job).start().ends(4)
			want := []core.Notice{{JobID: job, Name: "build-" + revision, Command: r.Command, Outcome: "exited", ExitCode: 4, LastLine: "done"}}
			require.Equal(t, want, withoutTimes(a.notices(1)))
			require.Empty(t, a.run(params{"command": "true"}).Notifications)
			read := mustCall[core.RunResult](a, "read", params{"job_id": "build-" + revision})
			require.Equal(t, "begun\ndone\n", read.Output)
			require.Equal(t, 4, *read.ExitCode)
			a.leaves()
		})
	}
}

// A name of a client means its own live job, whatever has that name elsewhere. A second live
// job of the name is refused, or replaces the first.
func TestMCPNamesOfJobs(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a, b := d.agent(withSessions, nil), d.agent(withSessions, nil)
	d.beside("run", "-b", "--name", "svc", "exec sleep 600").start().ends(0)
	first := a.run(params{"command": "echo a; exec sleep 600", "name": "svc", "background": true}).JobID
	other := b.run(params{"command": "echo b; exec sleep 600", "name": "svc", "background": true}).JobID
	for _, tool := range []string{"read", "screen", "promote", "write"} {
		require.NotContains(t, a.refusedOr(tool, params{"job_id": "svc"}), "live jobs have the name", tool)
	}
	require.Equal(t, first, mustCall[core.RunResult](a, "read", params{"job_id": "svc"}).JobID)
	require.Equal(t, other, mustCall[core.RunResult](b, "read", params{"job_id": "svc"}).JobID)
	require.Contains(t, a.refused("run", params{"command": "true", "name": "svc"}), "the name svc is in use by live job "+first)
	require.Contains(t, a.refused("run", params{"command": "true", "replace": true}), "replace has no name")
	next := a.run(params{"command": "echo next; exec sleep 600", "name": "svc", "background": true, "replace": true}).JobID
	require.NotEqual(t, first, next)
	require.Equal(t, next, mustCall[core.RunResult](a, "read", params{"job_id": "svc"}).JobID)
	require.Equal(t, "cancelled", mustCall[core.RunResult](a, "read", params{"job_id": first}).Outcome)
	last := a.run(params{"command": "echo last; exit 5", "name": "svc", "replace": true, "wait_seconds": 55})
	require.Equal(t, "last\n", last.Output)
	require.Equal(t, 5, *last.ExitCode)
	require.Equal(t, last.JobID, mustCall[core.RunResult](a, "read", params{"job_id": "svc"}).JobID) // of its own that have ended the newest
	_, _, err := ask[any](t.Context(), b, "stop", params{"job_ids": []string{"svc"}})
	require.NoError(t, err)
	d.beside("show", "svc").start().ends(0) // one of that name lives
	a.leaves()
	b.leaves()
}

// refusedOr returns the text of a tool's answer, or of its refusal.
func (a *agent) refusedOr(tool string, args params) string {
	a.t.Helper()
	_, text, _ := ask[any](a.t.Context(), a, tool, args)
	return text
}

// notices calls a tool without notices of its own until so many notices have come: the
// notice of an end follows the answer of a wait for it.
func (a *agent) notices(n int) (all []core.Notice) {
	a.t.Helper()
	settles(a.t, "notices that have not come", 0, func() int {
		all = append(all, mustCall[core.Jobs](a, "list", nil).Notifications...)
		return n - len(all)
	})
	require.Len(a.t, all, n)
	return all
}

// A model talks to a program that reads line by line: what it writes is answered.
func TestMCPTalksToAProgram(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	r := a.run(params{"command": "python3 -q", "pty": true, "wait_seconds": 55})
	require.True(t, r.Running)
	require.Equal(t, "input", r.Waiting)
	require.Contains(t, r.Output, ">>>")
	say := func(args params) core.RunResult {
		args["job_id"] = r.JobID
		return mustCall[core.RunResult](a, "write", args)
	}
	said := say(params{"text": "6*7\n"})
	require.Contains(t, said.Output, "42\n>>>")
	require.Equal(t, r.Bytes, said.From)
	said = say(params{"keys": "print('a' + 'b'){enter}"})
	require.Contains(t, said.Output, "ab\n>>>")
	require.Contains(t, mustCall[core.Screen](a, "screen", params{"job_id": r.JobID}).Screen, "42")
	said = say(params{"keys": "import time; print('slow'); time.sleep(600){enter}", "wait_seconds": 1})
	require.Contains(t, said.Output, "slow\n")
	said = say(params{"keys": "{ctrl+c}"})
	require.Contains(t, said.Output, "KeyboardInterrupt")
	if said = say(params{"keys": "exit(7){enter}", "wait_seconds": 55}); said.Running { // its echo is an answer
		require.Equal(t, 7, *a.ended(r.JobID).Jobs[0].ExitCode)
	} else {
		require.Equal(t, 7, *said.ExitCode)
	}
	require.Empty(t, mustCall[core.Jobs](a, "list", nil).Notifications)
}

// A long output is read in pages, which are what was written.
func TestMCPReadsALongOutput(t *testing.T) {
	t.Parallel()
	n, page := 25_000_000, int64(messages.MaxViewBytes) // 214 MB
	apart := 12 * page
	if need.Soak() {
		apart = page
	}
	m := begins(t)
	a := m.agent(withSessions, nil)
	r := a.run(params{"command": fmt.Sprint("seq 1 ", n), "wait_seconds": 55})
	if r.Running {
		a.ended(r.JobID)
	}
	read := func(from int64) core.RunResult {
		p := mustCall[core.RunResult](a, "read", params{"job_id": r.JobID, "from": from, "max_bytes": page})
		require.Equal(t, from, p.From)
		require.Equal(t, from+int64(len(p.Output)), p.Next)
		require.Equal(t, p.Next < p.Bytes, p.Truncated)
		return p
	}
	got, want, size := sha256.New(), sha256.New(), read(0).Bytes
	for from := int64(0); from < size; from += apart {
		_, _ = io.WriteString(got, read(from).Output)
		out, err := m.client.Output(t.Context(), messages.JobID(r.JobID), client.Range{Offset: from, Limit: page})
		require.NoError(t, err)
		_, err = io.Copy(want, out)
		require.NoError(t, err)
		_ = out.Close()
	}
	require.Equal(t, sum(want), sum(got))
	require.Equal(t, fmt.Sprintf("\n%d\n", n), read(size-int64(len(fmt.Sprint(n)))-2).Output)
	if apart == page {
		require.Equal(t, sequenceSum(n), sum(got))
	}

	lines := int64(100)
	for _, line := range []int64{1, 2, 777, 1_000_000, 12_345_678, int64(n) - 50} {
		p := mustCall[core.RunResult](a, "read", params{"job_id": r.JobID, "line": line, "limit": lines})
		var text strings.Builder
		for i := line; i < line+lines && i <= int64(n); i++ {
			fmt.Fprintln(&text, i)
		}
		require.Equal(t, text.String(), p.Output)
		require.Equal(t, line, p.Line)
		require.Equal(t, int64(n), p.Lines)
	}
	require.Equal(t, "1\n2\n", mustCall[core.RunResult](a, "read", params{"job_id": r.JobID, "head": 2}).Output)
	require.Equal(t, fmt.Sprintf("%d\n%d\n", n-1, n), mustCall[core.RunResult](a, "read", params{"job_id": r.JobID, "tail": 2}).Output)
}

// A wait for any of many jobs returns the one that has ended, and later all.
func TestMCPWaitsForAny(t *testing.T) {
	t.Parallel()
	const many = 20
	d := serves(t, nil)
	a := d.agent(withRounds, nil)
	var jobs []string
	var opens []func()
	for i := range many {
		fifo := d.file(fmt.Sprint("gate", i))
		opens = append(opens, gate(t, fifo))
		r := a.run(params{"command": fmt.Sprintf("read x < %s; echo job %d; exit %d", fifo, i, i), "background": true})
		require.True(t, r.Running)
		jobs = append(jobs, r.JobID)
	}
	left := map[string]bool{}
	for _, job := range jobs {
		left[job] = true
	}
	w := mustCall[core.WaitResult](a, "wait", params{"job_ids": jobs, "any": true, "timeout_seconds": 0.1})
	require.True(t, w.TimedOut && !w.Satisfied)
	for _, i := range []int{13, 0, 19} {
		opens[i]()
		w := mustCall[core.WaitResult](a, "wait", params{"any": true, "timeout_seconds": 55})
		require.True(t, w.Satisfied)
		met := 0
		for _, seen := range w.Jobs {
			if !seen.Met {
				require.Nil(t, seen.ExitCode, seen)
				continue
			}
			met++
			require.Equal(t, jobs[i], seen.JobID)
			require.Equal(t, i, *seen.ExitCode)
			require.Equal(t, fmt.Sprintf("job %d\n", i), seen.Output)
			delete(left, seen.JobID)
		}
		require.Equal(t, 1, met)
		require.Empty(t, w.Notifications)
	}
	for i, open := range opens {
		if left[jobs[i]] {
			open()
		}
	}
	w = mustCall[core.WaitResult](a, "wait", params{"job_ids": jobs, "timeout_seconds": 55})
	require.True(t, w.Satisfied)
	require.Len(t, w.Jobs, many)
	require.Empty(t, w.Notifications)
	for i, seen := range w.Jobs {
		require.Equal(t, i, *seen.ExitCode)
	}
	require.Empty(t, mustCall[core.Jobs](a, "list", nil).Notifications)
}

// A run that waits for a lock and for other jobs says for what, starts by itself, and its end is
// reported.
func TestMCPRunsWait(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	fifo := d.file("gate")
	open, _ := gate(t, fifo), post(t, fifo+"-begun")
	first := a.run(params{"command": "read x < " + fifo, "lock": []string{"build"}, "background": true})
	require.Empty(t, first.WaitsFor)
	r, text, err := ask[core.RunResult](t.Context(), a, "run", params{"command": "echo built", "lock": []string{"build"}, "after": []string{first.JobID + ":any"}, "background": true})
	require.NoError(t, err)
	want := []string{first.JobID + ":any", "lock build (" + first.JobID + ")"}
	require.Equal(t, want, r.WaitsFor)
	require.Contains(t, text, "job "+r.JobID+" is queued and has not begun: it waits for "+strings.Join(want, ", "))
	require.Equal(t, want, mustCall[core.Jobs](a, "list", nil).Jobs[1].WaitsFor)
	require.Contains(t, a.refused("run", params{"command": "true", "lock": []string{"build:0"}}), "write NAME, or NAME:N")
	require.Contains(t, a.refused("run", params{"command": "true", "queue": "none"}), "there is no queue none")
	other := d.agent(withSessions, nil).run(params{"command": "exec sleep 600", "background": true})
	require.Contains(t, a.refused("run", params{"command": "true", "after": []string{other.JobID}}), other.JobID, "it is of another client")
	open()
	a.ended(r.JobID)
	require.Equal(t, "built\n", mustCall[core.RunResult](a, "read", params{"job_id": r.JobID}).Output)
}
