package engine

import (
	"maps"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// reaper waits for every child of a process that belongs to the engine, in one thread
// and without descriptors. It reaps a child at once: no zombie waits for its drain.
type reaper struct {
	platform *platform
	wake     chan struct{} // a child was forked; capacity 1
	stop     chan struct{}
	done     chan struct{}

	*inflightForks              // a child whose fork is in progress is not an orphan
	roots          map[int]*job // by pid of the main process; guarded by the forks' mu
	action         *sigaction   // former action of SIGCHLD; nil: it is in force
	reaping        sync.Mutex   // held while an orphan is reaped, and while the children are listed
}

func newOwnReaper(h *platform) *reaper {
	r := &reaper{
		platform: h, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		inflightForks: h.forks, roots: make(map[int]*job),
	}
	r.silence()
	go r.loop()
	return r
}

// silence sets SIGCHLD to its default, in which the kernel drops it: wait does not need
// it. The Go runtime's handler wakes one more thread for each exit, 12 µs a job.
// Children remain zombies until waited for; only an explicit ignore would change that.
func (r *reaper) silence() {
	var none, was sigaction
	if r.platform.sys.SignalAction(unix.SIGCHLD, &none, &was) == nil {
		r.action = &was
	}
}

// forked wakes a reaper that had no child to wait for.
func (r *reaper) forked() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *reaper) add(pid int, j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roots[pid] = j
}

// count returns the number of live jobs.
func (r *reaper) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.roots)
}

// execBound bounds how long an exited child waits for its own fork to end. An exec
// takes a millisecond.
const execBound = 10 * time.Millisecond

// owner returns the job of an exited child; nil: an orphan. A leader of a process
// session may be a main process whose fork is in progress, so owner waits for that. It
// waits for no other, since another child's exec may take long.
func (r *reaper) owner(pid int) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.next
	if j := r.roots[pid]; j != nil || !r.underWay(before) {
		return j
	}
	t := time.NewTimer(execBound)
	defer t.Stop()
	for bound := t.C; ; {
		if over := r.wait(bound, nil); !over {
			if !r.leads(pid) {
				return r.roots[pid]
			}
			bound = nil
		}
		if j := r.roots[pid]; j != nil || !r.underWay(before) {
			return j
		}
	}
}

// leads reports whether a process leads a process session, or cannot be inspected. The
// caller holds mu, which is released meanwhile.
func (r *reaper) leads(pid int) bool {
	r.mu.Unlock()
	defer r.mu.Lock()
	p, ok := statProc(r.platform.sys, pid)
	return !ok || p.sid == pid
}

// settled waits for the forks in progress.
func (r *reaper) settled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(nil, nil)
}

// remove forgets a reaped job, unless its number is another job's by now.
func (r *reaper) remove(pid int, j *job) {
	r.mu.Lock()
	if r.roots[pid] == j {
		delete(r.roots, pid)
	}
	left := len(r.roots)
	r.mu.Unlock()
	if r.platform.orphans != nil {
		r.platform.orphans.lives(left)
	}
}

// isKnown reports whether a child is the main process of a job, or of the host.
func (r *reaper) isKnown(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known(pid)
}

// known does the work of isKnown for a caller that holds mu.
func (r *reaper) known(pid int) bool {
	beside := r.platform.engine.opt.Beside
	return r.roots[pid] != nil || beside != nil && beside(pid)
}

// children lists the children of this process. The kernel skips one if the one before it is
// reaped during the read, so no orphan is. Main processes are seldom children of the thread
// that has the orphans. If there are none, one call says so; the list takes three for each
// thread.
func (r *reaper) children() (pids []int, failed error) {
	r.reaping.Lock()
	defer r.reaping.Unlock()
	var info unix.Siginfo
	if r.platform.sys.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL) == unix.ECHILD {
		return nil, nil
	}
	return children(r.platform.sys, proc{pid: r.platform.self.pid})
}

// orphanPIDs returns those of pids that are not known.
func (r *reaper) orphanPIDs(pids []int) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(nil, nil)
	var out []int
	for _, pid := range pids {
		if !r.known(pid) {
			out = append(out, pid)
		}
	}
	return out
}

func (r *reaper) loop() {
	defer close(r.done)
	for pause := pollFirst; ; {
		runtime.Gosched() // other goroutines run before a wait holds the processor
		var info unix.Siginfo
		err := r.platform.sys.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT)
		switch {
		case err == nil && isExit(&info):
			pause = pollFirst
			r.reap(infoPid(&info))
			continue
		case err == nil && r.awaitStart(infoPid(&info)) && r.platform.takeStop(infoPid(&info)):
			continue
		case err == unix.ECHILD:
			if !r.sleep(nil) {
				return
			}
			continue
		}
		// The wait failed, or a stop hides exits from it: retry, and check each child meanwhile.
		t := time.NewTimer(pause)
		pause = min(2*pause, backstopLast)
		alive := r.sleep(t.C)
		t.Stop()
		if !alive {
			return
		}
		r.lookAtEach()
	}
}

// awaitStart waits until the fork of a traced child has ended, and reports whether it has. The
// stop of a child in its exec belongs to its fork, which lets it continue.
func (r *reaper) awaitStart(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := time.NewTimer(execBound)
	defer t.Stop()
	for before := r.next; r.roots[pid] == nil && r.underWay(before); {
		if !r.wait(t.C, nil) {
			return false
		}
	}
	return true
}

// backstopLast bounds the pause between retries of a failed wait.
const backstopLast = 200 * time.Millisecond

// sleep waits for a fork, due or the end. At the end it returns false.
func (r *reaper) sleep(due <-chan time.Time) bool {
	select {
	case <-r.wake:
	case <-due:
	case <-r.stop:
		return false
	}
	return true
}

// reap reaps one exited child.
func (r *reaper) reap(pid int) {
	if pid == 0 {
		return
	}
	j := r.owner(pid)
	if j == nil {
		if r.platform.orphans != nil {
			r.platform.orphans.stir(pid) // while its number is its own
		}
		r.reaping.Lock()
		defer r.reaping.Unlock()
		_, _ = r.platform.sys.Wait4(pid, nil, 0, nil)
		return
	}
	j.reapSafely()
	r.remove(pid, j)
}

// lookAtEach checks each job for its exit.
func (r *reaper) lookAtEach() {
	r.mu.Lock()
	roots := maps.Clone(r.roots)
	r.mu.Unlock()
	for pid, j := range roots {
		if r.platform.hasExited(&j.proc) {
			j.reapSafely()
			r.remove(pid, j)
		}
	}
}

func (r *reaper) ended() bool { return isClosed(r.done) }

// close ends the loop. If unkillable children are left, it does not wait: a wait cannot
// be interrupted.
func (r *reaper) close(alone bool) {
	close(r.stop)
	if r.action != nil {
		_ = r.platform.sys.SignalAction(unix.SIGCHLD, r.action, &sigaction{})
	}
	if !alone {
		return
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
	}
}
