package engine

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// Values of si_code from waitid(2), which x/sys lacks.
const (
	cldExited  = 1 // a normal exit
	cldDumped  = 3 // the last of the exits
	cldTrapped = 4 // a traced child has stopped
)

// isExit reports whether waitid(2) has returned an exit. It returns the stops of a traced child
// to each wait.
func isExit(info *unix.Siginfo) bool { return info.Code >= cldExited && info.Code <= cldDumped }

// peekExit reads the exit of the main process while it is a zombie, for the journal:
// after the reap only this process knows the status. It reports whether the kernel had
// it.
func (j *job) peekExit(end *mainExit) bool {
	var info unix.Siginfo
	var usage unix.Rusage
	if err := j.engine.opt.Sys.Inspect(j.proc.pid, &info, &usage); err != nil || infoPid(&info) != j.proc.pid || !isExit(&info) {
		return false
	}
	end.rusage = rusageOf(&usage)
	if n := infoStatus(&info); info.Code == cldExited {
		end.status = messages.ExitStatus{Code: n}
	} else {
		end.status = messages.ExitStatus{Signal: signalName(syscall.Signal(n)), Number: n}
	}
	return true
}

// reapedWithin bounds the wait for a reap by another waiter that is in progress.
const reapedWithin = 100 * time.Millisecond

// recall reads the status of a main process that another waiter has reaped. The kernel
// keeps it for pidfds (Linux 6.15). It reports whether it did.
func (r *mainProcess) recall(ws *unix.WaitStatus) bool {
	sys := r.e.opt.Sys
	for range 2 {
		info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
		if r.pidfd < 0 || sys.PidfdInfo(int(r.pidfd), &info) != nil {
			return false
		}
		if info.Mask&unix.PIDFD_INFO_EXIT != 0 {
			*ws = unix.WaitStatus(info.Exit_code)
			return true
		}
		_ = sys.PidfdReaped(int(r.pidfd), reapedWithin)
	}
	return false
}
