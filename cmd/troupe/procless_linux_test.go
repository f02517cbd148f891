package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// apart runs a text of a shell in a pid namespace of its own, beside a /proc that is not
// that namespace's.
func apart(t *testing.T, text string, flags ...string) string {
	t.Helper()
	flags = append(flags, "--pid", "--fork", "bash", "-c")
	need.Feature(t, exec.Command("unshare", append(flags, "true")...).Run() == nil, "a pid namespace of our own")
	p := program(t)
	p.Path, p.Args = "", append([]string{"unshare"}, append(flags, text)...)
	p.Path, p.Err = exec.LookPath("unshare")
	p.start()
	out := p.rest()
	<-p.ended
	return out
}

// A process that has in this pid namespace a number that /proc shows for another
// namespace is a stranger, and is not killed.
func TestFaultProcOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	out := apart(t, "troupe doctor | cat; echo ${PIPESTATUS[*]}; troupe run --no-daemon 'echo ran' | cat; echo ${PIPESTATUS[*]}")
	require.Contains(t, out, "problem: the proc on /proc is that of another pid namespace")
	require.Contains(t, out, "\n1 0\nran\n0 0\n", "the problem is told by the status, and nobody was killed")
}

// A job that leaves a process ends there, too, as soon as that has ended or is stopped.
func TestFaultLeftoverWithoutItsProc(t *testing.T) {
	t.Parallel()
	out := apart(t, "troupe run --no-daemon --json 'sleep 600 > /dev/null 2>&1 & echo left'")
	require.Contains(t, out, `"exit_code":0`)
	require.Contains(t, out, `"background_children":1`)
}

// If /proc shows no processes, a result says that the survivors are unknown.
func TestFaultNoProc(t *testing.T) {
	t.Parallel()
	out := apart(t, "mount -t tmpfs none /proc; troupe run --no-daemon --json 'echo ran'; troupe doctor", "--mount")
	require.Contains(t, out, `"flags":["stdin_inherited","tree_unverified"]`)
	require.Contains(t, out, "problem: no proc is mounted on /proc")
}
