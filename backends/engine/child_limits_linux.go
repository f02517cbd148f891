package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// quickFork bounds the time from before a fork, in which a new process can hardly fork itself.
const quickFork = 2 * time.Millisecond

// setLimits gives a new process the limits of jobs, before its start is reported. After a slow
// fork the process may have children, which get them, too.
func (l *launch) setLimits(pid int, before time.Duration) {
	if len(l.h.engine.opt.SoftLimits) == 0 && len(l.h.jobOOMText) == 0 {
		return
	}
	l.h.setJobOOM(pid)
	l.h.setChildLimits(pid)
	if now, _ := l.h.sys.Boottime(); now-before < quickFork {
		return
	}
	for _, pid := range l.started(pid) {
		if own, err := readOOM(l.h.sys, pid); err == nil && own < l.h.jobOOM { // else it was raised on purpose
			l.h.setJobOOM(pid)
		}
		l.h.setChildLimits(pid)
	}
}

// started returns the processes that a new process has started.
func (l *launch) started(pid int) []int {
	if l.cg != nil {
		return l.cg.procs()
	}
	return pidsOf((&subreaperTree{platform: l.h}).below([]proc{{pid: pid}}))
}

// setChildLimits lowers the soft limits of a process of a job. A set-user-ID program keeps its own.
func (h *platform) setChildLimits(pid int) {
	for resource, soft := range h.engine.opt.SoftLimits {
		var l unix.Rlimit
		if h.sys.Prlimit(pid, resource, nil, &l) == nil && l.Cur > soft {
			l.Cur = soft
			_ = h.sys.Prlimit(pid, resource, &l, nil)
		}
	}
}
