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
	if len(l.h.engine.opt.SoftLimits) == 0 && len(l.h.jobOOMText) == 0 && !l.late {
		return
	}
	l.h.setJobOOM(pid)
	l.setChildLimits(pid)
	if now, _ := l.h.sys.Boottime(); now-before < quickFork {
		return
	}
	for _, pid := range l.started(pid) {
		if own, err := readOOM(l.h.sys, pid); err == nil && own < l.h.jobOOM { // else it was raised on purpose
			l.h.setJobOOM(pid)
		}
		l.setChildLimits(pid)
		if l.late {
			l.limit(pid)
		}
	}
}

// started returns the processes that a new process has started.
func (l *launch) started(pid int) []int {
	if l.cg != nil {
		return l.cg.procs()
	}
	return pidsOf((&subreaperTree{platform: l.h}).below([]proc{{pid: pid}}))
}

// setChildLimits lowers the soft limits of a process of a job, except those of its request. A
// set-user-ID program keeps its own.
func (l *launch) setChildLimits(pid int) {
	for resource, soft := range l.h.engine.opt.SoftLimits {
		var was unix.Rlimit
		if l.h.sys.Prlimit(pid, resource, nil, &was) == nil && was.Cur > soft && !l.names(resource) {
			was.Cur = soft
			_ = l.h.sys.Prlimit(pid, resource, &was, nil)
		}
	}
}
