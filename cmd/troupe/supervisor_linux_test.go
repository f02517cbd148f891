package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// sendAllSignals is a text of a shell that sends each signal but KILL and those that stop a
// process.
func sendAllSignals(to string) string {
	var b strings.Builder
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		default:
			fmt.Fprintf(&b, "kill -%d %s; ", sig, to)
		}
	}
	return b.String()
}

// A job sends signals to the keeper: from a one-shot, a live shell, an
// orphan and a detached job. It ends no other job. The log and the record name the sender.
func TestFaultAJobSignalsItsSupervisors(t *testing.T) {
	t.Parallel()
	m := begins(t)
	other := m.run(messages.RunCommand{Program: messages.Program{Text: "sleep 600"}})
	keeper := strconv.Itoa(m.keeper())

	p := m.beside("run", "-n", "kill $PPID; sleep 1; echo done").start()
	require.Equal(t, "done\n", p.rest())
	p.ends(0)
	p.err.has(t, "the keeper refused a signal from the command")
	m.err.has(t, "the keeper refused TERM from process ")
	m.beside("run", "-n", sendAllSignals("$PPID")).start().ends(0)

	m.beside("run", "-s", "dev", "true").start().ends(0)
	p = m.beside("run", "--json", "-s", "dev", "kill -ILL "+keeper+"; sleep 0.2").start()
	require.Contains(t, p.rest(), `"signal_refused"`)
	p.ends(0)

	orphan := "sh -c 'setsid sh -c \"sleep 0.1; kill -TERM " + keeper + "; kill -TRAP " + keeper + "; sleep 0.1; echo >sent\" &'; until [ -e sent ]; do sleep 0.05; done"
	m.beside("run", "-n", orphan).start().ends(0)

	alone := m.beside("run", "--detach", "kill -TERM $PPID; kill -QUIT $PPID; kill "+keeper+"; sleep 0.2; exit 4").start()
	id := alone.line()
	alone.ends(0)
	job := m.awaitEnd(messages.JobID(id))
	require.Equal(t, messages.Exited, job.End.Outcome)
	require.Equal(t, 4, job.End.Shell())

	require.Equal(t, keeper, strconv.Itoa(m.keeper()))
	job, err := m.find(messages.JobID(other.UID))
	require.NoError(t, err)
	require.Empty(t, job.End.Outcome)
	require.True(t, alive(strconv.Itoa(other.PID)))
}

// TERM of an operator ends the keeper. The record and the log name the operator's
// process.
func TestAnOperatorEndsTheKeeper(t *testing.T) {
	t.Parallel()
	m := begins(t)
	other := m.run(messages.RunCommand{Program: messages.Program{Text: "exec sleep 600"}})
	require.NoError(t, syscall.Kill(m.keeper(), syscall.SIGTERM))
	job := m.awaitEnd(messages.JobID(other.UID))
	require.Equal(t, messages.Cancelled, job.End.Outcome)
	sender := fmt.Sprintf("TERM from process %d ", os.Getpid())
	require.Contains(t, job.End.Cause.Reason, "its keeper was stopped by "+sender)
	m.err.has(t, "the keeper obeyed "+sender)
}

// Without a daemon a job that signals its parent ends itself, as with timeout(1).
func TestAJobWithoutADaemonEndsItself(t *testing.T) {
	t.Parallel()
	program(t, "run", "--no-daemon", "kill $PPID; sleep 600").start().ends(143)
}
