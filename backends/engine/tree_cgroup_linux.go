package engine

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// cgroupTree tracks a job by its cgroup: all its forks are in it, and one write kills
// them.
type cgroupTree struct {
	h   *platform
	job *job
	cg  *cgroup

	mu   sync.Mutex
	stop func() // of the watch
}

func (t *cgroupTree) isolation() messages.Isolation { return messages.InCgroup }

func (t *cgroupTree) path() string { return t.cg.all.name + "/" + t.cg.name }

// count makes one read if nothing is left, as is usual.
func (t *cgroupTree) count(tell func(int, bool)) {
	left, empty := 0, true
	t.cg.while(func() {
		if populated, _ := t.cg.populated(); populated {
			left, empty = len(t.cg.procs()), false
		}
	})
	tell(left, empty)
}

// empty reports whether the cgroup is empty.
func (t *cgroupTree) empty() bool {
	empty, err := t.isEmpty()
	return empty && err == nil
}

func (t *cgroupTree) isEmpty() (empty bool, err error) {
	empty = true // it was removed
	t.cg.while(func() {
		var populated bool
		populated, err = t.cg.populated()
		empty = !populated
	})
	return empty, err
}

func (t *cgroupTree) await(empty func()) {
	var ended, polled sync.Once
	look := func() (over bool, err error) {
		if over, err = t.isEmpty(); over && err == nil {
			ended.Do(func() {
				t.unwatch()
				empty()
			})
		}
		return over && err == nil, err
	}
	poll := func() { // without a watch, or after a failed read
		polled.Do(func() {
			t.h.poll(t.job, func() bool {
				over, _ := look()
				return over
			})
		})
	}
	stop, err := t.h.cgroups.watch.add(t.cg, func() {
		defer t.job.guard()
		if _, err := look(); err != nil {
			poll()
		}
	})
	if err != nil {
		poll()
		return
	}
	t.mu.Lock()
	t.stop = stop
	t.mu.Unlock()
	if _, err := look(); err != nil { // it may have emptied before the watch
		poll()
	}
}

func (t *cgroupTree) unwatch() {
	t.mu.Lock()
	stop := t.stop
	t.stop = nil
	t.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// signal opens a pidfd for each process and signals those still in the cgroup. The
// pidfd pins the process; the second list proves that it belongs to the job.
func (t *cgroupTree) signal(sigs ...syscall.Signal) {
	t.h.engine.bounded(func() {
		t.cg.while(func() {
			pids := t.cg.procs()
			for len(pids) > 0 {
				n := min(len(pids), signalBatch)
				t.signalBatch(pids[:n], sigs)
				pids = pids[n:]
			}
		})
	})
}

// signalBatch bounds the pidfds open at a time.
const signalBatch = 64

func (t *cgroupTree) signalBatch(pids []int, sigs []syscall.Signal) {
	fds := make(map[int]int, len(pids))
	for _, pid := range pids {
		if fd, err := t.h.sys.PidfdOpen(pid); err == nil {
			fds[pid] = fd
			defer t.h.sys.Close(fd)
		}
	}
	members := t.cg.procs()
	for _, pid := range pids {
		fd, ok := fds[pid]
		if !ok || !slices.Contains(members, pid) {
			continue
		}
		for _, sig := range sigs {
			_ = t.h.sys.PidfdSignal(fd, sig, 0) // ESRCH: it has ended
		}
	}
}

// killRounds bounds the kill without cgroup.kill: a fork bomb may be faster than any scan.
const (
	killRounds = 50
	killPause  = 2 * time.Millisecond
)

func (t *cgroupTree) atOnce() bool { return t.h.cgroups.canEnd }

func (t *cgroupTree) kill() {
	var err error
	t.h.engine.bounded(func() { t.cg.while(func() { err = t.cg.kill() }) })
	if err == nil {
		return
	}
	// Before Linux 5.14, or if refused: kill process by process, in rounds.
	for range killRounds {
		t.signal(unix.SIGSTOP)
		t.signal(unix.SIGKILL)
		t.cg.while(t.cg.thaw)
		if t.empty() || !t.h.rest(killPause) {
			return
		}
	}
}

func (t *cgroupTree) pids() (list []int) {
	t.cg.while(func() { list = t.cg.procs() })
	return list
}

func (t *cgroupTree) survivors() []messages.Survivor { return survivorsOf(t.h.sys, t.pids()) }

func (t *cgroupTree) oom(end messages.ExitStatus, stopped bool, before int64) messages.Tristate {
	if !t.cg.all.memory {
		return t.h.memory.judge(end, stopped, before)
	}
	if before < 0 {
		return messages.Unknown
	}
	now := t.ooms()
	switch {
	case now < 0:
		return messages.Unknown
	case now > before:
		return messages.Yes
	}
	return messages.No
}

// ooms returns the kernel's count of OOM kills; -1: unknown.
func (t *cgroupTree) ooms() int64 {
	now := int64(-1)
	t.cg.while(func() { now = t.cg.oomKills() })
	return now
}

func (t *cgroupTree) end() {
	t.unwatch()
	t.cg.release()
}
