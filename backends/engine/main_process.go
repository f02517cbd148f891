package engine

import (
	"sync"
	"syscall"
)

// mainProcess is the main process of a job. Signals and reap share its lock, so that no
// signal reaches another process with a reused number.
type mainProcess struct {
	e     *Local
	mu    sync.Mutex
	start uint64
	pid   int   // 0: it never started
	pidfd int32 // -1: none
	gone  bool
}

// signal sends sig to the main process or its group. It returns false if the process
// was reaped or never started.
func (r *mainProcess) signal(sig syscall.Signal, group bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid == 0 || r.gone {
		return false
	}
	pid := r.pid
	if group {
		pid = -pid // it leads a process session: the group exists as long as it does
	}
	return r.e.opt.Sys.Kill(pid, sig) == nil
}

// reap calls wait, which reaps the process.
func (r *mainProcess) reap(wait func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := wait()
	r.gone = true
	return err
}

// reaped reports whether the main process was reaped.
func (r *mainProcess) reaped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}

// close closes the pidfd of a reaped process.
func (r *mainProcess) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pidfd >= 0 && r.gone {
		_ = r.e.opt.Sys.Close(int(r.pidfd))
		r.pidfd = -1
	}
}
