package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/cli/config"
	"troupe/internal/test/need"
	"troupe/messages"
)

// A daemon that is killed again and again under a stream costs neither a byte nor
// the status (F01, F02).
func TestFaultDaemonDiesOverAStream(t *testing.T) {
	t.Parallel()
	const n = 25_000_000 // 214 MB
	seq, want := fmt.Sprintf("seq 1 %d", n), sha256.New()
	sequence(want, n)
	for _, c := range []struct {
		name    string
		r       messages.RunCommand
		streams []messages.Stream
	}{
		{"merged", messages.RunCommand{Program: messages.Program{Text: seq}}, []messages.Stream{messages.Merged}},
		{
			"separate",
			messages.RunCommand{Program: messages.Program{Text: seq + " & " + seq + " >&2 & wait"}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}},
			[]messages.Stream{messages.Stdout, messages.Stderr},
		},
		{
			"terminal",
			messages.RunCommand{Program: messages.Program{Text: "stty -opost; " + seq}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}}},
			[]messages.Stream{messages.Merged},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := begins(t)
			c.r.Text += "; exit 7"
			job := m.run(c.r)
			keeper, kills := m.keeper(), 0
			for range instants(6) {
				pause(60 * time.Millisecond)
				m.killed()
				m.again()
				now, err := m.client.Job(t.Context(), messages.JobID(job.UID))
				require.NoError(t, err)
				if now.State == messages.Running {
					kills++
				}
			}
			t.Logf("%d daemons were killed while it ran", kills)
			job = m.awaitEnd(messages.JobID(job.UID))
			require.Equal(t, messages.Exited, job.End.Outcome)
			require.Equal(t, 7, job.End.Shell())
			require.Equal(t, keeper, m.keeper())
			for _, stream := range c.streams {
				require.Equal(t, sum(want), m.sum(job.UID, stream), stream)
			}
		})
	}
}

// If a daemon dies around the start of a job, a client that repeats the request with the
// same key at the next daemon gets one job that ran once (F03).
func TestFaultDaemonDiesAroundAStart(t *testing.T) {
	t.Parallel()
	m := begins(t)
	before := 0
	for i := range instants(8) {
		file := m.file("ran" + strconv.Itoa(i))
		r := messages.RunCommand{Program: messages.Program{Text: "echo x >> " + file + "; exit 3"}, Key: "k" + strconv.Itoa(i), Mode: messages.ModeAsync}
		answered := make(chan messages.Record, 1)
		requested := make(chan struct{})
		go func() {
			close(requested)
			result, err := m.client.Run(t.Context(), r)
			if err != nil {
				result.Job = messages.Record{}
			}
			answered <- result.Job
		}()
		<-requested
		if i%4 != 3 {
			pause(6 * time.Millisecond)
		} else {
			first := <-answered
			answered <- first
		}
		m.dies()
		m.again()
		first := <-answered
		result, err := m.client.Run(t.Context(), r)
		require.NoError(t, err)
		if first.UID == "" {
			before++
		} else {
			require.Equal(t, first.UID, result.Job.UID)
		}
		job := m.awaitEnd(messages.JobID(result.Job.UID))
		require.Equal(t, messages.Exited, job.End.Outcome)
		require.Equal(t, 3, job.End.Shell())
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "x\n", string(text), "job %d, answered: %v", i, first.UID != "")
	}
	t.Logf("%d died before their answer", before)
}

// A ULID made by the caller is a key as well: a client without a key comes back to its job,
// which has run once.
func TestFaultDaemonDiesAroundAStartWithoutAKey(t *testing.T) {
	t.Parallel()
	m := begins(t)
	for i := range instants(6) {
		file := m.file("ran" + strconv.Itoa(i))
		r := messages.RunCommand{UID: messages.UID(ulid.Make().String()), Program: messages.Program{Text: "echo x >> " + file + "; exit 3"}, Mode: messages.ModeAsync}
		requested := make(chan error, 1)
		go func() {
			_, err := m.client.Run(t.Context(), r)
			requested <- err
		}()
		pause(6 * time.Millisecond)
		m.dies()
		m.again()
		require.NoError(t, <-requested, "it comes back to the next daemon")
		job, err := m.client.Job(t.Context(), messages.JobID(r.UID))
		require.NoError(t, err)
		if job = m.awaitEnd(messages.JobID(job.UID)); job.End.Outcome == messages.FailedToStart {
			require.NoFileExists(t, file, "a job that failed to start has run")
			continue
		}
		require.Equal(t, messages.Exited, job.End.Outcome)
		require.Equal(t, 3, job.End.Shell())
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, 1, bytes.Count(text, []byte("x")))
	}
}

// A daemon dies while jobs end: their status and one notice each come after the
// restart (F05, F46).
func TestFaultDaemonDiesWhileJobsEnd(t *testing.T) {
	t.Parallel()
	m := begins(t)
	ends := make(chan messages.Record, 1000)
	listening := make(chan struct{})
	go func() {
		defer close(ends)
		close(listening)
		for e, err := range m.client.Events(t.Context(), messages.Subscribe{Now: true, Filter: messages.Filter{Ends: true}}) {
			if err != nil {
				return
			}
			if e.Kind == "command_finished" {
				ends <- *e.Job
			}
		}
	}()
	<-listening
	heard := map[messages.UID]int{}
	first := m.run(messages.RunCommand{Program: messages.Program{Text: "true"}}) // after it, events are received
	for heard[first.UID] == 0 {
		select {
		case job := <-ends:
			heard[job.UID]++
		case <-time.After(100 * time.Millisecond):
			first = m.run(messages.RunCommand{Program: messages.Program{Text: "true"}})
		}
	}
	codes := map[messages.UID]int{}
	for i := range instants(6) {
		for j := range 5 {
			code := 10 + 5*i + j
			job := m.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("sleep 0.%03d; exit %d", rand.IntN(60), code)}})
			codes[job.UID] = code
		}
		pause(60 * time.Millisecond)
		m.killed()
		m.again()
	}
	for uid, code := range codes {
		job := m.awaitEnd(messages.JobID(uid))
		require.Equal(t, messages.Exited, job.End.Outcome)
		require.Equal(t, code, job.End.Shell())
	}
	last := m.run(messages.RunCommand{Program: messages.Program{Text: "true"}})
	for job := range ends {
		if heard[job.UID]++; job.UID == last.UID {
			break
		}
	}
	for uid := range codes {
		require.Equal(t, 1, heard[uid], "notices of the end of %s", uid)
	}
}

// With a thousand live jobs the next daemon has all of them at once (F06).
func TestFaultDaemonDiesWithAThousandJobs(t *testing.T) {
	const n = 1000
	m := begins(t)
	var jobs [n]messages.UID
	require.NoError(t, inTurns(n, 32, func(i int) error {
		result, err := m.client.Run(t.Context(), messages.RunCommand{
			Session: messages.SessionID(fmt.Sprint("s", i/50)), Program: messages.Program{Argv: []string{"sleep", "600"}}, Mode: messages.ModeAsync,
		})
		jobs[i] = result.Job.UID
		return err
	}))
	m.killed()
	begun := time.Now()
	m.again()
	settles(t, "jobs that are not adopted", 0, func() int {
		list, err := m.client.Jobs(t.Context(), messages.ListJobs{})
		require.NoError(t, err)
		there := map[messages.UID]bool{}
		for _, job := range list.Jobs { // the keeper reports a start that was not recorded yet
			require.Contains(t, []messages.State{messages.Starting, messages.Running}, job.State, "%+v", job)
			there[job.UID] = job.State == messages.Running
		}
		missing := n
		for _, uid := range jobs {
			if there[uid] {
				missing--
			}
		}
		return missing
	})
	took := time.Since(begun)
	t.Logf("%d jobs were adopted within %s of the start of the daemon", n, took)
	require.Less(t, took, tooLong/4) // the figure is the benchmark's
	stopped, err := m.client.Stop(t.Context(), messages.StopCommand{Scope: "main", Grace: -1})
	require.NoError(t, err)
	require.Len(t, stopped.Jobs, n)
	require.Empty(t, stopped.Survivors)
}

// The whole process group of a daemon is killed, as a service manager or a
// terminal does it: neither the keeper nor a job is in it.
func TestFaultGroupOfTheDaemonDies(t *testing.T) {
	t.Parallel()
	m := begins(t)
	open := gate(t, m.file("gate"))
	job := m.run(messages.RunCommand{Program: messages.Program{Text: "read x < " + m.file("gate") + "; exit 6"}})
	keeper := m.keeper()
	require.NoError(t, syscall.Kill(-m.Process.Pid, syscall.SIGKILL))
	<-m.ended
	m.again()
	require.Equal(t, keeper, m.keeper())
	open()
	job = m.awaitEnd(messages.JobID(job.UID))
	require.Equal(t, messages.Exited, job.End.Outcome)
	require.Equal(t, 6, job.End.Shell())
}

// What a dead daemon's last child holds for a moment keeps no daemon from its place.
func TestFaultLockOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	m := begins(t)
	m.killed()
	lock, err := os.Open(filepath.Join(m.state, config.LockName))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	freed := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { freed <- syscall.Flock(int(lock.Fd()), syscall.LOCK_UN) })
	m.again()
	require.NoError(t, <-freed)
}

// A hundred daemons that die leave neither descriptors nor goroutines nor cgroups
// in the keeper (F08).
func TestFaultDaemonsLeaveNothing(t *testing.T) {
	t.Parallel()
	m := begins(t)
	job := m.run(messages.RunCommand{Program: messages.Program{Text: "sleep 600"}})
	m.killed() // what the keeper makes once is there now
	m.again()
	keeper := m.keeper()
	cgroup := cgroupOf(t, keeper)
	before := descriptors(keeper, cgroup)
	threads, groups := listed(keeper, "task"), directories(cgroup)
	kills := 15
	if need.Soak() {
		kills = 100
	}
	begun := time.Now()
	for range kills {
		more := m.run(messages.RunCommand{Program: messages.Program{Text: "echo some; exit 3"}})
		pause(20 * time.Millisecond)
		m.killed()
		m.again()
		m.awaitEnd(messages.JobID(more.UID))
		settles(t, "outputs in memory, each of which is a descriptor", 0, func() int { // a job is over a moment after its result
			_, err := host.Ask(t.Context(), m.client.Host(), messages.RemoveJob{Job: messages.JobID(more.UID)})
			return map[bool]int{true: 0, false: 1}[err == nil]
		})
	}
	t.Logf("%d daemons died within %s", kills, time.Since(begun))
	defer func() {
		if t.Failed() {
			t.Logf("descriptors before: %q, after: %q", before, descriptors(keeper, cgroup))
		}
	}()
	settles(t, "descriptors", len(before)+2, func() int { return len(descriptors(keeper, cgroup)) })
	settles(t, "threads", threads+kills*2/3, func() int { return listed(keeper, "task") })
	// Emptied ones are kept for the next jobs, as many as there were at once on a busy machine.
	settles(t, "cgroups", groups+kills/2, func() int { return directories(cgroup) })
	now, err := m.client.Job(t.Context(), messages.JobID(job.UID))
	require.NoError(t, err)
	require.Equal(t, messages.Running, now.State)
	defer func() { _ = syscall.Kill(now.PID, syscall.SIGKILL) }() // its keeper dies without a successor
	require.Less(t, m.goroutines(keeper), 60)
}

// descriptors returns what a process has open outside its cgroup.
func descriptors(pid int, cgroup string) (open []string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if to, _ := os.Readlink(filepath.Join(dir, e.Name())); !strings.HasPrefix(to, cgroup+"/") {
			open = append(open, to)
		}
	}
	return open
}

// goroutines counts the goroutines of the keeper, which prints their stacks on QUIT.
func (m *mortal) goroutines(keeper int) int {
	m.t.Helper()
	m.killed()
	require.NoError(m.t, syscall.Kill(keeper, syscall.SIGQUIT))
	settles(m.t, "keepers", 0, func() int { return len(keepersOf(m.state)) })
	text, err := os.ReadFile(filepath.Join(m.state, "keeper/keeper.err"))
	require.NoError(m.t, err)
	n := bytes.Count(text, []byte("\ngoroutine "))
	require.Positive(m.t, n)
	return n
}
