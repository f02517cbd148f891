package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keeperPID finds the keeper of a state directory.
func keeperPID(t *testing.T, state string) int {
	t.Helper()
	pids := keepersOf(state)
	require.Len(t, pids, 1)
	return pids[0]
}

// servesLong starts a daemon with a job that lives, and tells its keeper.
func servesLong(t *testing.T) (d *process, keeper int) {
	t.Helper()
	d = serves(t, nil)
	d.beside("run", "-b", "--name", "long", "sleep 600").start().ends(0)
	return d, keeperPID(t, filepath.Join(d.dir, "troupe"))
}

// A stopped keeper gets CONT once. While it stays stopped, requests are refused with the
// code for that, doctor reports it, and everything continues with the keeper.
func TestAKeeperThatIsStoppedIsTold(t *testing.T) {
	t.Parallel()
	d, pid := servesLong(t)
	stops(t, pid)
	q := d.beside("run", "echo woken").start()
	require.Equal(t, "woken", q.line())
	q.ends(0)
	require.NotContains(t, q.err.String(), "is queued in", "nothing else was about to run")
	d.err.has(t, "does not answer")

	stops(t, pid)
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	q = d.beside("ps").start() // at once, from what the daemon knows
	require.Regexp(t, `long +running \d+s +\? +sleep`, q.rest())
	q.ends(0)
	require.Equal(t, 1, strings.Count(d.err.String(), "does not answer"), "it was noticed before ps ended")
	q = d.beside("stop", "--json", "long").start()
	require.Contains(t, q.rest(), `"code":"keeper_unresponsive"`)
	q.ends(1)
	q = d.beside("doctor").start()
	require.Contains(t, q.rest(), "does not answer")
	q.ends(1)
	q = d.beside("run", "-b", "--json", "true").start()
	require.Contains(t, q.rest()+q.err.String(), "keeper_unresponsive")
	q.ends(125)
	require.Equal(t, pid, keeperPID(t, filepath.Join(d.dir, "troupe")))

	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	d.beside("wait", "long").start().ends(130)
	require.Equal(t, "cancelled", d.record("long")["outcome"])
}

// The end of a daemon does not wait until a keeper that was stopped is found to be silent.
func TestADaemonEndsBesideAStoppedKeeper(t *testing.T) {
	t.Parallel()
	d, pid := servesLong(t)
	stops(t, pid)
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	d.send(syscall.SIGTERM)
	d.ends(0)
	require.Contains(t, d.err.String(), "the jobs keep running in the keeper")
	require.NotContains(t, d.err.String(), "does not answer")
}

// stops stops a process, and waits until no thread of it runs.
func stops(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	running := func() bool {
		threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
		return slices.ContainsFunc(threads, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && !strings.Contains(string(text), ") T ")
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(tooLong / 4); running(); <-tick.C { // no event tells of it
		require.True(t, time.Now().Before(late))
	}
}
