package spill

import (
	"io"

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
	if s.w.pending() > 0 {
		return true, false, nil
	}
	return s.w.disk.sys.Poll(s.fd)
}

func (s *pipeEnd) move(to *handle, off, most int64) (int64, error) {
	if s.w.pump != nil {
		return s.w.pump.move(s.fd, to.fd, off, most)
	}
	if s.w.terminal {
		return s.fromTerminal(to, off, most)
	}
	if s.w.staging != nil || s.w.flows {
		if n, err := s.through(to, off, most); err != errNoHold {
			return n, err
		}
	}
	n, err := s.splice(to.fd, off, most)
	if err != errNoSplice {
		s.w.flows = s.w.file != nil && n >= flowing
		return n, err
	}
	if s.w.terminal = !s.w.disk.sys.IsPipe(s.fd); s.w.terminal {
		return s.fromTerminal(to, off, most)
	}
	s.w.pump = &pump{sys: s.w.disk.sys}
	return s.w.pump.move(s.fd, to.fd, off, most)
}

func (s *pipeEnd) drop(most int64) (int64, error) {
	null, err := s.w.disk.spare.null()
	if err != nil {
		return 0, &Blocked{Err: err}
	}
	defer null.free()
	if s.w.staging != nil {
		n, err := s.w.empty(null, -1, most)
		s.w.letGo()
		return n, err
	}
	if s.w.pump == nil {
		n, err := s.splice(null.fd, -1, most)
		if err != errNoSplice {
			return n, err
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
		return 0, io.EOF // a terminal whose last process has closed it
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

// pending is how many bytes were taken from the pipe and are not in the log yet.
func (w *writer) pending() int64 {
	n := int64(0)
	if w.staging != nil {
		n = w.staging.bytes
	}
	if w.pump != nil {
		n += int64(len(w.pump.rest))
	}
	return n
}
