package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// escapes returns a text that leaves the cgroup of its job, and starts a process without the
// environment. That writes its pid, and sleeps.
func (p *process) escapes(start string) string {
	p.t.Helper()
	top, pids := need.Cgroup(p.t), p.file("pids")
	if err := unix.Mkfifo(pids, 0o600); err != nil && err != unix.EEXIST {
		p.t.Fatal(err)
	}
	bare := fmt.Sprintf(`env -i sh -c 'echo $$ > %s; exec sleep 600' </dev/null >/dev/null 2>&1`, pids)
	return fmt.Sprintf("echo 0 > %s/cgroup.procs; "+start+"\nread pid < %s; echo $pid", top, bare, pids)
}

// succeeds runs troupe beside and returns what it has printed.
func (p *process) succeeds(args ...string) (stdout, stderr string) {
	p.t.Helper()
	q := p.beside(args...).start()
	stdout = strings.TrimSpace(q.rest())
	q.ends(0)
	return stdout, q.err.String()
}

// A process that leaves the cgroup of its job and drops the environment is in the record, is
// named by doctor and shutdown, runs on, and ends with a stop of its job.
func TestFaultAnEscapedProcessIsNamed(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	pid, noted := d.succeeds("run", d.escapes("setsid %s &"))
	require.Contains(t, noted, "process "+pid+" of the command still runs: it left the cgroup of its job (troupe stop j1 ends it)")
	number, err := strconv.ParseFloat(pid, 64)
	require.NoError(t, err)
	record := d.record("j1")
	require.EqualValues(t, 1, record["background_children"])
	require.Equal(t, number, record["survivors"].([]any)[0].(map[string]any)["pid"])
	shown, _ := d.succeeds("show", "j1")
	require.Contains(t, shown, "survivor  process "+pid+": it left the cgroup of its job")
	found, _ := d.succeeds("doctor")
	require.Regexp(t, `escaped +process `+pid+` \(\w+\) has left the tree of its job`, found)
	d.succeeds("stop", "j1")
	gone(t, pid)
	require.Empty(t, d.record("j1")["survivors"])
	found, _ = d.succeeds("doctor")
	require.NotContains(t, found, "escaped")
}

// One that several jobs may have started is in no record: the log of the daemon names it with
// these jobs, and shutdown and doctor name it. It ends with the keeper.
func TestFaultAnEscapedProcessOfUnknownOrigin(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.succeeds("run", "-b", "exec sleep 600")
	pid, noted := d.succeeds("run", d.escapes("setsid %s &"))
	require.Contains(t, noted, "troupe could not follow every process of the command: some may still run")
	first, second := d.record("j1"), d.record("j2")
	require.Empty(t, second["survivors"])
	require.Equal(t, []any{"tree_unverified"}, second["flags"])
	d.err.has(t, "process "+pid+" (")
	require.Regexp(t, `has left the tree of its job, and is of job (\w+) or (\w+) \(`, d.err.String())
	for _, job := range []map[string]any{first, second} {
		require.Contains(t, d.err.String(), job["uid"])
	}
	require.Equal(t, 1, strings.Count(d.err.String(), "has left the tree of its job"))

	_, goes := d.succeeds("shutdown")
	require.Regexp(t, `still running without the daemon: 1 job, 1 escaped process: j1, process `+pid+` \(`, goes)
	d.succeeds("run", "-b", "true")
	d.succeeds("stop", "j1")
	require.Empty(t, d.record("j1")["flags"])
	object, _ := d.succeeds("shutdown", "--json") // a keeper without jobs stays for it
	require.Contains(t, object, `"escaped":[{"pid":`+pid+`,"command":"`)
	require.True(t, alive(pid))
	d.succeeds("run", "-b", "true")
	process := handle(t, pid)
	object, _ = d.succeeds("shutdown", "--json", "--stop-jobs")
	require.Contains(t, object, `"survivors":[],`)
	awaitExits(t, process)
}

// Wherever the job runs, and however a process leaves it, it is found.
func TestFaultEscapedProcessesOfEachKind(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for i, c := range []struct{ flags, start string }{
		{"-b", "(setsid %s &)"},
		{"-b", "(%s &)"},
		{"-b -t", "trap '' HUP; (setsid %s &)"},
		{"--detach", "setsid %s &"},
	} {
		job := fmt.Sprintf("kind%d", i)
		d.succeeds(append(append([]string{"run", "--name", job}, strings.Fields(c.flags)...), d.escapes(c.start))...)
		d.succeeds("wait", job)
		pid, _ := d.succeeds("logs", job)
		require.Len(t, d.record(job)["survivors"], 1, "%+v", c)
		require.True(t, alive(pid), "%+v", c)
		d.succeeds("stop", job)
		gone(t, pid)
	}

	pid, _ := d.succeeds("run", "-s", "dev", "( "+d.escapes("setsid %s &")+" )")
	d.succeeds("close", "dev")
	gone(t, pid)

	d.succeeds("run", "-b", "--name", "parent", d.escapes("setsid %s &")+"; wait")
	d.succeeds("wait", "parent", "--match", `\d`)
	pid, _ = d.succeeds("logs", "parent")
	d.succeeds("kill", "parent")
	gone(t, pid)

	q := d.beside("run", "--no-daemon", d.escapes("setsid %s &")).start()
	pid = q.line()
	q.ends(0)
	require.False(t, alive(pid))
	require.Contains(t, q.err.String(), "stopped 1 background process that the command left")
}
