package engine

import (
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// launch is one start of a process.
type launch struct {
	h    *platform
	j    *job
	spec *backends.Spec
	dir  int    // working directory; AT_FDCWD: the engine's
	path string // of the program, relative to dir
	io   *stdio
	cg   *cgroup // nil: none
	oom  int64
	late bool // the process began before it had the limits of its request
}

// spawn starts the process of a job.
func (h *platform) spawn(j *job, spec *backends.Spec) ([]*stream, *startError) {
	l := &launch{h: h, j: j, spec: spec, dir: unix.AT_FDCWD}
	fail := l.run()
	if l.dir != unix.AT_FDCWD {
		_ = h.sys.Close(l.dir)
	}
	if fail == nil {
		return l.io.streams, nil
	}
	if l.io != nil {
		l.io.undo(j, fail.again)
	}
	if l.cg != nil {
		l.cg.giveBack()
	}
	return nil, fail
}

func (l *launch) run() *startError {
	if fail := l.enter(); fail != nil {
		return fail
	}
	if fail := l.find(); fail != nil {
		return fail
	}
	io, fail := l.j.connect(l.spec, l.h.null)
	if l.io = io; fail == nil {
		fail = l.j.openShellTerminal(l.spec, io)
	}
	if fail != nil {
		return fail
	}
	if c := l.h.cgroups; c != nil {
		l.cg = c.take()
	}
	l.oom = l.oomKills()
	if err := l.h.engine.opt.at(pointFork); err != nil {
		return unexecuted(l.spec.Argv[0], err)
	}
	return l.fork()
}

// oomKills counts OOM kills in the memory of the job, or of all jobs; -1: unknown.
func (l *launch) oomKills() int64 {
	if l.cg != nil && l.cg.all.memory {
		return l.cg.oomKills()
	}
	return l.h.memory.oomKills()
}

// enter opens the working directory, so that a server that hangs blocks only this
// goroutine. The child enters it by path. (By descriptor through /proc it costs the
// kernel 30 µs more.)
func (l *launch) enter() *startError {
	if l.spec.Dir == "" {
		return nil
	}
	fd, err := l.h.sys.OpenAt(unix.AT_FDCWD, l.spec.Dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return noDirectory(l.spec.Dir, err)
	}
	l.dir = fd
	return nil
}

func (l *launch) find() *startError {
	path, err := lookup(l.h.sys, l.dir, l.spec)
	if err != nil {
		return unexecuted(l.spec.Argv[0], err)
	}
	l.path = path
	return nil
}

// fork forks, and again without the cgroup if the kernel refuses CLONE_INTO_CGROUP, as
// containers may do (runc#4812). A cgroup that another process has removed is replaced.
func (l *launch) fork() *startError {
	err := l.try()
	if err == unix.ENOENT && l.spec.Program != "" { // the cached path is outdated
		l.spec.Program = ""
		if fail := l.find(); fail != nil {
			return fail
		}
		err = l.try()
	}
	for err == unix.ENOENT && l.cg != nil && l.cg.removed() {
		l.cg.close()
		l.cg = l.h.cgroups.take()
		l.oom = l.oomKills()
		err = l.try()
	}
	if err != nil && l.cg != nil && mayBeCgroup(err) {
		cg := l.cg
		l.cg = nil
		l.oom = l.oomKills()
		if err = l.try(); err == nil {
			cg.spoil()
		} else { // the program or the directory failed
			cg.giveBack()
		}
	}
	if err == nil {
		return nil
	}
	if fail := l.unentered(err); fail != nil {
		return fail
	}
	return unexecuted(l.spec.Argv[0], err)
}

// unentered reports that a fork failed for its working directory, which was removed or
// may not be entered.
func (l *launch) unentered(err error) *startError {
	if l.dir == unix.AT_FDCWD {
		return nil
	}
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP, unix.ESTALE, unix.EIO:
	default: // no chdir
		return nil
	}
	_ = l.h.sys.Close(l.dir)
	l.dir = unix.AT_FDCWD
	if fail := l.enter(); fail != nil {
		return fail
	}
	if l.h.sys.AccessAt(l.dir, ".") != nil {
		return noDirectory(l.spec.Dir, err)
	}
	return nil
}

// mayBeCgroup reports whether a fork into a cgroup can fail with err for the cgroup.
func mayBeCgroup(err error) bool {
	switch err {
	case unix.EOPNOTSUPP, unix.EBUSY, unix.EACCES, unix.EPERM, unix.ENOSYS, unix.ENODEV, unix.EINVAL, unix.EBADF, unix.E2BIG:
		return true
	}
	return false
}

// try forks once. It assigns the process to the job before its exit can be seen.
func (l *launch) try() error {
	if l.cg == nil && l.h.orphans != nil && l.h.engine.opt.Claim != nil {
		l.h.claim.Do(l.h.engine.opt.Claim)
	}
	pidfd := -1
	attr := l.attr()
	if l.h.reaper == nil {
		attr.Sys.PidFD = &pidfd
	}
	l.h.letOthersRun()
	if l.h.reaper != nil {
		_ = l.h.sys.CloseRangeOnExec(3) // other code may have opened descriptors without the flag
		defer l.h.reaper.forked()
	}
	ticket := l.h.forks.enter()
	defer l.h.forks.leave(ticket)
	pid, before, after, err := l.clone(attr)
	if err != nil {
		return err
	}
	l.setLimits(pid, before)
	if l.cg != nil {
		l.cg.held()
		l.h.cgroups.forked(true)
	}
	if l.cg == nil && l.h.probed.NoProcesses != "" {
		l.io.flags = append(l.io.flags, messages.FlagTreeUnverified)
	}
	l.j.pass(pointForked)
	l.j.forked(child{
		pid: pid, start: startTime(l.h.sys, pid, before, after), pidfd: pidfd, tree: l.tree(), oom: l.oom,
		streams: l.io.streams, stdin: l.io.stdin, term: l.io.term, flags: l.io.flags,
	})
	if l.h.reaper != nil {
		l.h.reaper.add(pid, l.j)
	} else {
		l.h.waitFor(l.j, pid, pidfd)
	}
	return nil
}

// fewJobs is how many jobs are known while at most one runs: ended jobs are settled a
// little later.
const fewJobs = 4

// letOthersRun yields to goroutines that wait for this processor, since a fork holds it
// until the child's exec. With few jobs none waits, and the Go runtime would wake a
// thread to look.
func (h *platform) letOthersRun() {
	if h.engine.count() > fewJobs {
		runtime.Gosched()
	}
}

// clone forks, and returns the times around it. It uses another thread if the job has
// its own umask or the descriptor table is large.
func (l *launch) clone(attr *syscall.ProcAttr) (pid int, before, after time.Duration, err error) {
	unfetched := false
	fork := func(own *fdTable) {
		it := attr
		if own != nil {
			mine, drop, failed := own.fetch(attr)
			if unfetched = failed != nil; unfetched {
				err = failed
				return
			}
			defer drop()
			it = mine
		}
		l.h.sys.SchedYield() // otherwise the child starts on an idle CPU (decision 032)
		before, _ = l.h.sys.Boottime()
		l.h.unmasked(func() { pid, err = l.forkLimited(it) })
		after, _ = l.h.sys.Boottime()
	}
	apart := l.h.reaper != nil && l.h.reaper.count() >= l.h.engine.opt.apart
	if l.spec.Umask >= 0 || apart {
		if failed := l.h.forkers.with(l.spec.Umask, apart, fork); failed != nil {
			unfetched, err = true, failed
		}
	}
	if l.spec.Umask < 0 && (!apart || unfetched) {
		fork(nil)
	}
	if err == nil {
		l.io.release()
	}
	return pid, before, after, err
}

// attr returns the attributes of the child.
func (l *launch) attr() *syscall.ProcAttr {
	sys := &syscall.SysProcAttr{Setsid: true, Setctty: l.io.term != nil} // of descriptor 0
	if l.cg != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, l.cg.fd
	}
	closed := l.h.closed()
	files := make([]uintptr, 3, closed)
	copy(files, l.io.files[:])
	for len(files) < closed {
		files = append(files, ^uintptr(0)) // closed in the child
	}
	return &syscall.ProcAttr{Dir: l.spec.Dir, Env: l.h.env(l.spec), Files: files, Sys: sys}
}

// tree returns how the job's processes are tracked.
func (l *launch) tree() tree {
	switch {
	case l.cg != nil:
		return &cgroupTree{h: l.h, job: l.j, cg: l.cg}
	case l.h.orphans != nil:
		return &subreaperTree{platform: l.h, job: l.j}
	}
	return &groupTree{platform: l.h, job: l.j}
}
