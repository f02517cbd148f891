package engine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// executing shows no arguments and no environment so often, as a process has none for a moment
// of its exec.
type executing struct {
	kernel
	left atomic.Int32
}

func (s *executing) OpenAt(dir int, path string, flags int) (int, error) {
	if strings.HasSuffix(path, "/environ") && s.left.Add(-1) >= 0 || strings.HasSuffix(path, "/cmdline") && s.left.Load() > 0 {
		path = os.DevNull
	}
	return s.kernel.OpenAt(dir, path, flags)
}

// An orphan is its job's, also at the moment of an exec: what was to be ended with the
// job is.
func TestAnOrphanThatExecutesIsItsJobs(t *testing.T) {
	if !modeNow().own {
		return // orphans are not ours
	}
	sys := &executing{}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	if r.e.host.cgroups != nil {
		return // a cgroup tells whose it is
	}
	other := r.up("echo up; sleep 100") // with one alone it would be guessed
	g := newGate(t)
	s := r.spec("setsid sh -c 'echo up; exec sleep 100 >/dev/null 2>&1' & read x < " + g.path)
	s.OnExit = messages.KillChildren
	e := r.start(s)
	e.grown(messages.Merged, 0) // it is in a session of its own
	sys.left.Store(100)         // a busy machine
	g.open()
	if x := await[messages.ProcessExited](e); x.Children != 1 {
		t.Errorf("%+v", x)
	}
	e.over()
	other.proc.Stop(client(), 0)
	other.over()
}

// ending opens a gate when the orphans have been listed. Then it waits until the list is
// another one: an orphan has ended, and its child is an orphan now.
type ending struct {
	kernel
	gate   gate
	on     atomic.Bool
	listed atomic.Int32 // its descriptor, plus one
}

func (s *ending) OpenAt(dir int, path string, flags int) (int, error) {
	fd, err := s.kernel.OpenAt(dir, path, flags)
	if err == nil && path == orphansPath() && s.on.Load() {
		s.listed.Store(int32(fd) + 1)
	}
	return fd, err
}

func (s *ending) Close(fd int) error {
	if s.listed.CompareAndSwap(int32(fd)+1, 0) && s.on.CompareAndSwap(true, false) {
		before, _ := os.ReadFile(orphansPath())
		s.gate.open()
		for after := before; bytes.Equal(before, after); {
			after, _ = os.ReadFile(orphansPath())
		}
	}
	return s.kernel.Close(fd)
}

// orphansPath is the list of the children of the main thread.
func orphansPath() string {
	return procPath(os.Getpid(), "task/"+strconv.Itoa(os.Getpid())+"/children")
}

// An orphan that ends while the orphans are looked at leaves its child to its job.
func TestAnOrphanThatEndsDuringAScanLeavesItsChild(t *testing.T) {
	if !modeNow().own {
		return // orphans are not ours
	}
	sys := &ending{gate: newGate(t)}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	if r.e.host.cgroups != nil {
		return // a cgroup counts them
	}
	sys.on.Store(true)
	e := r.start(r.spec("(read x < " + sys.gate.path + "; sleep 1000 & exit 0) >/dev/null 2>&1 & exit 0"))
	if x := await[messages.ProcessExited](e); x.Children != 1 {
		t.Errorf("%+v", x)
	}
	e.proc.Stop(client(), 0)
	e.over()
}

// A number that is used again is the younger job's.
func TestAnOrphanIsNoElderJobs(t *testing.T) {
	r := newRig(t)
	a, b := r.up("echo up; sleep 100"), r.up("echo up; sleep 100")
	elder, younger := r.e.find(a.id), r.e.find(b.id)
	w := newOrphanScanner(r.e.host)
	was := elder.proc.pid
	elder.proc.pid = younger.proc.pid
	elder.proc.start, younger.proc.start = 1, 2
	for range 50 { // maps have no order
		if got := w.live().sessions[younger.proc.pid]; got != younger {
			t.Fatal("it is the elder's")
		}
	}
	elder.proc.pid = was
	for _, e := range []*ear{a, b} {
		e.proc.Stop(client(), 0)
		e.over()
	}
}

// An exec that takes long, as from a disk that is slow, delays nobody's result, whatever
// orphans end meanwhile.
func TestAnOrphanDoesNotWaitForAnExec(t *testing.T) {
	if !modeNow().own {
		return // orphans are not ours
	}
	r := newRig(t)
	if r.e.host.cgroups == nil {
		return // all are listed, and who is being forked must be known
	}
	g := newGate(t)
	a := r.start(r.spec("(read x < " + g.path + ") >/dev/null 2>&1 & exit 0"))
	if x := await[messages.ProcessExited](a); x.Children != 1 {
		t.Fatalf("%+v", x)
	}
	ticket := r.e.host.forks.enter() // it is not over until we say so
	func() {
		defer r.e.host.forks.leave(ticket) // or the engine does not end
		g.open()
		await[messages.TreeEnded](a)
		await[messages.ProcessExited](r.start(r.argv("/bin/true")))
	}()
	a.over()
}

// sightless can look at no process: there is no descriptor for it.
type sightless struct {
	kernel
	on      atomic.Bool
	refused atomic.Int32
}

func (s *sightless) OpenAt(dir int, path string, flags int) (int, error) {
	if s.on.Load() && (strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "cgroup.") || strings.Contains(path, "/cgroup.")) {
		s.refused.Add(1)
		return -1, unix.EMFILE
	}
	return s.kernel.OpenAt(dir, path, flags)
}

func (s *sightless) PidfdOpen(pid int) (int, error) {
	if s.on.Load() {
		return -1, unix.EMFILE
	}
	return s.kernel.PidfdOpen(pid)
}

// A tree of which nothing is left has ended, also if nobody could look when it did.
func TestATreeEndsBehindAShortage(t *testing.T) {
	sys := &sightless{}
	r := newRig(t, func(o *Options) { o.Sys, o.Fault = sys, func(messages.UID, error) {} })
	c := r.e.host.cgroups
	if c == nil {
		return // there is no file to look into
	}
	c.open.Add(maxOpen) // as with many jobs: theirs are opened for each look
	defer c.open.Add(-maxOpen)
	g := newGate(t)
	e := r.up("echo up; read x < " + g.path)
	sys.on.Store(true)
	g.open()
	await[messages.ProcessExited](e)
	time.AfterFunc(5*pollFirst, func() { sys.on.Store(false) })
	await[messages.TreeEnded](e)
	e.over()
}

// Leftovers that cannot be looked at are not gone: the job is over when they can be, and are.
func TestLeftoversOfAGroupAreNotGoneUnseen(t *testing.T) {
	sys := &sightless{}
	r := newRig(t, func(o *Options) { o.Sys, o.Fault = sys, func(messages.UID, error) {} })
	if r.e.Features().Isolation != messages.Group {
		return // it does not read the table of processes
	}
	const leaves = "sleep 600 > /dev/null 2>&1 & echo $!; "
	e := r.start(r.spec("set -m; " + leaves + leaves + "set +m; " + leaves))
	await[messages.ProcessExited](e)
	var apart, other, inGroup int
	if _, err := fmt.Sscan(r.output(e, messages.Merged), &apart, &other, &inGroup); err != nil {
		t.Fatal(err)
	}
	end := func(pid int) {
		_ = unix.Kill(pid, unix.SIGKILL)
		until(t, func() bool { return unix.Kill(pid, 0) == unix.ESRCH })
	}
	end(inGroup)
	sys.on.Store(true)
	end(min(apart, other)) // the one that is waited for
	until(t, func() bool { return sys.refused.Load() > 100 })
	if has[messages.TreeEnded](e) {
		t.Error("the job is over although a process of it lives")
	}
	sys.on.Store(false)
	end(max(apart, other))
	await[messages.TreeEnded](e)
}

// Where the kernel shows no processes, a leftover of a group is known to be there, and a stop ends it.
func TestLeftoversOfAGroupWithoutProc(t *testing.T) {
	sys := &sightless{}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	if r.e.Features().Isolation != messages.Group {
		return // it does not read the table of processes
	}
	r.e.host.probed.NoProcesses = "of a test"
	e := r.up("sleep 600 > /dev/null 2>&1 & echo up")
	sys.on.Store(true)
	defer sys.on.Store(false)
	if x := await[messages.ProcessExited](e); x.Children != 1 {
		t.Errorf("%d processes are left, want 1", x.Children)
	}
	e.proc.Stop(client(), 0)
	await[messages.TreeEnded](e)
}

// Who cannot be looked at is not gone: a stop for want of descriptors ends all the same,
// when there are some.
func TestAStopEndsWhoCouldNotBeSeen(t *testing.T) {
	sys := &sightless{}
	r := newRig(t, func(o *Options) { o.Sys, o.Fault = sys, func(messages.UID, error) {} })
	c := r.e.host.cgroups
	if c == nil && !modeNow().own {
		return // a group is signalled, and nobody looked for
	}
	if c != nil {
		c.open.Add(maxOpen)
		defer c.open.Add(-maxOpen)
	}
	e := r.up("sleep 101 & echo $!; sleep 102")
	child, err := strconv.Atoi(strings.TrimSpace(r.output(e, messages.Merged)))
	if err != nil {
		t.Fatal(err)
	}
	sys.on.Store(true)
	e.proc.Stop(client(), 0)
	time.AfterFunc(300*time.Millisecond, func() { sys.on.Store(false) })
	ended := await[messages.TreeEnded](e)
	if p, ok := statProc(kernel{}, child); ok && !p.dead() {
		t.Errorf("%+v, and %+v lives", ended, p)
	}
	e.over()
}

// A process of the host is of no job, also one that starts while the only job runs.
func TestAProcessOfTheHostIsOfNoJob(t *testing.T) {
	var host atomic.Int64
	r := newRig(t, func(o *Options) { o.Beside = func(pid int) bool { return int64(pid) == host.Load() } })
	if !r.e.opt.Own {
		return // it waits for its own children alone; TestModes runs the others
	}
	g := newGate(t)
	e := r.up("echo up; read x < " + g.path)
	beside := exec.Command("sleep", "1000")
	beside.Env, beside.SysProcAttr = []string{}, &syscall.SysProcAttr{Setsid: true}
	if err := beside.Start(); err != nil {
		t.Fatal(err)
	}
	pid := beside.Process.Pid
	host.Store(int64(pid))
	g.open()
	if x := e.over(); x.Children != 0 || len(x.Flags) != 0 || !lives(pid) {
		t.Errorf("%+v; the process lives: %v", x, lives(pid))
	}
	gone := exitOf(t, pid)
	if err := beside.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone() // the engine reaps it
	_ = beside.Process.Release()
}
