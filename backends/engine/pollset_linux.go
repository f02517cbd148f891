package engine

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pollset waits for exits and for output of quiet streams: all in one goroutine, with
// one epoll descriptor in the netpoller. It starts with the first addition.
type pollset struct {
	h      *platform
	events [64]unix.EpollEvent // of the shared goroutine

	mu     sync.Mutex
	ep     int
	file   *os.File
	last   uint64            // last tag; never 0
	exited map[uint64]func() // by tag
	quiet  map[uint64]*stream
	heard  map[uint64]func() // calls for listened descriptors, by tag
	closed bool
}

func newPollset(h *platform) *pollset {
	return &pollset{h: h, ep: -1, exited: make(map[uint64]func()), quiet: make(map[uint64]*stream), heard: make(map[uint64]func())}
}

// watch calls exited once, in the shared goroutine, when the process has exited.
func (p *pollset) watch(pidfd int, exited func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	tag, err := p.add(pidfd, unix.EPOLLIN|unix.EPOLLONESHOT)
	if err == nil {
		p.exited[tag] = exited
	}
	return err
}

// attend calls ready of a stream, in the shared goroutine, for present and new output,
// until leave.
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

// listen calls ready, in the shared goroutine, for present and new data of a
// descriptor, until it is closed.
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

// unlisten ends listen.
func (p *pollset) unlisten(end *readEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.heard, end.tag)
}

// leave ends attend. It reports whether it did: that caller decides what follows for
// the stream.
func (p *pollset) leave(s *stream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet[s.tag] != s {
		return false
	}
	delete(p.quiet, s.tag)
	return true
}

// remove removes a descriptor from the epoll set that will not be closed soon.
func (p *pollset) remove(end *readEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		end.use(func(fd int) { _ = p.h.sys.EpollRemove(p.ep, fd) })
	}
}

// add adds a descriptor. Events carry a tag instead of its number, which may be reused
// while a child between fork and exec keeps the closed descriptor in the set. The
// caller holds mu.
func (p *pollset) add(fd int, events uint32) (tag uint64, err error) {
	if err := p.open(); err != nil {
		return 0, err
	}
	p.last++
	return p.last, p.h.sys.EpollAdd(p.ep, fd, events, p.last)
}

// open creates the epoll set, once. The caller holds mu.
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
	if err := p.h.sys.SetNonblock(ep); err != nil { // the netpoller requires it
		_ = p.h.sys.Close(ep)
		return err
	}
	file, err := p.h.listen(ep, "pollset", p.collect)
	if err == nil {
		p.ep, p.file = ep, file
	}
	return err
}

// errUnwatched reports a descriptor that the netpoller refuses: the user's limit of
// watches is reached (fs.epoll.max_user_watches), or memory is short.
var errUnwatched = errors.New("the descriptor cannot be watched")

// listen calls ready, in a goroutine of the engine, for new data of a non-blocking
// descriptor, until its file is closed. If the netpoller refuses the descriptor, listen
// closes it.
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

// collect makes the calls for all events. Events that come meanwhile make collect run
// again.
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
		for i := range events { // exits go first: clients wait for them, and a drain saves work here
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

// exit returns the call for an exit; nil: another event.
func (p *pollset) exit(tag uint64) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	exited := p.exited[tag]
	delete(p.exited, tag)
	return exited
}

// stream returns the stream of an event, or its listener; both nil: none.
func (p *pollset) stream(tag uint64) (s *stream, heard func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet[tag], p.heard[tag]
}

// close ends the set. Streams in it get goroutines of their own.
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

// waitFor watches the exit of a job in a library's host. If its pidfd cannot be
// watched, a thread waits.
func (h *platform) waitFor(j *job, pid, pidfd int) {
	if pidfd >= 0 && h.pollset.watch(pidfd, func() { h.exitSeen(j, pid, pidfd) }) == nil {
		return
	}
	h.waitInThread(j, pid)
}

// exitSeen reaps a process whose pidfd is readable. A traced process can be reaped only
// after its tracer detaches.
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
		for h.sys.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT) == nil && !isExit(&info) && h.takeStop(pid) {
		}
		j.reap()
	})
}
