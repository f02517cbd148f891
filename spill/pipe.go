package spill

import (
	"io"

	"golang.org/x/sys/unix"
)

// pipeEnd is a source: the read end of a pipe, or the master of a terminal.
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
		if n, err := s.through(to, off, most); err != errNoStaging {
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
		s.w.giveBack()
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

// errNoSplice reports that the kernel cannot splice between two descriptors.
const errNoSplice = unix.EINVAL

func (s *pipeEnd) splice(to int, off, most int64) (int64, error) {
	sys := s.w.disk.sys
	n, err := sys.Splice(s.fd, to, off, most)
	switch {
	case err == unix.ENOSYS:
		return 0, errNoSplice
	case err == unix.EIO && !sys.IsPipe(s.fd):
		return 0, io.EOF // the last process has closed the terminal
	case err == nil && n == 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// pump moves bytes by read and write. It keeps bytes that could not be written.
type pump struct {
	sys  Sys
	buf  []byte
	rest []byte // part of buf that is not written
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
		err = nil // the next call returns it again
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

// pending returns how many bytes have left the pipe and are not in the log yet.
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

const (
	// stagingSize is the capacity of a staging pipe: that of a job's pipe in the engine.
	// With 64 KiB a flood takes half as long again.
	stagingSize = 1 << 20

	// maxStaging bounds the staging pipes of jobs on pipes. More are never busy at once
	// where the disk is the bottleneck. A writer without one splices directly.
	maxStaging = 8

	// flowing is the number of bytes in one splice that shows a job writes faster than
	// the file takes them.
	flowing = 4096
)

// stagingPipe is a pipe between the pipe of a job and its file. splice(2) locks a pipe
// until the file has taken the bytes, so a job that writes much would wait for the
// disk. Moving pages from pipe to pipe takes microseconds. The job fills its own pipe
// while the file takes the staged pages, which is twice as fast. Bytes that a full disk
// refuses stay in the staging pipe, in the kernel.
type stagingPipe struct {
	r, w  int
	bytes int64 // bytes in the pipe
}

func (h *stagingPipe) close(sys Sys) {
	sys.Close(h.r)
	sys.Close(h.w)
}

// errNoStaging reports that no staging pipe is available.
const errNoStaging = unix.ENOSYS

// through moves bytes through a staging pipe.
func (s *pipeEnd) through(to *handle, off, most int64) (int64, error) {
	w := s.w
	if w.staging == nil {
		if w.staging = w.disk.spare.takeStaging(maxStaging); w.staging == nil {
			return 0, errNoStaging
		}
	}
	defer w.giveBack()
	moved := int64(0)
	for moved < most {
		asked := most - moved
		if w.staging.bytes == 0 {
			n, err := s.splice(w.staging.w, -1, asked)
			if n > 0 {
				w.staging.bytes, asked = n, n
			} else {
				w.flows = moved == 0 || moved >= flowing
				return moved, errUnless(moved, err)
			}
		}
		n, err := w.empty(to, off+moved, asked)
		moved += n
		if err != nil {
			return moved, errUnless(moved, err)
		}
	}
	return moved, nil
}

// errUnless returns err unless bytes were moved; then the next call returns it again.
func errUnless(moved int64, err error) error {
	if moved > 0 {
		return nil
	}
	return err
}

// empty moves bytes from the staging pipe to a file, or to a device if off < 0.
func (w *writer) empty(to *handle, off, most int64) (int64, error) {
	n, err := w.disk.sys.Splice(w.staging.r, to.fd, off, min(most, w.staging.bytes))
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	n = max(n, 0)
	w.staging.bytes -= n
	return n, err
}

// giveBack returns an empty staging pipe to the pool.
func (w *writer) giveBack() {
	if w.staging != nil && w.staging.bytes == 0 {
		w.disk.spare.giveStaging(w.staging)
		w.staging = nil
	}
}

// Held implements StagingWriter.
func (w *writer) Held() int64 {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	return w.pending()
}

// flushStaged writes the staged bytes before the seal. Bytes that the store still
// refuses become a gap.
func (w *writer) flushStaged() {
	for w.pending() > 0 {
		n, err := w.fill(&pipeEnd{w: w, fd: -1}, w.pending())
		if err == nil && n > 0 {
			continue
		}
		lost := w.pending()
		off := w.size
		w.mu.Lock()
		w.size += lost
		w.gaps = w.gaps.add(off, w.size)
		w.mu.Unlock()
		w.note(off, lost)
		break
	}
	w.pump = nil
	if w.staging != nil {
		w.staging.close(w.disk.sys)
		w.disk.spare.lost()
		w.staging = nil
	}
}

// A terminal can be spliced only into a pipe, so its bytes go through a staging pipe. The
// log has one only while there are bytes in it, so a silent terminal costs nothing.
const (
	// terminalGather is how much is collected before it goes to the file. One splice
	// gives about 4 KiB.
	terminalGather = copyBuffer
	// terminalStep is the size of one splice. The kernel allocates pages for all of it
	// first.
	terminalStep = 16 << 10
	// terminalDry is the size of a splice after which a terminal is taken as empty.
	terminalDry = 2 << 10
	// unlimited leaves the staging pipes of terminals unbounded. Only writers that move
	// bytes, or that a full disk blocks, have one.
	unlimited = 1 << 30
)

// fromTerminal moves bytes out of a terminal. If the kernel cannot splice it, or has no
// pipe, it uses read and write from then on.
func (s *pipeEnd) fromTerminal(to *handle, off, most int64) (int64, error) {
	w := s.w
	if w.staging == nil {
		if w.staging = w.disk.spare.takeStaging(unlimited); w.staging == nil {
			return s.byReading(to, off, most)
		}
	}
	defer w.giveBack()
	if err := s.gather(min(most, terminalGather)); err == errNoSplice {
		w.giveBack()
		return s.byReading(to, off, most)
	} else if err != nil {
		return 0, err
	}
	n, err := w.empty(to, off, most)
	if n == 0 && err == errNoSplice { // the file cannot be spliced to
		if err := w.unstage(); err != nil {
			return 0, err
		}
		return w.pump.move(s.fd, to.fd, off, most)
	}
	return n, errUnless(n, err)
}

// gather fills the staging pipe up to most bytes. It returns an error only if the pipe
// is empty.
func (s *pipeEnd) gather(most int64) error {
	h := s.w.staging
	for first := h.bytes == 0; first || h.bytes < most; first = false {
		n, err := s.splice(h.w, -1, min(most-h.bytes, terminalStep))
		if n <= 0 {
			if first {
				return err
			}
			break
		}
		if h.bytes += n; n < terminalDry {
			break
		}
	}
	return nil
}

// byReading switches the writer to read and write.
func (s *pipeEnd) byReading(to *handle, off, most int64) (int64, error) {
	s.w.pump = &pump{sys: s.w.disk.sys}
	return s.w.pump.move(s.fd, to.fd, off, most)
}

// unstage moves the staged bytes into the memory of this process.
func (w *writer) unstage() error {
	p := &pump{sys: w.disk.sys, buf: make([]byte, copyBuffer)}
	w.pump = p
	for w.staging.bytes > 0 {
		n, err := p.sys.Read(w.staging.r, p.buf[len(p.rest):])
		if err == nil && n == 0 {
			err = unix.EIO
		}
		if err != nil {
			return err
		}
		p.rest = p.buf[:len(p.rest)+n]
		w.staging.bytes -= int64(n)
	}
	return nil
}
