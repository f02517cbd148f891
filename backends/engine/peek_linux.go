package engine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// Why a child has ended: si_code of waitid(2), which x/sys lacks.
const cldExited = 1

// peek reads the end of the main process while it is a zombie: the journal has
// to know it before nobody else can tell. It reports whether the kernel did.
func (j *job) peek(end *ending) bool {
	var info unix.Siginfo
	var usage unix.Rusage
	if err := j.e.opt.Sys.Inspect(j.root.pid, &info, &usage); err != nil || infoPid(&info) != j.root.pid {
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
