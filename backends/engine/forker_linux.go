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

// forker is a thread that forks. It has for itself, for good, what the threads of a
// process share. The file-system context: for another umask than the process has. The
// table of descriptors: a fork copies it, and the exec closes the copies, which takes
// ten times as long as the rest when the outputs of 10,000 jobs are open (decision 020);
// its own holds nothing of them, and what a child is to have is fetched for each fork.
// It is made when the first job needs it, and dies with the engine: the runtime ends
// a thread whose goroutine ends while it is locked to it.
type forker struct {
	h    *host
	mu   sync.Mutex
	todo chan order
	err  error // the thread could not be made
	shut bool
}

type order struct {
	mask  int  // negative: as it is
	apart bool // with the thread's own table
	do    func(*table)
	done  chan struct{}
}

// with calls do in the thread. The table is nil where it shares that of the process.
func (f *forker) with(mask int, apart bool, do func(*table)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.todo == nil && f.err == nil && !f.shut {
		f.todo = make(chan order)
		ready := make(chan error)
		f.h.e.background(func() { f.thread(f.todo, ready) })
		if f.err = <-ready; f.err != nil {
			f.todo = nil
		}
	}
	if f.err != nil {
		return f.err
	}
	o := order{mask, apart, do, make(chan struct{})}
	f.todo <- o
	<-o.done
	return nil
}

// thread is any but the first, which stands for the process: /proc/self and pidfds show
// what is its.
func (f *forker) thread(todo <-chan order, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f.work(todo, ready)
		return
	}
	locked := make(chan struct{})
	f.h.e.background(func() {
		runtime.LockOSThread()
		close(locked)
		f.work(todo, ready)
	})
	<-locked
	runtime.UnlockOSThread()
}

// work does the orders, in a thread that is locked and never unlocked.
func (f *forker) work(todo <-chan order, ready chan<- error) {
	err := f.h.sys.OwnUmask()
	ready <- err
	if err != nil {
		return
	}
	usual := f.h.sys.Umask(0)
	var own *table
	tried := false
	for o := range todo {
		if o.apart && !tried {
			own, tried = ownTable(f.h.sys), true
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

func (f *forker) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.todo != nil && !f.shut {
		close(f.todo)
	}
	f.shut, f.todo = true, nil
}

// table is a thread's own table of descriptors.
type table struct {
	sys     Sys
	process int // a pidfd of the process, whose table is the other one
}

// ownTable gives the thread a table with no more than it needs; nil: it shares that of
// the process as before.
func ownTable(sys Sys) *table {
	if !canFetch(sys) {
		return nil
	}
	if r, w, err := os.Pipe(); err == nil { // now the runtime has what it polls by, if it had not
		_ = r.Close()
		_ = w.Close()
	}
	if sys.OwnTable() != nil {
		return nil
	}
	t := &table{sys: sys}
	t.clear()
	t.process, _ = sys.PidfdOpen(os.Getpid()) // without it each fetch fails, and says so
	return t
}

// canFetch reports whether a descriptor can be had from a table by way of its process:
// an old kernel cannot do it, or a filter of system calls forbids it.
func canFetch(sys Sys) bool {
	process, err := sys.PidfdOpen(os.Getpid())
	if err != nil {
		return false
	}
	defer func() { _ = sys.Close(process) }()
	fd, err := sys.Fetch(process, process)
	if err == nil {
		_ = sys.Close(fd)
	}
	return err == nil
}

// clear closes all but the standard descriptors and those by which the Go runtime
// polls, which any thread may do for it.
func (t *table) clear() {
	const dir = "/proc/thread-self/fd"
	names, _ := listDir(t.sys, unix.AT_FDCWD, dir)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 {
			continue
		}
		if is, err := os.Readlink(dir + "/" + name); err != nil || !strings.HasPrefix(is, "anon_inode:[event") {
			_ = t.sys.Close(fd)
		}
	}
}

// fetch is what a child is to be, with its descriptors in this table, and how to close
// them.
func (t *table) fetch(attr *syscall.ProcAttr) (mine *syscall.ProcAttr, drop func(), err error) {
	got := map[uintptr]int{}
	drop = func() {
		for _, fd := range got {
			_ = t.sys.Close(fd)
		}
	}
	get := func(fd uintptr) uintptr {
		if _, is := got[fd]; !is && err == nil {
			var mine int
			if mine, err = t.sys.Fetch(t.process, int(fd)); err == nil {
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
