package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
)

// A daemon is killed between two calls, while a call waits for a job, and while a call
// runs a command; the server starts it again. The jobs are there, each call gets its
// answer, and each end is reported once.
func TestFaultMCPDaemonDies(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(*testing.T, *mortal, *agent, killable){
		"between calls": diesBetweenCalls, "and a job ends without one": diesBeforeAnEnd, "over a wait": diesOverAWait, "over a run": diesOverARun,
	} {
		for _, revision := range []string{withSessions, withRounds} {
			t.Run(name+" "+revision, func(t *testing.T) {
				t.Parallel()
				m := begins(t)
				a := m.agent(revision, nil)
				dies(t, m, a, killable{gate(t, m.file("gate")), post(t, m.file("passed"))})
				require.Empty(t, a.run(params{"command": "true"}).Notifications)
				a.leaves()
			})
		}
	}
}

// killable is a command over which a daemon dies: what it waits for, and what tells
// that it is there.
type killable struct{ open, passed func() }

func diesBetweenCalls(t *testing.T, m *mortal, a *agent, at killable) {
	job := a.run(params{"command": "read x < gate; echo through; exit 5", "background": true})
	m.killed()
	require.Equal(t, job.JobID, mustCall[core.Jobs](a, "list", nil).Jobs[0].JobID)
	at.open()
	require.Equal(t, []core.Notice{{JobID: job.JobID, Command: job.Command, Outcome: "exited", ExitCode: 5, LastLine: "through"}}, withoutTimes(a.notices(1)))
	require.Equal(t, "through\n", mustCall[core.RunResult](a, "read", params{"job_id": job.JobID}).Output)
	require.Equal(t, "after\n", a.run(params{"command": "echo after"}).Output)
}

func diesBeforeAnEnd(t *testing.T, m *mortal, a *agent, at killable) {
	job := a.run(params{"command": "read x < gate; echo > passed; exit 5", "background": true})
	stops(t, a.server.Process.Pid) // else it starts one
	m.killed()
	at.open()
	at.passed()
	a.server.send(syscall.SIGCONT)
	require.Equal(t, job.JobID, a.notices(1)[0].JobID)
}

func diesOverAWait(t *testing.T, m *mortal, a *agent, at killable) {
	job := a.run(params{"command": "read x < gate; exit 5", "background": true})
	waited, failed := make(chan core.WaitResult, 1), make(chan error, 1)
	go func() {
		w, _, err := ask[core.WaitResult](t.Context(), a, "wait", params{"job_ids": []string{job.JobID}, "timeout_seconds": 55})
		waited <- w
		failed <- err
	}()
	settles(t, "daemons that nobody waits at", 0, func() int { return 3 - m.connections() }) // the lease, the facts, the wait
	m.killed()
	at.open()
	w := <-waited
	require.NoError(t, <-failed)
	require.True(t, w.Satisfied)
	require.Equal(t, 5, *w.Jobs[0].ExitCode)
}

func diesOverARun(t *testing.T, m *mortal, a *agent, at killable) {
	answer := a.begins(params{"command": "echo $$ >> ran; echo > passed; read x < gate; echo through; exit 5", "wait_seconds": 55})
	at.passed()
	m.killed()
	at.open()
	r := <-answer
	require.NoError(t, r.err)
	require.Equal(t, "through\n", r.Output)
	require.NotNil(t, r.ExitCode, fmt.Sprintf("%+v", r))
	require.Equal(t, 5, *r.ExitCode)
	require.Len(t, m.pidsIn(m.file("ran")), 1)
}

// connections are those that are open to the daemon.
func (m *mortal) connections() int {
	m.t.Helper()
	stats, err := m.client.Stats(m.t.Context())
	require.NoError(m.t, err)
	return stats.Connections - 1 // ours
}
