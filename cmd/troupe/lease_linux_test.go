package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/messages"
)

// marked are the processes of a test's trees.
func marked(mark string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(markVar+"="+mark+"\x00")) && !bytes.Contains(text, []byte(lesseeVar+"=")) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// treeSize is how many processes a deep tree has at least.
const treeSize = 6

// A client is killed that leased its scope: nothing is left of what it ran, but what a
// person has promoted, with all of its tree.
func TestFaultLesseeIsKilled(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		t.Run(fmt.Sprintf("a job is kept %v", keeps), func(t *testing.T) {
			t.Parallel()
			m := begins(t)
			mark := m.file("mark")
			p := program(t)
			p.Path, p.Args = os.Args[0], []string{"lessee"}
			p.Env = append(p.Env, lesseeVar+"="+m.socket(), markVar+"="+mark)
			p.start()
			one, two, front := messages.JobID(p.line()), messages.JobID(p.line()), messages.JobID(p.line())
			settles(t, "processes that have not begun", 0, func() int { return max(3*treeSize-len(marked(mark)), 0) })
			if keeps {
				promoted, err := host.Ask(t.Context(), m.client.Host(), messages.PromoteCommand{Job: one, Keep: true})
				require.NoError(t, err)
				require.True(t, promoted.Job.Kept())
			}
			p.send(syscall.SIGKILL)
			for _, id := range []messages.JobID{two, front} {
				require.Equal(t, messages.Cancelled, m.awaitEnd(id).End.Outcome)
			}
			if !keeps {
				require.Equal(t, messages.Cancelled, m.awaitEnd(one).End.Outcome)
				settles(t, "scopes", 0, func() int { return m.scopes(leased) })
				settles(t, "processes", 0, func() int { return len(marked(mark)) })
				return
			}
			settles(t, "sessions", 1, func() int { return m.sessions(leased) })
			settles(t, "processes", 2*treeSize-1, func() int { return len(marked(mark)) })
			require.GreaterOrEqual(t, len(marked(mark)), treeSize)
			m.runs(one)
			m.killed()
			m.again()
			require.True(t, m.runs(one).Kept())
			_, err := host.Ask(t.Context(), m.client.Host(), messages.StopCommand{Job: one, Grace: -1})
			require.NoError(t, err)
			settles(t, "processes", 0, func() int { return len(marked(mark)) })
		})
	}
}

// runs waits until a job is running. The keeper reports a start that was not recorded
// yet.
func (m *mortal) runs(id messages.JobID) (job messages.Record) {
	m.t.Helper()
	settles(m.t, "starts that are not told", 0, func() int {
		var err error
		job, err = m.find(id)
		require.NoError(m.t, err)
		return map[bool]int{true: 1, false: 0}[job.State == messages.Starting]
	})
	require.Equal(m.t, messages.Running, job.State)
	return job
}

func (m *mortal) scopes(path messages.ScopePath) int {
	m.t.Helper()
	list, err := host.Ask(m.t.Context(), m.client.Host(), messages.ListScopes{Path: path})
	require.NoError(m.t, err)
	return len(list.Scopes)
}

func (m *mortal) sessions(scope messages.ScopePath) int {
	m.t.Helper()
	list, err := host.Ask(m.t.Context(), m.client.Host(), messages.ListSessions{Scope: scope})
	require.NoError(m.t, err)
	return len(list.Sessions)
}

// A daemon that is killed, or ended in order, takes nothing of its clients' scopes along:
// they lease them again.
func TestFaultDaemonDiesUnderALease(t *testing.T) {
	t.Parallel()
	m := begins(t)
	lease, err := m.client.Lease(t.Context(), messages.OpenScope{Path: leased})
	require.NoError(t, err)
	job := m.run(messages.RunCommand{Scope: leased, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	for _, end := range []func(){m.dies, func() {
		_, err := host.Ask(t.Context(), m.client.Host(), messages.ShutdownNode{KeepJobs: true})
		require.NoError(t, err)
		<-m.ended
	}} {
		end()
		require.Error(t, lease.Wait())
		_, err = lease.End(t.Context(), messages.CloseScope{Path: leased})
		require.ErrorIs(t, err, client.ErrNoDaemon)
		m.again()
		lease, err = m.client.Lease(t.Context(), messages.OpenScope{Path: leased})
		require.NoError(t, err)
		m.runs(messages.JobID(job.UID))
	}
	left, err := lease.End(t.Context(), messages.CloseScope{Path: leased, Grace: -1})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{job.ID}, left.Jobs)
	require.Equal(t, messages.Cancelled, m.awaitEnd(job.ID).End.Outcome)
}

// A client that waits for a job when the daemon is killed, and repeats the request at the
// next one with the same key and ULID, gets the job that ran all the time (decision 013).
func TestFaultDaemonDiesUnderARun(t *testing.T) {
	t.Parallel()
	for _, open := range []*messages.SessionPlan{nil, {Backend: messages.BackendShell}} {
		m := begins(t)
		passes := gate(t, m.file("gate"))
		r := messages.RunCommand{
			UID: messages.UID(ulid.Make().String()), Key: "once", Session: "s", Open: open,
			Program: messages.Program{Text: "echo x >> " + m.file("ran") + "; read x < " + m.file("gate") + "; echo over; (exit 6)"},
		}
		known, broken := make(chan messages.JobID, 1), make(chan error, 1)
		go func() {
			_, err := m.client.Run(t.Context(), r, client.WithID(func(id messages.JobID) { known <- id }))
			broken <- err
		}()
		id := <-known
		settles(t, "runs that have not begun", 0, func() int {
			_, err := os.Stat(m.file("ran"))
			return map[bool]int{true: 0, false: 1}[err == nil]
		})
		m.dies()
		require.Error(t, <-broken)
		m.again()
		answered := make(chan messages.Record, 1)
		go func() {
			result, err := m.client.Run(t.Context(), r, client.WithText(100))
			if err == nil && result.Text.Text == "over\n" {
				answered <- result.Job
			}
			close(answered)
		}()
		passes()
		job := <-answered
		require.Equal(t, id, messages.JobID(job.UID))
		require.Equal(t, messages.Exited, job.End.Outcome)
		require.Equal(t, 6, job.End.Shell())
		text, err := os.ReadFile(m.file("ran"))
		require.NoError(t, err)
		require.Equal(t, "x\n", string(text))
	}
}
