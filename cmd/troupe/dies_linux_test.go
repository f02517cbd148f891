package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/config"
	"troupe/internal/test/need"
	"troupe/messages"
)

// mortal is a daemon that is killed, again and again, in one directory; its jobs
// are in the keeper of that.
type mortal struct {
	*process
	t      *testing.T
	state  string
	client *client.Client
}

// begins starts the first daemon of a directory.
func begins(t *testing.T, env ...string) *mortal {
	t.Helper()
	p := programFor(t, long, "serve")
	p.Env = append(p.Env, env...)
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m := &mortal{process: p, t: t, state: p.file("troupe")}
	m.awakes()
	t.Cleanup(func() { m.swept() })
	return m
}

// awakes waits until the daemon takes requests.
func (m *mortal) awakes() {
	m.t.Helper()
	m.start()
	m.err.has(m.t, `"message":"ready"`)
	var err error
	m.client, err = client.Dial(m.t.Context(), m.socket())
	require.NoError(m.t, err)
}

func (m *mortal) socket() string {
	return m.file(filepath.Join(fmt.Sprintf("troupe-%d", os.Geteuid()), config.SocketName))
}

// again starts the next daemon.
func (m *mortal) again() {
	m.t.Helper()
	q := programFor(m.t, long, "serve")
	q.Dir, q.dir, q.Env = m.dir, m.dir, m.Env
	q.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m.process = q
	m.awakes()
}

// killed closes the client and kills the daemon, which cannot react.
func (m *mortal) killed() {
	m.t.Helper()
	_ = m.client.Close()
	m.dies()
}

// run asks for a job in the background.
func (m *mortal) run(r messages.RunCommand) messages.Record {
	m.t.Helper()
	r.Mode = messages.ModeAsync
	result, err := m.client.Run(m.t.Context(), r)
	require.NoError(m.t, err)
	return result.Job
}

// awaitEnd waits for the end of a job and returns its record.
func (m *mortal) awaitEnd(id messages.JobID) messages.Record {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 3*tooLong)
	defer cancel()
	_, err := host.Ask(ctx, m.client.Host(), messages.WaitJobs{Jobs: []messages.JobID{id}})
	require.NoError(m.t, err)
	job, err := m.find(id)
	require.NoError(m.t, err)
	return job
}

// find asks for a job.
func (m *mortal) find(id messages.JobID) (messages.Record, error) {
	found, err := host.Ask(m.t.Context(), m.client.Host(), messages.FindJob{Job: id})
	return found.Job, err
}

// keeper is the process that holds the jobs.
func (m *mortal) keeper() int {
	m.t.Helper()
	settles(m.t, "keepers, of which one finds another and goes", 1, func() int { return len(keepersOf(m.state)) })
	pids := keepersOf(m.state)
	require.Len(m.t, pids, 1)
	return pids[0]
}

// settles waits until a number that no event tells of is at most so large.
func settles(t *testing.T, what string, most int, now func() int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(tooLong); now() > most; <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("%s: %d, want at most %d", what, now(), most)
		}
	}
}

// listed is how many entries a directory of /proc has.
func listed(pid int, name string) int {
	names, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), name))
	return len(names)
}

// procNumber returns a number of a file in /proc, or -1 if it is not there.
func procNumber(pid int, file, key string) int {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, key+":"); is {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return -1
}

// cgroupOf is the directory of the cgroup of a process.
func cgroupOf(t *testing.T, pid int) string {
	t.Helper()
	top := need.Cgroup(t)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	require.NoError(t, err)
	_, path, _ := strings.Cut("\n"+string(text), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	for dir := top; len(dir) > 1; dir = filepath.Dir(dir) { // where the hierarchy is mounted is not ours to know
		if _, err := os.Stat(filepath.Join(dir, path, "cgroup.procs")); err == nil {
			return filepath.Join(dir, path)
		}
	}
	t.Fatalf("the cgroup %s is nowhere above %s", path, top)
	return ""
}

// directories is how many there are in one, and below.
func directories(root string) (n int) {
	_ = filepath.WalkDir(root, func(_ string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() { // else it has gone meanwhile
			n++
		}
		return nil
	})
	return n
}

// inTurns does n things, a few at a time.
func inTurns(n, few int, do func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, few)
	var all sync.WaitGroup
	for w := range few {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// instants is how often a test tries a random instant: as often as the catalogue
// has it, or a few times.
func instants(few int) int {
	if need.Soak() {
		return 20
	}
	return few
}

// pause lets a random instant come: it waits for nothing.
func pause(most time.Duration) { <-time.After(rand.N(most)) }
