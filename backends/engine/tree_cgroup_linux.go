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
// them. Processes that have left it become orphans, and belong to the tree, too.
type cgroupTree struct {
	h   *platform
	job *job
	cg  *cgroup

	mu   sync.Mutex
	stop func() // of the watch
	left []proc // the cgroup, when the main process had exited
}

func (t *cgroupTree) isolation() messages.Isolation { return messages.InCgroup }

func (t *cgroupTree) path() string { return t.cg.all.name + "/" + t.cg.name }

// count makes two reads if nothing is left, as is usual. After a stop verify looks for
// escapees.
func (t *cgroupTree) count(tell func(int, bool)) {
	left, empty := 0, true
	t.cg.while(func() {
		if populated, _ := t.cg.populated(); populated {
			left, empty = len(t.cg.procs()), false
		}
	})
	if t.job.stopping() || t.noneLeft() {
		tell(left, empty)
		return
	}
	t.h.orphans.ask(t.job, func(tops []proc) {
		escaped := t.bySubreaper().below(tops)
		t.mu.Lock()
		t.left = escaped
		t.mu.Unlock()
		tell(left+len(escaped), empty && len(escaped) == 0)
	})
}

// noneLeft reports whether no process has left the cgroup.
func (t *cgroupTree) noneLeft() bool {
	if t.h.orphans == nil {
		return true
	}
	mine, news := t.h.orphans.escapees.check(t.job, t.cg.name)
	return !mine && !news
}

func (t *cgroupTree) bySubreaper() *subreaperTree { return &subreaperTree{platform: t.h, job: t.job} }

// outside returns the live processes that have left the cgroup. It waits for no scan of
// others.
func (t *cgroupTree) outside() []proc {
	if t.h.orphans == nil {
		return nil
	}
	if _, news := t.h.orphans.escapees.check(t.job, t.cg.name); news {
		_, _ = t.h.orphans.look()
	}
	var tops []proc
	for _, p := range t.h.orphans.escapees.of(t.job) {
		if now, ok := statProc(t.h.sys, p.pid); ok && !now.dead() && now.start == p.start {
			tops = append(tops, now)
		}
	}
	return t.bySubreaper().below(tops)
}

// followFew is the number of live jobs up to which a stop looks for descendants of the main
// process in other cgroups, unless other trees are being killed. Later they are orphans, whose
// job may be in doubt.
const followFew = 16

// follow records descendants of the main process that have left the cgroup.
func (t *cgroupTree) follow() {
	if t.h.orphans == nil || t.h.reaper.count() > followFew || t.h.engine.enders.killing() {
		return
	}
	in := t.pids()
	for _, p := range t.bySubreaper().hanging() {
		if p.pid != t.job.proc.pid && !slices.Contains(in, p.pid) {
			t.h.orphans.escapees.add(p, t.job)
		}
	}
}

// escapees describes the processes that had left the cgroup when the main process had
// exited.
func (t *cgroupTree) escapees() []messages.Survivor {
	t.mu.Lock()
	list := survivorsOf(t.h.sys, pidsOf(t.left))
	t.mu.Unlock()
	for i := range list {
		list[i].Why = messages.LeftCgroup
	}
	return list
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
				t.emptied(empty)
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

// emptied waits for the processes that have left the empty cgroup. After a stop verify ends
// them.
func (t *cgroupTree) emptied(empty func()) {
	if t.job.stopping() || t.noneLeft() {
		empty()
		return
	}
	t.h.orphans.wait(t.job, empty)
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
	if escaped := t.outside(); len(escaped) > 0 {
		t.h.send(escaped, sigs...)
	}
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

// kill kills the cgroup and the known escapees. verify finds the others when the cgroup is
// empty.
func (t *cgroupTree) kill() {
	var err error
	t.h.engine.bounded(func() { t.cg.while(func() { err = t.cg.kill() }) })
	if t.h.orphans != nil && len(t.h.orphans.escapees.of(t.job)) > 0 {
		t.bySubreaper().kill()
	}
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
	return append(list, pidsOf(t.outside())...)
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
	if t.h.orphans != nil {
		t.h.orphans.forget(t.job)
	}
	t.cg.release()
}
