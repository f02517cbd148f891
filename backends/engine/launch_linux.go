package engine

import (
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// launch is one start on its way.
type launch struct {
	h    *platform
	j    *job
	spec *backends.Spec
	dir  int    // the working directory; AT_FDCWD: the engine's
	path string // of the program, seen from there
	io   *stdio
	cg   *cgroup // nil: none
	oom  int64
}

// spawn starts the process of a job, or says why there is none.
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
		if l.cg = c.take(); l.cg != nil {
			l.oom = l.cg.oomKills()
		}
	}
	if err := l.h.engine.opt.at(pointFork); err != nil {
		return unexecuted(l.spec.Argv[0], err)
	}
	return l.fork()
}

// enter opens the working directory. The child goes there by its path, while it holds
// a processor of ours: a server that hangs must have been met here, where it holds
// this goroutine alone. (By way of our descriptor, in /proc, the kernel makes three
// files for the child there and forgets them with it, which takes 30 µs.)
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

// fork forks, without the cgroup if the kernel would not have it: a container
// or an odd hierarchy may refuse CLONE_INTO_CGROUP (runc#4812).
func (l *launch) fork() *startError {
	err := l.try()
	if err == unix.ENOENT && l.spec.Program != "" { // it was there when it was looked up
		l.spec.Program = ""
		if fail := l.find(); fail != nil {
			return fail
		}
		err = l.try()
	}
	if err != nil && l.cg != nil && mayBeCgroup(err) {
		cg := l.cg
		l.cg = nil
		if err = l.try(); err == nil {
			cg.spoil()
		} else { // it was the program, or the directory
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

// unentered tells whether a fork has failed for its working directory, which may have
// gone since it was opened, or may not be entered.
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

// mayBeCgroup tells an error that a fork into a cgroup can have for its own.
func mayBeCgroup(err error) bool {
	switch err {
	case unix.EOPNOTSUPP, unix.EBUSY, unix.EACCES, unix.EPERM, unix.ENOSYS, unix.ENODEV, unix.EINVAL, unix.EBADF, unix.E2BIG:
		return true
	}
	return false
}

// try is one fork. It makes the process the job's before anybody can hear of
// its exit.
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
		_ = l.h.sys.CloseRangeOnExec(3) // for what was opened since by somebody careless
		defer l.h.reaper.forked()
	}
	ticket := l.h.forks.enter()
	defer l.h.forks.leave(ticket)
	pid, before, after, err := l.clone(attr)
	if err != nil {
		return err
	}
	if l.cg != nil {
		l.cg.held()
		l.h.cgroups.forked(true)
	}
	if l.cg == nil && l.h.probed.NoProcesses != "" {
		l.io.flags = append(l.io.flags, messages.FlagTreeUnverified)
	}
	l.j.pass(pointBorn)
	l.j.born(child{
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

// fewJobs is how many are known though no more than one is alive: those that have
// just ended are settled a little later.
const fewJobs = 4

// letOthersRun lets the goroutines go first that wait for this processor, since a fork
// holds it until the child's exec. A job that is alone has none, and the Go runtime
// would wake a thread to look for them.
func (h *platform) letOthersRun() {
	if h.engine.count() > fewJobs {
		runtime.Gosched()
	}
}

// clone forks, in a thread of its own if the job wants another umask or the table of
// descriptors is large, and tells when that was.
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
		l.h.sys.SchedYield() // or the child begins on a CPU that sleeps (decision 032)
		before, _ = l.h.sys.Boottime()
		pid, err = l.h.sys.Fork(l.path, l.spec.Argv, it)
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

// attr is what the child is to be.
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

// tree is what will hold the job's processes together.
func (l *launch) tree() tree {
	switch {
	case l.cg != nil:
		return &cgroupTree{h: l.h, job: l.j, cg: l.cg}
	case l.h.orphans != nil:
		return &subreaperTree{platform: l.h, job: l.j}
	}
	return &groupTree{platform: l.h, job: l.j}
}
