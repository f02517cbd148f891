package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
	"troupe/messages"
)

// servesWithin starts a daemon in a cgroup with a limit of memory.
func servesWithin(t *testing.T, limit int) *mortal {
	t.Helper()
	dir := need.Memory(t, limit)
	p := programFor(t, long).bash("echo $$ > " + dir + "/cgroup.procs; exec troupe serve")
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m := &mortal{process: p, t: t, state: p.file("troupe")}
	m.awakes()
	t.Cleanup(func() { m.swept() })
	return m
}

// oomScore returns the oom_score_adj of a process.
func oomScore(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return n
}

// Memory that is used up by jobs ends jobs. The keeper and the daemon live, no job is lost, and
// the records name the cause.
func TestFaultMemoryPressureEndsJobs(t *testing.T) {
	t.Parallel()
	m := servesWithin(t, 56<<20)
	first := m.run(messages.RunCommand{Program: messages.Program{Text: "exec sleep 600"}})
	keeper := m.keeper()
	var jobs []messages.Record
	for range 160 {
		result, err := m.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "x=$(head -c 300000 /dev/zero | tr '\\0' x); read y"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		var refused *messages.Error
		if errors.As(err, &refused) {
			require.NotEqual(t, messages.KeeperUnresponsive, refused.Code, "%v", refused)
			continue // a fork may get no memory
		}
		require.NoError(t, err)
		jobs = append(jobs, result.Job)
	}
	require.Equal(t, keeper, m.keeper())
	killed := 0
	for _, job := range append(jobs, first) {
		now, err := m.find(messages.JobID(job.UID))
		require.NoError(t, err)
		require.NotEqual(t, messages.Lost, now.End.Outcome)
		if now.End.OOM == messages.Yes {
			killed++
		}
	}
	require.Positive(t, killed, "no job was killed for lack of memory")
}

// A job that needs too much memory has that in its record, and others have not. KILL of
// another process is none of the kernel.
func TestOOMIsKnown(t *testing.T) {
	t.Parallel()
	m := servesWithin(t, 90<<20)
	const greedy = "x=$(yes | head -c 400M)" // the shell keeps all of that
	record := func(text string, flags ...string) (job map[string]any) {
		t.Helper()
		p := m.beside(append(append([]string{"run", "--json"}, flags...), text)...).start()
		require.NoError(t, json.Unmarshal([]byte(p.rest()), &job))
		<-p.ended
		if job["outcome"] == nil { // it is detached
			id := job["id"].(string)
			p = m.beside("wait", id).start()
			p.rest()
			<-p.ended
			job = m.process.record(id)
		}
		return job
	}
	require.Equal(t, false, record("true")["oom"])
	require.Equal(t, false, record("kill -9 $$")["oom"])
	for _, flags := range [][]string{nil, {"--pty"}, {"-s", "dev"}, {"--detach"}} {
		text := greedy
		if len(flags) > 1 {
			text = "bash -c '" + greedy + "'" // the shell lives
		}
		job := record(text, flags...)
		require.Equal(t, true, job["oom"], "%q: %v", flags, job)
		require.Equal(t, false, record("true", flags...)["oom"], "%q", flags)
	}
	p := m.beside("run", greedy).start()
	p.ends(137)
	require.Contains(t, p.err.String(), "out of memory")
}

// Each kind of job is a better victim than the keeper and the daemon, with its children.
func TestJobsAreVictimsBeforeTheKeeper(t *testing.T) {
	t.Parallel()
	m := begins(t)
	keeper := oomScore(t, m.keeper())
	highest := max(keeper, oomScore(t, m.Process.Pid))
	for name, r := range map[string]messages.RunCommand{
		"text":     {Program: messages.Program{Text: "sleep 600"}},
		"program":  {Program: messages.Program{Argv: []string{"sleep", "600"}}},
		"terminal": {Program: messages.Program{Text: "sleep 600"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}}},
		"detached": {Program: messages.Program{Text: "sleep 600"}, Mode: messages.ModeDetached},
	} {
		require.Greater(t, oomScore(t, m.run(r).PID), highest, name)
	}
	p := m.beside("run", "-s", "dev", "bash -c 'cat /proc/self/oom_score_adj'").start()
	got, err := strconv.Atoi(strings.TrimSpace(p.rest()))
	require.NoError(t, err)
	require.Greater(t, got, highest)
	p.ends(0)
}
