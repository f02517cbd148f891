package engine

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// resources are the numbers of the names that messages.Limits knows.
var resources = [...]struct {
	name   string
	number int
}{
	{"as", unix.RLIMIT_AS},
	{"core", unix.RLIMIT_CORE},
	{"cpu", unix.RLIMIT_CPU},
	{"data", unix.RLIMIT_DATA},
	{"fsize", unix.RLIMIT_FSIZE},
	{"locks", unix.RLIMIT_LOCKS},
	{"memlock", unix.RLIMIT_MEMLOCK},
	{"msgqueue", unix.RLIMIT_MSGQUEUE},
	{"nice", unix.RLIMIT_NICE},
	{"nofile", unix.RLIMIT_NOFILE},
	{"nproc", unix.RLIMIT_NPROC},
	{"rss", unix.RLIMIT_RSS},
	{"rtprio", unix.RLIMIT_RTPRIO},
	{"rttime", unix.RLIMIT_RTTIME},
	{"sigpending", unix.RLIMIT_SIGPENDING},
	{"stack", unix.RLIMIT_STACK},
}

// OwnLimits returns the limits that a child of this process has.
func OwnLimits() messages.Limits { return limitsOfChildren(nil) }

// limitsOfChildren returns what OwnLimits does, with lower soft limits by resource.
func limitsOfChildren(lower map[int]uint64) (l messages.Limits) {
	for _, r := range resources {
		var now unix.Rlimit
		if unix.Prlimit(0, r.number, nil, &now) != nil {
			continue
		}
		entry := messages.Rlimit{Name: r.name, Soft: &now.Cur, Hard: &now.Max}
		if soft, is := lower[r.number]; is {
			now.Cur = min(now.Cur, soft)
		}
		if r.number == unix.RLIMIT_NOFILE && now.Cur == now.Max-1 {
			entry.Soft = nil // the Go runtime has raised it so far, and hides the former one
		}
		l.Rlimits = append(l.Rlimits, entry.String())
	}
	if p, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid()); err == nil {
		l.Nice = 20 - p // as the system call returns it
	}
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) == nil {
		l.CPUs = cpuList(&set)
	}
	return l
}

// cpuList returns a set as messages.ParseCPUs reads it.
func cpuList(set *unix.CPUSet) string {
	var parts []string
	for n := 0; n < messages.MaxCPUs; n++ {
		if !set.IsSet(n) {
			continue
		}
		part := strconv.Itoa(n)
		if first := n; set.IsSet(n + 1) {
			for set.IsSet(n + 1) {
				n++
			}
			part = strconv.Itoa(first) + "-" + strconv.Itoa(n)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// differs reports whether a job has other limits than each child of this process.
func (h *platform) differs(l *messages.Limits) bool {
	if l.Nice == 0 && l.CPUs == "" && len(l.Rlimits) == 0 {
		return false
	}
	own := h.limits()
	return l.Nice != 0 && l.Nice != own.Nice || l.CPUs != "" && l.CPUs != own.CPUs || len(l.Rlimits) > 0 && !slices.Equal(l.Rlimits, own.Rlimits)
}

// forkLimited forks a process that has the limits of its job before its first instruction: it
// stops in its exec, traced by this thread, until they are set. Where it cannot be traced,
// they are set at once after the fork.
func (l *launch) forkLimited(attr *syscall.ProcAttr) (pid int, err error) {
	l.late = false
	if !l.h.differs(&l.spec.Attr.Limits) {
		return l.h.sys.Fork(l.path, l.spec.Argv, attr)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if l.traceable() {
		traced, sys := *attr, *attr.Sys
		traced.Sys, sys.Ptrace = &sys, true
		if pid, err = l.h.sys.Fork(l.path, l.spec.Argv, &traced); err == nil {
			l.limitInExec(pid)
			return pid, nil
		}
		if err != unix.EPERM && err != unix.EACCES && err != unix.ENOSYS { // a filter or a security module may forbid it
			return pid, err
		}
	}
	if pid, err = l.h.sys.Fork(l.path, l.spec.Argv, attr); err == nil {
		l.late = true
		l.limit(pid)
	}
	return pid, err
}

// limitInExec gives a traced process its limits when it stops in its exec, and ends the trace.
// A signal that stops it earlier is sent again when it has them.
func (l *launch) limitInExec(pid int) {
	sys := l.h.sys
	var held []syscall.Signal
	for {
		var info unix.Siginfo
		if sys.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT) != nil || info.Code != cldTrapped {
			break
		}
		sig := syscall.Signal(infoStatus(&info))
		if sig == unix.SIGTRAP {
			l.limit(pid)
			break
		}
		held = append(held, sig)
		if sys.ContinueTrace(pid) != nil {
			break
		}
	}
	for _, sig := range held {
		_ = sys.Kill(pid, sig) // it has them when it continues
	}
	_ = sys.EndTrace(pid)
}

// limit gives a process the limits of its job.
func (l *launch) limit(pid int) {
	limits, given := &l.spec.Attr.Limits, true
	for _, text := range limits.Rlimits {
		want, _ := messages.ParseRlimit(text)
		given = l.h.setRlimit(pid, want) && given
	}
	if n := limits.Nice; n != 0 && n != l.h.limits().Nice && l.h.sys.SetNice(pid, n) != nil {
		given = false
	}
	if list := limits.CPUs; list != "" && list != l.h.limits().CPUs && !l.h.setCPUs(pid, list) {
		given = false
	}
	if !given && !slices.Contains(l.io.flags, messages.FlagLimitsRefused) {
		l.io.flags = append(l.io.flags, messages.FlagLimitsRefused)
	}
}

// setRlimit sets a limit of a process, or the nearest that the kernel allows. Then it returns
// false.
func (h *platform) setRlimit(pid int, want messages.Rlimit) bool {
	number := numberOf(want.Name)
	var was unix.Rlimit
	if h.sys.Prlimit(pid, number, nil, &was) != nil {
		return false
	}
	set, whole := was, true
	if want.Hard != nil {
		set.Max = *want.Hard
	}
	if low, is := h.engine.opt.SoftLimits[number]; is {
		set.Cur = min(set.Cur, low)
	}
	if want.Soft != nil {
		set.Cur = *want.Soft
		whole = set.Cur <= set.Max // "nofile=1000000:" may be above the engine's hard limit
	}
	set.Cur = min(set.Cur, set.Max)
	if set == was || h.sys.Prlimit(pid, number, &set, nil) == nil {
		return whole
	}
	set.Max = min(set.Max, was.Max)
	set.Cur = min(set.Cur, set.Max)
	_ = h.sys.Prlimit(pid, number, &set, nil)
	return false
}

func numberOf(name string) int {
	for _, r := range resources {
		if r.name == name {
			return r.number
		}
	}
	return -1 // unreachable: the request was checked
}

// setCPUs sets the CPUs of a process. It returns false if the kernel gives others.
func (h *platform) setCPUs(pid int, list string) bool {
	cpus, _ := messages.ParseCPUs(list)
	var set, now unix.CPUSet
	for _, n := range cpus {
		set.Set(n)
	}
	return h.sys.SetCPUs(pid, &set) == nil && unix.SchedGetaffinity(pid, &now) == nil && now == set
}

// names reports whether the limits of the request name a resource.
func (l *launch) names(resource int) bool {
	return l.h.differs(&l.spec.Attr.Limits) && slices.ContainsFunc(l.spec.Attr.Limits.Rlimits, func(text string) bool {
		r, _ := messages.ParseRlimit(text)
		return numberOf(r.Name) == resource
	})
}
