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
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		args := strings.Split(string(text), "\x00")
		if len(args) > 3 && args[1] == "keeper" && slices.Contains(args, filepath.Join(state, keeperName)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatal("there is no keeper")
	return 0
}

// A keeper that somebody stops is let go on, once. One that stays stopped is told
// of: requests are refused with that code, doctor names it, and all goes on with it.
func TestAKeeperThatIsStoppedIsTold(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "--name", "long", "sleep 600").start().ends(0)
	pid := keeperPID(t, filepath.Join(d.dir, "troupe"))
	stops(t, pid)
	q := d.beside("run", "echo woken").start()
	require.Equal(t, "woken", q.line())
	q.ends(0)
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
	d := serves(t, nil)
	d.beside("run", "-b", "--name", "long", "sleep 600").start().ends(0)
	pid := keeperPID(t, filepath.Join(d.dir, "troupe"))
	stops(t, pid)
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	d.send(syscall.SIGTERM)
	d.ends(0)
	require.Contains(t, d.err.String(), "the jobs live on in the keeper")
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
