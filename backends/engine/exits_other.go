//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// exits waits for the main processes of all jobs in one thread, by a kqueue. The event
// comes while the process is a zombie; the reap holds the lock that signals take.
type exits struct {
	h  *platform
	kq int

	mu   sync.Mutex
	jobs map[int]*job
	stop bool
}

func newExits(h *platform) (*exits, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(kq)
	x := &exits{h: h, kq: kq, jobs: make(map[int]*job)}
	h.engine.background(x.loop)
	return x, nil
}

// add registers a job to be reaped when its main process exits.
func (x *exits) add(pid int, j *job) {
	x.mu.Lock()
	x.jobs[pid] = j
	x.mu.Unlock()
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	if _, err := unix.Kevent(x.kq, change, nil, nil); err != nil {
		x.h.engine.run(j, func() { x.exited(pid) }) // ESRCH: it has exited already
	}
}

// exited reaps a process. If the exit is not complete the reap waits.
func (x *exits) exited(pid int) {
	x.mu.Lock()
	j := x.jobs[pid]
	delete(x.jobs, pid)
	x.mu.Unlock()
	if j != nil {
		j.reapSafely()
	}
}

// loopLook is how often the loop checks whether the engine has ended.
const loopLook = time.Second

func (x *exits) loop() {
	defer unix.Close(x.kq)
	events := make([]unix.Kevent_t, 64)
	wait := unix.NsecToTimespec(int64(loopLook))
	for {
		n, err := unix.Kevent(x.kq, nil, events, &wait)
		x.mu.Lock()
		stop := x.stop
		x.mu.Unlock()
		if stop || err != nil && err != unix.EINTR {
			return
		}
		for _, ev := range events[:max(n, 0)] {
			x.exited(int(ev.Ident))
		}
	}
}

func (x *exits) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stop = true
}

// maxRSS returns KiB; Darwin counts bytes.
func maxRSS(u *unix.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) >> 10
	}
	return int64(u.Maxrss)
}
