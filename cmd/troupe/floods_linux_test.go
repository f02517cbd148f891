package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/host"
	"troupe/internal/test/need"
	"troupe/messages"
)

// Twenty jobs flood their outputs: neither keeper nor daemon grows, the disk holds what
// the quotas allow, and a client that does not read costs little and delays no other
// client (F42, F43).
func TestFaultFloodsOfTwentyJobs(t *testing.T) {
	const (
		jobs  = 20
		quota = 32 << 20
	)
	m := begins(t)
	keeper, lasts := m.keeper(), 2*time.Second
	if need.Soak() {
		lasts = 10 * time.Second
	}
	var ids []messages.JobID
	for i := range jobs {
		job := m.run(messages.RunCommand{Scope: "flood", Program: messages.Program{Argv: []string{"yes", fmt.Sprint(i)}}, Store: messages.Store{Quota: messages.Quota{Bytes: quota}}})
		ids = append(ids, messages.JobID(job.UID))
	}
	before := procNumber(m.Process.Pid, "status", "VmRSS")
	m.stuckReader(ids[0])
	most := map[int]int{}
	slowest := time.Duration(0)
	for begun := time.Now(); time.Since(begun) < lasts; {
		for _, pid := range []int{keeper, m.Process.Pid} {
			most[pid] = max(most[pid], procNumber(pid, "status", "VmRSS")>>10)
		}
		start := time.Now()
		_, err := m.find(ids[1])
		require.NoError(t, err)
		slowest = max(slowest, time.Since(start))
		require.LessOrEqual(t, stored(t, filepath.Join(m.state, "keeper/logs")), int64(jobs*(quota+(8<<20))), "bytes on the disk")
	}
	grown := (procNumber(m.Process.Pid, "status", "VmRSS") - before) >> 10
	t.Logf("MiB: keeper %d, daemon %d, of which a client that does not read %d; slowest answer %s", most[keeper], most[m.Process.Pid], grown, slowest)
	require.Less(t, most[keeper], 64)
	require.Less(t, most[m.Process.Pid], 128)
	require.Less(t, grown, 16)
	require.Less(t, slowest, 5*time.Second)
	m.endsAll("flood", jobs)
}

// endsAll stops what runs in a scope, and wants nothing left.
func (m *mortal) endsAll(scope messages.ScopePath, jobs int) {
	m.t.Helper()
	stopped, err := host.Ask(m.t.Context(), m.client.Host(), messages.StopCommand{Scope: scope, Grace: -1})
	require.NoError(m.t, err)
	require.Len(m.t, stopped.Jobs, jobs)
	require.Empty(m.t, stopped.Survivors)
}

// stuckReader follows an output, and reads no more than the head of the reply.
func (m *mortal) stuckReader(id messages.JobID) {
	m.t.Helper()
	c, err := net.Dial("unix", m.socket())
	require.NoError(m.t, err)
	m.t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "GET /v1/jobs/%s/output?follow=true HTTP/1.1\r\nHost: troupe\r\n\r\n", id)
	require.NoError(m.t, err)
	status, err := bufio.NewReaderSize(c, 64).ReadString('\n')
	require.NoError(m.t, err)
	require.True(m.t, strings.HasPrefix(status, "HTTP/1.1 200"), status)
}

// stored is what the files of a directory take on the disk.
func stored(t *testing.T, dir string) (n int64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it has gone meanwhile
		}
		if info, err := e.Info(); err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return n
}

// The disk of the state directory is full while jobs write: they wait, and go on
// when there is room. A daemon that begins meanwhile has them: it can be asked, and
// can end them. No byte is missing (F31, M3).
func TestFaultNoSpaceForTheKeeper(t *testing.T) {
	t.Parallel()
	const n = 6_000_000 // 46 MB
	state := mounted(t, 30<<20)
	m := begins(t, "XDG_STATE_HOME="+state)
	m.state = filepath.Join(state, "troupe")
	t.Cleanup(func() { endKeeper(m.state) })
	ends := m.run(messages.RunCommand{Program: messages.Program{Argv: []string{"sleep", "600"}}})
	merged := m.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("seq 1 %d; exit 4", n)}})
	apart := m.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("seq 1 %d >&2; exit 4", n)}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}})
	for _, job := range []messages.Record{merged, apart} {
		m.flagged(job, messages.FlagLogBlocked)
	}
	m.killed()
	fills(t, state)
	m.again()
	for _, job := range []messages.Record{merged, apart} {
		eventually(t, "the job does not run", func() bool { // starting until the keeper has said that it runs
			now, err := m.find(messages.JobID(job.UID))
			require.NoError(t, err)
			require.False(t, now.State.Ended())
			return now.State == messages.Running
		})
	}
	_, err := host.Ask(t.Context(), m.client.Host(), messages.StopCommand{Job: messages.JobID(ends.UID), Grace: -1})
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, m.awaitEnd(messages.JobID(ends.UID)).End.Outcome)
	require.NoError(t, unix.Mount("", state, "", unix.MS_REMOUNT, "size=300m"))
	want := sequenceSum(n)
	for job, stream := range map[*messages.Record]messages.Stream{&merged: messages.Merged, &apart: messages.Stderr} {
		over := m.awaitEnd(messages.JobID(job.UID))
		require.Equal(t, messages.Exited, over.End.Outcome)
		require.Equal(t, 4, over.End.Shell())
		require.Equal(t, want, m.sum(job.UID, stream))
	}
}

// fills takes what room is left in a directory.
func fills(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	defer file.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = file.Write(page)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
}

// flagged waits until a job has a flag.
func (m *mortal) flagged(job messages.Record, flag messages.Flag) {
	m.t.Helper()
	settles(m.t, "jobs without "+string(flag), 0, func() int {
		now, err := m.find(messages.JobID(job.UID))
		require.NoError(m.t, err)
		return map[bool]int{false: 1}[now.HasFlag(flag)]
	})
}

// A keeper without descriptors refuses by name what it cannot start, harms nothing
// that runs, and starts again when it has some (F33).
func TestFaultNoDescriptorsInTheKeeper(t *testing.T) {
	t.Parallel()
	m := begins(t)
	open := gate(t, m.file("gate"))
	runs := m.run(messages.RunCommand{Program: messages.Program{Text: "echo before; read x < " + m.file("gate") + "; seq 1 100000; exit 5"}})
	keeper := m.keeper()
	var whole unix.Rlimit
	require.NoError(t, unix.Prlimit(keeper, unix.RLIMIT_NOFILE, nil, &whole))
	require.NoError(t, unix.Prlimit(keeper, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(listed(keeper, "fd") + 12), Max: whole.Max}, nil))
	refused := 0
	for range 40 {
		result, err := m.client.Run(t.Context(), messages.RunCommand{Scope: "many", Program: messages.Program{Argv: []string{"sleep", "600"}}, Mode: messages.ModeAsync})
		require.NoError(t, err)
		if job := result.Job; job.State != messages.Running {
			refused++
			require.Equal(t, messages.FailedToStart, job.End.Outcome)
			require.Equal(t, messages.ResourceExhausted, job.End.Err.Code, "%+v", job.End.Err)
			require.NotEmpty(t, job.End.Err.Hint)
		}
	}
	require.Positive(t, refused)
	m.killed() // the next daemon is let in, and has what runs
	m.again()
	require.Equal(t, keeper, m.keeper())
	now, err := m.find(messages.JobID(runs.UID))
	require.NoError(t, err)
	require.Equal(t, messages.Running, now.State)
	require.NoError(t, unix.Prlimit(keeper, unix.RLIMIT_NOFILE, &whole, nil))
	more := m.run(messages.RunCommand{Program: messages.Program{Text: "echo more; exit 6"}})
	require.Equal(t, 6, m.awaitEnd(messages.JobID(more.UID)).End.Shell())
	m.endsAll("many", 40-refused)
	open()
	require.Equal(t, 5, m.awaitEnd(messages.JobID(runs.UID)).End.Shell())
	out, err := m.client.Output(t.Context(), messages.JobID(runs.UID), client.Range{})
	require.NoError(t, err)
	defer out.Close()
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	var want strings.Builder
	want.WriteString("before\n")
	sequence(&want, 100000)
	require.Equal(t, want.String(), string(text))
}
