package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/test/need"
	"troupe/messages"
)

// Daemon and keeper are killed together: a job has the exit that was recorded, or
// is lost, once nothing of it is left; what was in a file is there (F13, R-275).
func TestFaultDaemonAndKeeperDie(t *testing.T) {
	t.Parallel()
	m := begins(t)
	for range instants(5) {
		ended := m.run(messages.RunCommand{Program: messages.Program{Text: "seq 1 20000; exit 5"}})
		m.awaitEnd(messages.JobID(ended.UID))
		runs := m.run(messages.RunCommand{Program: messages.Program{Text: "seq 1 20000; setsid sleep 600 & sleep 600"}})
		m.holds(runs, sequenceSize(20000))
		ends := m.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("sleep 0.%03d; exit 9", rand.IntN(40))}})
		pause(40 * time.Millisecond)
		keeper := m.keeper()
		require.NoError(t, syscall.Kill(keeper, syscall.SIGKILL))
		m.killed()
		settles(t, "dead keepers that live", 0, func() int { return map[bool]int{true: 1}[alive(strconv.Itoa(keeper))] }) // the daemon may have begun another
		m.again()

		job := m.awaitEnd(messages.JobID(ended.UID))
		require.Equal(t, messages.Exited, job.End.Outcome)
		require.Equal(t, 5, job.End.Shell())
		job = m.awaitEnd(messages.JobID(runs.UID))
		require.Equal(t, messages.Lost, job.End.Outcome)
		require.False(t, alive(strconv.Itoa(runs.PID)), "a job that is lost lives")
		for _, uid := range []messages.UID{ended.UID, runs.UID} {
			require.Equal(t, sequenceSum(20000), m.sum(uid, messages.Merged), "the output of a job that was in a file")
		}
		if job = m.awaitEnd(messages.JobID(ends.UID)); job.End.Outcome != messages.Lost {
			require.Equal(t, messages.Exited, job.End.Outcome)
			require.Equal(t, 9, job.End.Shell(), "an exit that nobody saw")
		}
	}
}

// The output of a job is lost with its keeper, except what the daemon has open for a
// recent reader. Reads report the loss; they do not show an empty output.
func TestFaultOutputGoesWithItsKeeper(t *testing.T) {
	t.Parallel()
	m := begins(t)
	job := m.run(messages.RunCommand{Program: messages.Program{Text: "echo said; exec sleep 600"}})
	m.holds(job, int64(len("said\n")))
	require.NoError(t, syscall.Kill(m.keeper(), syscall.SIGKILL))
	require.Equal(t, messages.Lost, m.awaitEnd(messages.JobID(job.UID)).End.Outcome)
	for _, follow := range []bool{false, true} {
		out, err := m.client.Output(t.Context(), job.ID, client.Range{Follow: follow})
		if err == nil {
			text, err := io.ReadAll(out)
			require.NoError(t, err)
			require.NoError(t, out.Close())
			require.Equal(t, "said\n", string(text), "the output of a lost job")
			continue
		}
		require.ErrorIs(t, err, &messages.Error{Code: messages.OutputUnavailable})
	}
}

// What a lost job printed is stored if a client read it; an output that is gone is lost in
// each form of the record, never empty. The next daemon says the same.
func TestFaultOutputOfALostJob(t *testing.T) {
	t.Parallel()
	m := begins(t)
	shown := m.run(messages.RunCommand{Program: messages.Program{Text: "seq 1 5000; exec sleep 600"}}) // in memory
	out, err := m.client.Output(t.Context(), shown.ID, client.Range{Follow: true})
	require.NoError(t, err)
	defer out.Close()
	_, err = io.CopyN(io.Discard, out, sequenceSize(5000))
	require.NoError(t, err)
	open, printed := gate(t, m.file("gate")), post(t, m.file("printed"))
	unread := m.run(messages.RunCommand{Labels: messages.Labels{Name: "unread"}, Program: messages.Program{Text: "read x <gate; echo said; echo > printed; exec sleep 600"}, Dir: m.dir})
	measured := m.run(messages.RunCommand{Labels: messages.Labels{Name: "measured"}, Program: messages.Program{Text: "echo said; exec sleep 600"}})
	settles(t, "jobs that have printed nothing", 0, func() int {
		job, err := m.find(measured.ID)
		require.NoError(t, err)
		return 5 - int(job.Output[0].Bytes)
	})
	open()
	printed()
	require.NoError(t, syscall.Kill(m.keeper(), syscall.SIGKILL))

	for daemon := range 2 {
		if daemon > 0 {
			m.killed()
			m.again()
		}
		job := m.awaitEnd(messages.JobID(shown.UID))
		require.Equal(t, messages.Lost, job.End.Outcome)
		require.Equal(t, sequenceSize(5000), job.Output[0].Bytes)
		require.False(t, job.HasFlag(messages.FlagOutputLost))
		require.Equal(t, sequenceSum(5000), m.sum(shown.UID, messages.Merged))

		m.isLost(unread)
		m.isLost(measured)
	}
}

// isLost checks that each verb shows the output of a job to be lost.
func (m *mortal) isLost(job messages.Record) {
	m.t.Helper()
	job = m.awaitEnd(messages.JobID(job.UID))
	require.Equal(m.t, messages.Lost, job.End.Outcome)
	require.True(m.t, job.HasFlag(messages.FlagOutputLost))
	require.Contains(m.t, m.beside("show", "--json", job.Name).start().rest(), `"output":{"merged":{"bytes":null,`)
	require.Regexp(m.t, `\n *merged +lost\n`, m.beside("show", job.Name).start().rest())
	require.Regexp(m.t, job.Name+` +lost, \S+ ago +lost `, m.beside("ps", "-a").start().rest())
	p := m.beside("logs", job.Name).start()
	require.Empty(m.t, p.rest())
	p.err.has(m.t, "its output was lost with its process")
	p.ends(1)
	p = m.beside("logs", "-f", job.Name).start()
	require.Empty(m.t, p.rest())
	p.err.has(m.t, "the keeper died while the job ran")
	p.ends(cli.StatusOwn)
}

// A deadline passes while no daemon runs. The next one tells of it, and nothing of
// the job is left.
func TestFaultDeadlineWithoutADaemon(t *testing.T) {
	t.Parallel()
	m := begins(t)
	r := messages.RunCommand{Program: messages.Program{Text: "setsid sleep 600 & exec sleep 600"}, Grace: time.Second}
	r.Timeout = 700 * time.Millisecond
	asSet := m.run(r)
	r.Timeout = time.Hour
	shorter, longer := m.run(r), messages.Record{}
	m.deadline(shorter, 700*time.Millisecond)
	r.Timeout = 5 * time.Second
	longer = m.run(r)
	m.deadline(longer, time.Hour)
	cgroup := cgroupOf(t, longer.PID)
	m.killed()
	for _, job := range []messages.Record{asSet, shorter} {
		settles(t, "jobs behind their deadline", 0, func() int { return map[bool]int{true: 1}[alive(strconv.Itoa(job.PID))] })
	}
	// The last one would have ended by now.
	<-time.After(time.Until(longer.Started.Add(5*time.Second + 500*time.Millisecond)))
	m.again()
	for _, job := range []messages.Record{asSet, shorter} {
		job = m.awaitEnd(messages.JobID(job.UID))
		require.Equal(t, messages.TimedOut, job.End.Outcome)
		require.Empty(t, job.End.Survivors)
		require.Zero(t, job.End.Children)
	}
	settles(t, "jobs that the keeper has not told of", 0, func() int {
		job, err := m.find(messages.JobID(longer.UID))
		require.NoError(t, err)
		return map[bool]int{false: 1}[job.State == messages.Running]
	})
	require.Equal(t, cgroup, cgroupOf(t, longer.PID))
	_, err := host.Ask(t.Context(), m.client.Host(), messages.StopCommand{Job: messages.JobID(longer.UID), Grace: -1})
	require.NoError(t, err)
}

// deadline gives a job so much time from now on.
func (m *mortal) deadline(job messages.Record, after time.Duration) {
	m.t.Helper()
	_, err := host.Ask(m.t.Context(), m.client.Host(), messages.ChangeDeadline{Job: messages.JobID(job.UID), After: after})
	require.NoError(m.t, err)
}

// What a keeper moves it does not read: not one byte of 300 MB comes into it.
func TestOutputNeverEntersTheKeeper(t *testing.T) {
	t.Parallel()
	need.Root(t) // for what /proc tells of it
	m := begins(t)
	keeper := m.keeper()
	before := procNumber(keeper, "io", "rchar")
	require.GreaterOrEqual(t, before, 0)
	job := m.run(messages.RunCommand{Program: messages.Program{Text: "head -c 314572800 /dev/zero; sleep 600"}})
	m.holds(job, 300<<20)
	require.Less(t, procNumber(keeper, "io", "rchar")-before, 1<<20) // by the end of the job the kernel adds what that has read
	_, err := host.Ask(t.Context(), m.client.Host(), messages.StopCommand{Job: messages.JobID(job.UID), Grace: -1})
	require.NoError(t, err)
}

// holds waits until the log of a job has so many bytes.
func (m *mortal) holds(job messages.Record, size int64) {
	m.t.Helper()
	out, err := m.client.Output(m.t.Context(), messages.JobID(job.UID), client.Range{Offset: size - 1, Limit: 1, Follow: true})
	require.NoError(m.t, err)
	defer out.Close()
	n, err := io.Copy(io.Discard, out)
	require.NoError(m.t, err)
	require.Equal(m.t, int64(1), n)
}

// sum is that of all that a job has written to a stream.
func (m *mortal) sum(uid messages.UID, stream messages.Stream) string {
	m.t.Helper()
	out, err := m.client.Output(m.t.Context(), messages.JobID(uid), client.Range{Stream: stream})
	require.NoError(m.t, err)
	defer out.Close()
	h := sha256.New()
	_, err = io.Copy(h, out)
	require.NoError(m.t, err)
	return sum(h)
}

func sequenceSum(n int) string {
	h := sha256.New()
	sequence(h, n)
	return sum(h)
}

func sequenceSize(n int) int64 {
	var b strings.Builder
	sequence(&b, n)
	return int64(b.Len())
}
