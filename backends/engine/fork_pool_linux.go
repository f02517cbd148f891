package engine

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// forkPool are the threads that fork, as many at most as forks are under way at a time:
// whoever forks waits for his child's exec, and one of them alone left a processor idle
// for a third of the time (decision 020). The one that was used last is taken first, so
// that there are no more than are needed.
type forkPool struct {
	h     *platform
	slots chan struct{} // capacity: how many may be in use

	mu   sync.Mutex
	free []*forkThread
	made bool  // one was
	err  error // there is none: not one could be made, or the engine ends
}

func newForkers(h *platform) *forkPool {
	return &forkPool{h: h, slots: make(chan struct{}, h.engine.opt.Spawners)}
}

// with calls do in one of the threads. The table is nil where it shares that of the
// process.
func (fs *forkPool) with(mask int, apart bool, do func(*fdTable)) error {
	fs.slots <- struct{}{}
	defer func() { <-fs.slots }()
	f, err := fs.take()
	if err != nil {
		return err
	}
	defer fs.give(f)
	done := make(chan struct{})
	f.todo <- forkOrder{mask, apart, do, done}
	<-done
	return nil
}

func (fs *forkPool) take() (*forkThread, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.err != nil {
		return nil, fs.err
	}
	if n := len(fs.free); n > 0 {
		f := fs.free[n-1]
		fs.free = fs.free[:n-1]
		return f, nil
	}
	f, err := newForker(fs.h)
	if err != nil && !fs.made { // nor will another
		fs.err = err
	}
	fs.made = fs.made || err == nil
	return f, err
}

func (fs *forkPool) give(f *forkThread) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.err != nil || f.full {
		close(f.todo)
		return
	}
	fs.free = append(fs.free, f)
}

// close ends them, those in use when they are given back.
func (fs *forkPool) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.free {
		close(f.todo)
	}
	fs.err, fs.free = os.ErrClosed, nil
}

// forkThread is a thread that forks. It has for itself, for good, what the threads of a
// process share. The file-system context: for another umask than the process has. The
// table of descriptors: a fork copies it, and the exec closes the copies, which takes
// ten times as long as the rest when the outputs of 10,000 jobs are open (decision 020);
// its own holds nothing of them, and what a child is to have is fetched for each fork.
// It is made when a job needs it, and dies with the engine: the runtime ends a thread
// whose goroutine ends while it is locked to it.
type forkThread struct {
	h    *platform
	todo chan forkOrder
	full bool // its table holds what is others', and it forks no more
}

type forkOrder struct {
	mask  int  // negative: as it is
	apart bool // with the thread's own table
	do    func(*fdTable)
	done  chan struct{}
}

// newForker fails where a thread cannot have a context of its own.
func newForker(h *platform) (*forkThread, error) {
	f := &forkThread{h: h, todo: make(chan forkOrder)}
	ready := make(chan error)
	h.engine.background(func() { f.thread(f.todo, ready) })
	return f, <-ready
}

// thread is any but the first, which stands for the process: /proc/self and pidfds show
// what is its.
func (f *forkThread) thread(todo <-chan forkOrder, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f.work(todo, ready)
		return
	}
	locked := make(chan struct{})
	f.h.engine.background(func() {
		runtime.LockOSThread()
		close(locked)
		f.work(todo, ready)
	})
	<-locked
	runtime.UnlockOSThread()
}

// work does the orders, in a thread that is locked and never unlocked.
func (f *forkThread) work(todo <-chan forkOrder, ready chan<- error) {
	err := f.h.sys.UnshareFS()
	ready <- err
	if err != nil {
		return
	}
	usual := f.h.sys.Umask(0)
	var own *fdTable
	tried := false
	for o := range todo {
		if o.apart && !tried {
			own, f.full = ownTable(f.h.sys)
			tried = true
		}
		mask := o.mask
		if mask < 0 {
			mask = usual
		}
		f.h.sys.Umask(mask)
		o.do(own)
		close(o.done)
	}
}

// fdTable is a thread's own table of descriptors.
type fdTable struct {
	sys     Sys
	process int // a pidfd of the process, whose table is the other one
}

// ownTable gives the thread a table with no more than it needs; nil: it shares that of
// the process as before, or, if full, has all of it for itself.
func ownTable(sys Sys) (own *fdTable, full bool) {
	if !canFetch(sys) {
		return nil, false
	}
	if r, w, err := os.Pipe(); err == nil { // now the runtime has what it polls by, if it had not
		_ = r.Close()
		_ = w.Close()
	}
	if sys.UnshareFiles() != nil {
		return nil, false
	}
	t := &fdTable{sys: sys}
	if t.clear() != nil {
		return nil, true
	}
	t.process, _ = sys.PidfdOpen(os.Getpid()) // without it each fetch fails, and says so
	return t, false
}

// canFetch reports whether a descriptor can be had from a table by way of its process:
// an old kernel cannot do it, or a filter of system calls forbids it.
func canFetch(sys Sys) bool {
	process, err := sys.PidfdOpen(os.Getpid())
	if err != nil {
		return false
	}
	defer func() { _ = sys.Close(process) }()
	fd, err := sys.PidfdGetfd(process, process)
	if err == nil {
		_ = sys.Close(fd)
	}
	return err == nil
}

// clear closes all but the standard descriptors and those by which the Go runtime
// polls, which any thread may do for it. Where it fails the ends of other jobs' pipes
// are in the table still, and would be open for as long as the thread lives.
func (t *fdTable) clear() error {
	const dir = "/proc/thread-self/fd"
	names, err := listDir(t.sys, unix.AT_FDCWD, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 {
			continue
		}
		if is, err := os.Readlink(dir + "/" + name); err != nil || !strings.HasPrefix(is, "anon_inode:[event") {
			_ = t.sys.Close(fd)
		}
	}
	return nil
}

// fetch is what a child is to be, with its descriptors in this table, and how to close
// them.
func (t *fdTable) fetch(attr *syscall.ProcAttr) (mine *syscall.ProcAttr, drop func(), err error) {
	got := map[uintptr]int{}
	drop = func() {
		for _, fd := range got {
			_ = t.sys.Close(fd)
		}
	}
	get := func(fd uintptr) uintptr {
		if _, is := got[fd]; !is && err == nil {
			var mine int
			if mine, err = t.sys.PidfdGetfd(t.process, int(fd)); err == nil {
				got[fd] = mine
			}
		}
		return uintptr(got[fd])
	}
	a, s := *attr, *attr.Sys
	mine, a.Sys = &a, &s
	a.Files = make([]uintptr, 0, 3)
	for _, fd := range attr.Files[:3] {
		a.Files = append(a.Files, get(fd))
	}
	if s.UseCgroupFD {
		s.CgroupFD = int(get(uintptr(s.CgroupFD)))
	}
	if err != nil {
		drop()
		return nil, nil, err
	}
	return mine, drop, nil
}
