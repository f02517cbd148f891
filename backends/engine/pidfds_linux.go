package engine

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidfds waits for processes by their descriptors: all of them behind one
// goroutine in the netpoller, none of them with a goroutine or thread of its
// own. It begins with the first that is watched.
type pidfds struct {
	h *host

	mu     sync.Mutex
	ep     int
	file   *os.File
	exited map[int]func()
	closed bool
}

func newPidfds(h *host) *pidfds { return &pidfds{h: h, ep: -1, exited: make(map[int]func())} }

// watch calls exited, from the common goroutine, when the process has ended.
// Closing the descriptor ends the watch.
func (p *pidfds) watch(pidfd int, exited func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return err
	}
	p.exited[pidfd] = exited
	if err := p.h.sys.EpollAdd(p.ep, pidfd); err != nil {
		delete(p.exited, pidfd)
		return err
	}
	return nil
}

// open begins, once. Called with mu.
func (p *pidfds) open() error {
	if p.closed {
		return os.ErrClosed
	}
	if p.file != nil {
		return nil
	}
	ep, err := p.h.sys.EpollCreate()
	if err != nil {
		return err
	}
	if err := p.h.sys.SetNonblock(ep); err != nil { // or the netpoller would not have it
		_ = p.h.sys.Close(ep)
		return err
	}
	p.ep, p.file = ep, os.NewFile(uintptr(ep), "pidfds")
	conn, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	p.h.e.background(func() { p.loop(conn) })
	return nil
}

func (p *pidfds) loop(conn syscall.RawConn) {
	_ = conn.Read(func(fd uintptr) bool {
		p.collect(int(fd))
		return false
	}) // it ends when the file is closed
}

// collect calls for every process that has ended.
func (p *pidfds) collect(ep int) {
	var events [64]unix.EpollEvent
	for {
		n, err := p.h.sys.EpollWait(ep, events[:])
		if err != nil || n == 0 {
			return
		}
		for _, ev := range events[:n] {
			p.mu.Lock()
			exited := p.exited[int(ev.Fd)]
			delete(p.exited, int(ev.Fd))
			p.mu.Unlock()
			if exited != nil {
				exited()
			}
		}
	}
}

func (p *pidfds) close() {
	p.mu.Lock()
	file := p.file
	p.closed = true
	p.mu.Unlock()
	if file != nil {
		_ = file.Close()
	}
}

// waitFor has a job of a library's host reaped when it has exited. Where no
// pidfd can be watched a thread waits instead.
func (h *host) waitFor(j *job, pid, pidfd int) {
	if pidfd >= 0 && h.pidfds.watch(pidfd, func() { h.exitSeen(j, pid, pidfd) }) == nil {
		return
	}
	h.waitInThread(j, pid)
}

// exitSeen reaps a process whose pidfd is readable. One that is traced is not
// ours to reap before its tracer lets go.
func (h *host) exitSeen(j *job, pid, pidfd int) {
	var info unix.Siginfo
	err := h.sys.Waitid(unix.P_PIDFD, pidfd, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	if err == nil && infoPid(&info) == 0 {
		h.waitInThread(j, pid)
		return
	}
	j.reapSafely()
}

func (h *host) waitInThread(j *job, pid int) {
	h.e.run(j, func() {
		var info unix.Siginfo
		_ = h.sys.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT)
		j.reap()
	})
}
