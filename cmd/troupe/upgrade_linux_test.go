package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A hundred jobs run while the program is replaced, once after troupe shutdown and once after a
// daemon that was killed. The next daemon is of the other build, has all jobs, and learns how each
// ended. Nothing was started twice.
func TestAnUpgradeLosesNoJob(t *testing.T) {
	t.Parallel()
	const jobs = 100
	builds := chaosBuilds(t)
	m := begins(t)
	m.upgradeTo(builds[0], func() { m.beside("shutdown").start().ends(0); <-m.ended })

	at := m.file("gate")
	require.NoError(t, syscall.Mkfifo(at, 0o600))
	gate, err := os.OpenFile(at, os.O_RDWR, 0) // a reader of it waits for a byte, not for a writer
	require.NoError(t, err)
	defer gate.Close()
	uids := make([]messages.UID, jobs)
	for i := range uids {
		uids[i] = m.run(upgraded(m, i)).UID
	}
	for i, uid := range uids {
		m.beside("wait", "--match", fmt.Sprintf("^begins %d$", i), string(uid)).start().ends(0)
	}
	keeper := m.keeper()

	m.upgradeTo(builds[1], func() { m.beside("shutdown").start().ends(0); <-m.ended })
	m.allRun(uids)
	m.upgradeTo(builds[0], m.killed)
	m.allRun(uids)
	require.Equal(t, keeper, m.keeper())

	_, err = gate.WriteString(strings.Repeat("\n", jobs)) // a read of a shell takes one byte at a time
	require.NoError(t, err)
	for i, uid := range uids {
		job := m.awaitEnd(messages.JobID(uid))
		require.Equal(t, messages.Exited, job.End.Outcome, "job %d: %+v", i, job.End)
		require.Equal(t, i%7, job.End.Shell(), "job %d", i)
		said, _ := m.succeeds("logs", string(uid))
		require.Equal(t, fmt.Sprintf("begins %d\nends %d", i, i), strings.ReplaceAll(said, "\r", ""))
	}
	began, err := os.ReadFile(m.file("began"))
	require.NoError(t, err)
	require.Equal(t, jobs, strings.Count(string(began), "\n"))
}

// upgraded is the request of the i-th job: in two scopes, on pipes, on terminals and in live shells.
func upgraded(m *mortal, i int) messages.RunCommand {
	text := fmt.Sprintf("echo begins %d; echo %[1]d >> began; read x < gate; echo ends %[1]d; (exit %d)", i, i%7)
	r := messages.RunCommand{Program: messages.Program{Text: text}, Dir: m.dir, Scope: messages.ScopePath([]string{"main", "main/other"}[i%2])}
	switch i % 10 {
	case 0:
		r.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80}
	case 1:
		r.Session = messages.SessionID(fmt.Sprintf("shell-%d", i))
		r.Open = &messages.SessionPlan{Backend: messages.BackendShell}
	}
	return r
}

// upgradeTo ends the daemon, and starts one of another build.
func (m *mortal) upgradeTo(build string, ends func()) {
	m.t.Helper()
	ends()
	q := programFor(m.t, long, "serve")
	q.Dir, q.dir, q.Env = m.dir, m.dir, m.Env
	q.Path, q.SysProcAttr = build, &syscall.SysProcAttr{Setpgid: true}
	m.process = q
	m.awakes()
	about, err := m.client.Version(m.t.Context())
	require.NoError(m.t, err)
	said, err := os.ReadFile(build)
	require.NoError(m.t, err)
	require.Contains(m.t, string(said), about.Version)
	require.True(m.t, strings.HasSuffix(about.Version, "-chaos"), about.Version)
}

// allRun checks that each of the jobs runs, as the daemon and the machine have it.
func (m *mortal) allRun(uids []messages.UID) {
	m.t.Helper()
	for _, uid := range uids {
		job, err := m.find(messages.JobID(uid))
		require.NoError(m.t, err)
		require.Equal(m.t, messages.Running, job.State, "%s: %+v", uid, job.End)
	}
}
