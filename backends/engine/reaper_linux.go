package engine

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// reaper waits for every child of a process that is ours alone, in one
// thread and without a descriptor for any of them. A child is reaped as soon as
// it was seen: nothing stays a zombie for its drain.
type reaper struct {
	platform *platform
	wake     chan struct{} // a child was forked; capacity 1
	stop     chan struct{}
	done     chan struct{}

	*inflightForks              // a child whose fork is under way is no stray
	roots          map[int]*job // guarded by the forks' mu
	action         *sigaction   // what SIGCHLD did before; nil: it does so still
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

// silence has the kernel drop SIGCHLD, as it does by default: who waits hears of an
// exit without it. The Go runtime has a handler, for which each exit takes one more
// thread out of its sleep, 12 µs a job. A child is a zombie until it is waited for, as
// before: only a signal that is ignored expressly would change that.
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

// count is how many jobs live.
func (r *reaper) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.roots)
}

// execBound is how long a child that has exited waits for its own fork to be over before
// it is looked at: an exec takes a millisecond.
const execBound = 10 * time.Millisecond

// owner finds the job of a child that has exited; nil is a stray. One that leads a
// session may be a main process whose fork is under way still, and that is waited for;
// any other is not, since the exec of another's child may take long.
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

// leads reports whether a process leads a session, or cannot be looked at. Called with
// mu, which it lets go of meanwhile.
func (r *reaper) leads(pid int) bool {
	r.mu.Unlock()
	defer r.mu.Lock()
	p, ok := statProc(r.platform.sys, pid)
	return !ok || p.sid == pid
}

// settled waits for the forks that are under way.
func (r *reaper) settled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(nil, nil)
}

// remove forgets a job that was reaped. Its number may be another's by now.
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

// strays are those of pids that no job was started as.
func (r *reaper) strays(pids []int) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(nil, nil)
	var out []int
	for _, pid := range pids {
		if r.roots[pid] == nil {
			out = append(out, pid)
		}
	}
	return out
}

func (r *reaper) loop() {
	defer close(r.done)
	for pause := pollFirst; ; {
		runtime.Gosched() // a wait holds its processor for a while: others go first
		var info unix.Siginfo
		err := r.platform.sys.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT)
		switch {
		case err == nil:
			pause = pollFirst
			r.reap(infoPid(&info))
			continue
		case err == unix.ECHILD:
			if !r.sleep(nil) {
				return
			}
			continue
		}
		// Waiting itself has failed: look again, and ask for each child meanwhile.
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

// backstopLast paces the waiting of a kernel that refuses to wait.
const backstopLast = 200 * time.Millisecond

// sleep waits for a fork, for due, or for the end, of which it reports false.
func (r *reaper) sleep(due <-chan time.Time) bool {
	select {
	case <-r.wake:
	case <-due:
	case <-r.stop:
		return false
	}
	return true
}

// reap takes one child that has exited.
func (r *reaper) reap(pid int) {
	if pid == 0 {
		return
	}
	j := r.owner(pid)
	if j == nil {
		_, _ = r.platform.sys.Wait4(pid, nil, 0, nil)
		if r.platform.orphans != nil {
			r.platform.orphans.stir()
		}
		return
	}
	j.reapSafely()
	r.remove(pid, j)
}

// lookAtEach asks for the exit of each job in turn.
func (r *reaper) lookAtEach() {
	r.mu.Lock()
	roots := make(map[int]*job, len(r.roots))
	for pid, j := range r.roots {
		roots[pid] = j
	}
	r.mu.Unlock()
	for pid, j := range roots {
		if r.platform.hasExited(&j.proc) {
			j.reapSafely()
			r.remove(pid, j)
		}
	}
}

func (r *reaper) ended() bool { return isClosed(r.done) }

// close ends the loop. With children that cannot be ended it is left to wait
// for them: a wait cannot be interrupted.
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
