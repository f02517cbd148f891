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

// forkPool holds the threads that fork, at most Spawners. A fork waits for the child's
// exec, and a single thread left a processor idle for a third of the time (decision
// 020). The last used thread is taken first, so that few are made.
type forkPool struct {
	h     *platform
	slots chan struct{} // capacity: how many may be in use

	mu   sync.Mutex
	free []*forkThread
	made bool  // one was made
	err  error // no thread can be made, or the engine ends
}

func newForkers(h *platform) *forkPool {
	return &forkPool{h: h, slots: make(chan struct{}, h.engine.opt.Spawners)}
}

// with calls do in one of the threads. The table is nil if the thread shares the
// process's.
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
	if err != nil && !fs.made { // another would fail, too
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

// close ends the threads; those in use end when they are given back.
func (fs *forkPool) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.free {
		close(f.todo)
	}
	fs.err, fs.free = os.ErrClosed, nil
}

// forkThread is a thread that forks with its own umask and, for many jobs, its own
// descriptor table. A fork copies the table, and with 10,000 open outputs that takes
// ten times as long as the rest (decision 020). The own table is nearly empty; the
// child's descriptors are fetched for each fork.
//
// The thread is made when a job needs it and ends with the engine: the runtime ends a
// locked thread with its goroutine.
type forkThread struct {
	h    *platform
	todo chan forkOrder
	full bool // its table could not be emptied, and it forks no more
}

// forkOrder is one call to make in a forking thread.
type forkOrder struct {
	mask  int  // negative: unchanged
	apart bool // use the thread's own table
	do    func(*fdTable)
	done  chan struct{}
}

// newForker fails if a thread cannot unshare its file-system context.
func newForker(h *platform) (*forkThread, error) {
	f := &forkThread{h: h, todo: make(chan forkOrder)}
	ready := make(chan error)
	h.engine.background(func() { f.thread(f.todo, ready) })
	return f, <-ready
}

// thread locks a thread other than the main one, which /proc/self and pidfds show.
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

// work performs orders in a thread that stays locked.
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

// fdTable is a thread's own descriptor table.
type fdTable struct {
	sys     Sys
	process int // pidfd of the process, for its table
}

// ownTable gives the thread a nearly empty table. own is nil if the thread still shares
// the process's table, or, if full, has an unusable copy of it.
func ownTable(sys Sys) (own *fdTable, full bool) {
	if !canFetch(sys) {
		return nil, false
	}
	if r, w, err := os.Pipe(); err == nil { // the runtime opens its poller now, if it had none
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

// canFetch reports whether descriptors can be fetched by pidfd. Old kernels and filters
// of system calls forbid it.
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

// clear closes all but the standard descriptors and the Go runtime's poller, which any
// thread may use. If it fails, the table still has pipe ends of other jobs.
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

// fetch returns attr with its descriptors fetched into this table, and drop, which
// closes them.
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
