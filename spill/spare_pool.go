package spill

import (
	"sync"

	"golang.org/x/sys/unix"
)

// maxSpares is how many unused memory files are kept: one for each writer that
// may find its pipe empty at the same time.
const maxSpares = 4

// sparePool are memory files that were made for a first byte that did not come,
// empty holding pipes, and the device that swallows what is not kept.
type sparePool struct {
	sys    Sys
	mu     sync.Mutex
	free   []*handle
	hole   *handle
	holds  []*stagingPipe
	made   int // holding pipes, with those in use
	closed bool
}

// take returns an empty memory file.
func (s *sparePool) take() (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		h := s.free[n-1]
		s.free = s.free[:n-1]
		return h, nil
	}
	fd, err := s.sys.Memfd("troupe-log")
	if err != nil {
		return nil, err
	}
	return newHandle(s.sys, fd), nil
}

// give takes back h, which is still empty, unless the log b has become of it.
func (s *sparePool) give(b *sharedLog, h *handle) {
	if b.mem != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < maxSpares && !s.closed {
		s.free = append(s.free, h.hold())
	}
}

// null returns /dev/null, held for the caller.
func (s *sparePool) null() (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hole == nil {
		fd, err := s.sys.Open(unix.AT_FDCWD, "/dev/null", unix.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		s.hole = newHandle(s.sys, fd)
	}
	return s.hole.hold(), nil
}

func (s *sparePool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.free {
		h.free()
	}
	if s.hole != nil {
		s.hole.free()
	}
	for _, h := range s.holds {
		h.close(s.sys)
	}
	s.free, s.hole, s.holds, s.closed = nil, nil, nil, true
}

// takeHold returns an empty holding pipe, or nil if there are most of them.
func (s *sparePool) takeHold(most int) *stagingPipe {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.holds); n > 0 {
		h := s.holds[n-1]
		s.holds = s.holds[:n-1]
		return h
	}
	if s.made >= most || s.closed {
		return nil
	}
	r, w, err := s.sys.Pipe(holdSize)
	if err != nil {
		return nil
	}
	s.made++
	return &stagingPipe{r: r, w: w}
}

func (s *sparePool) giveHold(h *stagingPipe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.made > maxHolds { // of terminals there may be more in use
		h.close(s.sys)
		s.made--
		return
	}
	s.holds = append(s.holds, h)
}

// lost counts a holding pipe that was closed with bytes in it.
func (s *sparePool) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made--
}
