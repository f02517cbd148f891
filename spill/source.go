package spill

import (
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// source is where the bytes of one call come from.
type source interface {
	// poll says whether bytes wait, or none will come any more.
	poll() (readable, ended bool, err error)
	// move writes at most max bytes at off: EAGAIN when none wait, io.EOF at the end.
	move(to *handle, off, max int64) (int64, error)
	// drop takes at most max bytes and keeps none.
	drop(max int64) (int64, error)
}

// pipeEnd is the read end of a pipe.
type pipeEnd struct {
	w  *writer
	fd int
}

func (s *pipeEnd) poll() (readable, ended bool, err error) {
	if s.w.pump.loaded() {
		return true, false, nil
	}
	return s.w.disk.sys.Poll(s.fd)
}

func (s *pipeEnd) move(to *handle, off, most int64) (int64, error) {
	if s.w.pump == nil {
		n, err := s.splice(to.fd, off, most)
		if err != errNoSplice {
			return n, err
		}
		s.w.pump = &pump{sys: s.w.disk.sys}
	}
	return s.w.pump.move(s.fd, to.fd, off, most)
}

func (s *pipeEnd) drop(most int64) (int64, error) {
	if s.w.pump == nil {
		null, err := s.w.disk.spare.null()
		if err == nil {
			n, err := s.splice(null.fd, -1, most)
			null.free()
			if err != errNoSplice {
				return n, err
			}
		}
		s.w.pump = &pump{sys: s.w.disk.sys}
	}
	return s.w.pump.drop(s.fd, most)
}

// errNoSplice says that these two descriptors cannot be spliced.
const errNoSplice = unix.EINVAL

func (s *pipeEnd) splice(to int, off, most int64) (int64, error) {
	sys := s.w.disk.sys
	n, err := sys.Splice(s.fd, to, off, most)
	switch {
	case err == unix.ENOSYS:
		return 0, errNoSplice
	case err == unix.EIO && !sys.IsPipe(s.fd):
		return 0, io.EOF // a terminal whose last process is gone (reliability.md 1.1.5)
	case err == nil && n == 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// pump moves bytes by read and write. What was read and could not be written
// stays here until it can.
type pump struct {
	sys  Sys
	buf  []byte
	rest []byte // of buf
}

func (p *pump) loaded() bool { return p != nil && len(p.rest) > 0 }

func (p *pump) load(from int, most int64) error {
	if len(p.rest) > 0 {
		return nil
	}
	readable, ended, err := p.sys.Poll(from)
	switch {
	case err != nil:
		return err
	case ended:
		return io.EOF
	case !readable:
		return unix.EAGAIN
	}
	if p.buf == nil {
		p.buf = make([]byte, copyBuffer)
	}
	n, err := p.sys.Read(from, p.buf[:min(most, int64(len(p.buf)))])
	if err == unix.EIO || err == nil && n == 0 {
		return io.EOF
	}
	if err != nil {
		return err
	}
	p.rest = p.buf[:n]
	return nil
}

func (p *pump) move(from, to int, off, most int64) (int64, error) {
	if err := p.load(from, most); err != nil {
		return 0, err
	}
	n, err := p.sys.Pwrite(to, p.rest[:min(most, int64(len(p.rest)))], off)
	n = max(n, 0)
	p.rest = p.rest[n:]
	if n > 0 {
		err = nil // it comes again
	} else if err == nil {
		err = unix.ENOSPC
	}
	return int64(n), err
}

func (p *pump) drop(from int, most int64) (int64, error) {
	if err := p.load(from, most); err != nil {
		return 0, err
	}
	n := min(most, int64(len(p.rest)))
	p.rest = p.rest[n:]
	return n, nil
}

// piece is bytes in user memory.
type piece struct {
	sys Sys
	p   []byte
}

func (s *piece) poll() (readable, ended bool, err error) { return len(s.p) > 0, false, nil }

func (s *piece) move(to *handle, off, most int64) (int64, error) {
	n, err := s.sys.Pwrite(to.fd, s.p[:min(most, int64(len(s.p)))], off)
	n = max(n, 0)
	s.p = s.p[n:]
	if n > 0 {
		err = nil
	} else if err == nil {
		err = unix.ENOSPC
	}
	return int64(n), err
}

func (s *piece) drop(most int64) (int64, error) {
	n := min(most, int64(len(s.p)))
	s.p = s.p[n:]
	return n, nil
}

// maxSpares is how many unused memory files are kept: one for each writer that
// may find its pipe empty at the same time.
const maxSpares = 4

// spares are memory files that were made for a first byte that did not come,
// and the device that swallows what is not kept.
type spares struct {
	sys  Sys
	mu   sync.Mutex
	free []*handle
	hole *handle
}

// take returns an empty memory file.
func (s *spares) take() (*handle, error) {
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
func (s *spares) give(b *body, h *handle) {
	if b.mem != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < maxSpares {
		s.free = append(s.free, h.hold())
	}
}

// null returns /dev/null, held for the caller.
func (s *spares) null() (*handle, error) {
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

func (s *spares) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.free {
		h.free()
	}
	if s.hole != nil {
		s.hole.free()
	}
	s.free, s.hole = nil, nil
}
