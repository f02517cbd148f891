package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/test/need"
	"troupe/messages"
)

// limitedGroup is a cgroup that bounds processes, which ends with the test.
func limitedGroup(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/sys/fs/cgroup/pids", "troupe-test-")
	need.Feature(t, err == nil, "a limit of processes")
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A fork bomb that takes all processes that daemon and keeper may have, too, costs
// neither of them its life: the other jobs live, and the bomb is ended.
func TestFaultForkBombBesideDaemonAndKeeper(t *testing.T) {
	t.Parallel()
	dir := limitedGroup(t)
	m := begins(t)
	other := m.run(messages.RunCommand{Program: messages.Program{Text: "exec sleep 600"}})
	keeper := m.keeper()
	for _, pid := range []int{m.Process.Pid, keeper} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600))
	}
	text, err := os.ReadFile(filepath.Join(dir, "pids.current"))
	require.NoError(t, err)
	threads, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(threads+30)), 0o600))

	bomb := m.run(messages.RunCommand{Program: messages.Program{Text: "b() { b | b & }; b; sleep 600", Shell: "bash"}})
	m.prints(bomb.ID, "fork: ")
	_, err = host.Ask(t.Context(), m.client.Host(), messages.StopCommand{Job: bomb.ID, Reason: "it is a bomb"})
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, m.awaitEnd(bomb.ID).End.Outcome)
	require.Equal(t, keeper, m.keeper())
	require.True(t, alive(strconv.Itoa(other.PID)), "the other job")
	m.awaitEnd(m.run(messages.RunCommand{Program: messages.Program{Text: "true"}}).ID)
}

// Nor does one cost the life of a troupe that holds its job itself.
func TestFaultForkBombBesideTroupe(t *testing.T) {
	t.Parallel()
	dir := limitedGroup(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pids.max"), []byte("50"), 0o600))
	procs := filepath.Join(dir, "cgroup.procs")
	text := "echo $$ > " + procs + "; echo $PPID > " + procs + "; b() { b | b & }; b; sleep 600"
	p := program(t, "run", "--no-daemon", "--shell", "bash", "--streams", "separate", "--grace", "1s", text).start()
	p.err.has(t, "fork: ")
	p.send(syscall.SIGINT)
	p.ends(130)
}
