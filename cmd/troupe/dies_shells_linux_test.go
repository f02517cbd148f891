package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

// kept counts the files of a keeper's shells and scripts, and of the outputs of a session.
func (m *mortal) kept(pattern string) int {
	names, err := filepath.Glob(filepath.Join(m.state, "keeper", "logs", "keeper", pattern))
	require.NoError(m.t, err)
	return len(names)
}

// inShell runs a text in a live shell.
func (m *mortal) inShell(session messages.SessionID, backend, text string) messages.Record {
	m.t.Helper()
	result, err := m.client.Run(m.t.Context(), messages.RunCommand{
		Session: session, Program: messages.Program{Text: text}, Env: messages.Env{Set: []string{"PATH=/usr/bin:/bin"}}, Open: &messages.SessionPlan{Backend: backend, Shell: "bash", Dir: "/"},
	})
	require.NoError(m.t, err)
	return result.Job
}

// A killed keeper costs the session its shell, but not the exported variables. The next
// keeper stores what the next shell needs only until that shell has started, and no text
// of a command.
func TestKilledKeepersShells(t *testing.T) {
	t.Parallel()
	m := begins(t)
	m.inShell("s", messages.BackendShell, "export KNOWN=1; cd /tmp")
	m.inShell("closed", messages.BackendShell, "export KNOWN=1")
	long := m.run(messages.RunCommand{Program: messages.Program{Text: "sleep 600 #" + strings.Repeat("x", 200<<10)}})
	require.Equal(t, []int{2, 1}, []int{m.kept("troupe-shell-*/text"), m.kept("troupe-script-*")})
	require.NoError(t, syscall.Kill(m.keeper(), syscall.SIGKILL))
	require.Equal(t, messages.Lost, m.awaitEnd(long.ID).End.Outcome)
	require.Equal(t, []int{2, 0, 0}, []int{m.kept("troupe-shell-*/kept0"), m.kept("troupe-shell-*/text"), m.kept("troupe-script-*")})
	require.Equal(t, 0, m.inShell("s", messages.BackendShell, `test "$KNOWN" = 1`).End.Shell())
	for _, session := range []messages.SessionID{"s", "closed"} {
		_, err := host.Ask(t.Context(), m.client.Host(), messages.CloseSession{Session: session})
		require.NoError(t, err)
	}
	settles(t, "directories of shells", 0, func() int { return m.kept("troupe-shell-*") })
}

// What a shell on a terminal shows between commands is no output of a job: it goes with
// the shell, however much it was. That of the commands stays.
func TestAShellsOwnOutputGoesWithIt(t *testing.T) {
	t.Parallel()
	m := begins(t)
	begin, done := m.file("begin"), m.file("done")
	require.NoError(t, syscall.Mkfifo(begin, 0o600))
	require.NoError(t, syscall.Mkfifo(done, 0o600))
	job := m.inShell("s", messages.BackendShellPTY,
		"head -c 100000 /dev/zero | tr '\\0' x; (read x < "+begin+"; head -c 100000 /dev/zero | tr '\\0' y; echo > "+done+") &")
	require.Equal(t, int64(100000), job.Output[0].Bytes)
	require.NoError(t, os.WriteFile(begin, []byte("\n"), 0o600))
	_, err := os.ReadFile(done)
	require.NoError(t, err)
	_, err = host.Ask(t.Context(), m.client.Host(), messages.CloseSession{Session: "s"})
	require.NoError(t, err)
	settles(t, "outputs of the session", 1, func() int { return m.kept("sessions/s/*") })
	require.Equal(t, 1, m.kept("sessions/s/"+string(job.UID)+"*"))
}
