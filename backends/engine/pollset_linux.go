package engine

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pollset waits for the ends of processes and for the output of quiet streams:
// for all of them in one goroutine, behind one descriptor in the netpoller. It
// begins with the first that is added.
type pollset struct {
	h      *platform
	events [64]unix.EpollEvent // the common goroutine's

	mu     sync.Mutex
	ep     int
	file   *os.File
	last   uint64            // tag; never 0
	exited map[uint64]func() // by tag
	quiet  map[uint64]*stream
	heard  map[uint64]func() // of what is listened to, by tag
	closed bool
}

func newPollset(h *platform) *pollset {
	return &pollset{h: h, ep: -1, exited: make(map[uint64]func()), quiet: make(map[uint64]*stream), heard: make(map[uint64]func())}
}

// watch calls exited once, from the common goroutine, when the process has
// ended.
func (p *pollset) watch(pidfd int, exited func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	tag, err := p.add(pidfd, unix.EPOLLIN|unix.EPOLLONESHOT)
	if err == nil {
		p.exited[tag] = exited
	}
	return err
}

// attend calls ready of a stream, from the common goroutine, whenever something
// has come, until leave is called. It looks at what is there already, too.
func (p *pollset) attend(s *stream) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := os.ErrClosed
	s.end.use(func(fd int) { s.tag, err = p.add(fd, unix.EPOLLIN|unix.EPOLLET) })
	if err == nil {
		p.quiet[s.tag] = s
	}
	return err
}

// listen calls ready, from the common goroutine, whenever something has come to a
// descriptor, until that is closed. What is there already counts as having come.
func (p *pollset) listen(end *readEnd, ready func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := os.ErrClosed
	end.use(func(fd int) {
		var tag uint64
		if tag, err = p.add(fd, unix.EPOLLIN|unix.EPOLLET); err == nil {
			p.heard[tag] = ready
			end.tag = tag
		}
	})
	return err
}

// unlisten forgets what is no longer listened to.
func (p *pollset) unlisten(end *readEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.heard, end.tag)
}

// leave ends the watch of a stream. It reports whether there was one: whoever
// has ended it decides what becomes of the stream.
func (p *pollset) leave(s *stream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet[s.tag] != s {
		return false
	}
	delete(p.quiet, s.tag)
	return true
}

// remove has the kernel forget a descriptor that will not be closed soon.
func (p *pollset) remove(end *readEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		end.use(func(fd int) { _ = p.h.sys.EpollRemove(p.ep, fd) })
	}
}

// add watches a descriptor. Events bear a tag instead of its number: a child
// that is between its fork and its exec keeps a closed one in the set, and the
// number may be another's by then. Called with mu.
func (p *pollset) add(fd int, events uint32) (tag uint64, err error) {
	if err := p.open(); err != nil {
		return 0, err
	}
	p.last++
	return p.last, p.h.sys.EpollAdd(p.ep, fd, events, p.last)
}

// open begins, once. Called with mu.
func (p *pollset) open() error {
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
	file, err := p.h.listen(ep, "pollset", p.collect)
	if err == nil {
		p.ep, p.file = ep, file
	}
	return err
}

// errUnwatched is a descriptor that the netpoller would not have: the kernel
// watches no more for this user (fs.epoll.max_user_watches), or has no memory.
var errUnwatched = errors.New("the descriptor cannot be watched")

// listen calls ready, in a goroutine of the engine, whenever something has come
// to a descriptor that never waits, until its file is closed. It closes one that
// the netpoller would not have: nobody would hear of it.
func (h *platform) listen(fd int, name string, ready func(fd int)) (*os.File, error) {
	file := os.NewFile(uintptr(fd), name)
	conn, err := file.SyscallConn()
	if err == nil && file.SetReadDeadline(time.Time{}) != nil {
		err = errUnwatched
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	h.engine.background(func() {
		_ = conn.Read(func(fd uintptr) bool {
			ready(int(fd))
			return false
		})
	})
	return file, nil
}

// collect calls for whatever something has happened to. What comes while it does is
// an event of the set itself: collect is called again.
func (p *pollset) collect(ep int) {
	for {
		n, err := p.h.sys.EpollWait(ep, p.events[:])
		if err != nil {
			return
		}
		events := p.events[:max(n, 0)]
		for i := range events {
			if exited := p.exit(tagOf(&events[i])); exited != nil {
				exited()
			}
		}
		for i := range events { // somebody waits for an exit, and its drain leaves little to do here
			if s, heard := p.stream(tagOf(&events[i])); s != nil {
				s.ready()
			} else if heard != nil {
				heard()
			}
		}
		if n < len(p.events) {
			return
		}
	}
}

// exit takes what is to be called for an exit; nil: the event is none.
func (p *pollset) exit(tag uint64) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	exited := p.exited[tag]
	delete(p.exited, tag)
	return exited
}

// stream finds the stream of an event, or what listens; nil: nobody does.
func (p *pollset) stream(tag uint64) (s *stream, heard func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet[tag], p.heard[tag]
}

// close ends the set. A stream that was begun since the engine let go of its
// job goes on by itself.
func (p *pollset) close() {
	p.mu.Lock()
	file, left := p.file, p.quiet
	p.closed, p.quiet = true, nil
	p.mu.Unlock()
	for _, s := range left {
		s.handOver()
	}
	if file != nil {
		_ = file.Close()
	}
}

// waitFor has a job of a library's host reaped when it has exited. Where no
// pidfd can be watched a thread waits instead.
func (h *platform) waitFor(j *job, pid, pidfd int) {
	if pidfd >= 0 && h.pollset.watch(pidfd, func() { h.exitSeen(j, pid, pidfd) }) == nil {
		return
	}
	h.waitInThread(j, pid)
}

// exitSeen reaps a process whose pidfd is readable. One that is traced is not
// ours to reap before its tracer lets go.
func (h *platform) exitSeen(j *job, pid, pidfd int) {
	var info unix.Siginfo
	err := h.sys.Waitid(unix.P_PIDFD, pidfd, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	if err == nil && infoPid(&info) == 0 {
		h.waitInThread(j, pid)
		return
	}
	j.reapSafely()
}

func (h *platform) waitInThread(j *job, pid int) {
	h.engine.run(j, func() {
		var info unix.Siginfo
		_ = h.sys.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT)
		j.reap()
	})
}
