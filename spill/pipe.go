package spill

import (
	"io"

	"golang.org/x/sys/unix"
)

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

const (
	// holdSize is what a holding pipe is made for: as much as the engine makes the
	// pipe of a job for. With 64 KiB a flood takes half as long again.
	holdSize = 1 << 20

	// maxHolds bounds them: more than can be in use at once on a machine where the
	// disk is the limit. A writer that finds none does without.
	maxHolds = 8

	// flowing is how much one splice moves when a job writes faster than the file
	// takes it.
	flowing = 4096
)

// stagingPipe is a pipe between the pipe of a job and its file. splice(2) locks a pipe
// until the file has taken what it moves; a job that writes much would wait for
// the disk all the time. Moving pages from pipe to pipe takes microseconds, and
// the job fills its own pipe while the file takes those of the holding pipe:
// twice as fast. What a full disk refuses stays in it, in the kernel, as in the
// holding pipe of a terminal.
type stagingPipe struct {
	r, w  int
	bytes int64 // in it
}

func (h *stagingPipe) close(sys Sys) {
	sys.Close(h.r)
	sys.Close(h.w)
}

// errNoHold says that there is no holding pipe to be had.
const errNoHold = unix.ENOSYS

// through moves bytes by way of a holding pipe.
func (s *pipeEnd) through(to *handle, off, most int64) (int64, error) {
	w := s.w
	if w.staging == nil {
		if w.staging = w.disk.spare.takeHold(maxHolds); w.staging == nil {
			return 0, errNoHold
		}
	}
	defer w.letGo()
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

// errUnless is err if nothing was moved; otherwise it comes again.
func errUnless(moved int64, err error) error {
	if moved > 0 {
		return nil
	}
	return err
}

// empty moves bytes from the holding pipe to a file, or to a device at off < 0.
func (w *writer) empty(to *handle, off, most int64) (int64, error) {
	n, err := w.disk.sys.Splice(w.staging.r, to.fd, off, min(most, w.staging.bytes))
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	n = max(n, 0)
	w.staging.bytes -= n
	return n, err
}

// letGo gives the holding pipe back unless there are bytes in it.
func (w *writer) letGo() {
	if w.staging != nil && w.staging.bytes == 0 {
		w.disk.spare.giveHold(w.staging)
		w.staging = nil
	}
}

// Held is how many bytes have left the pipe and are not in the log yet.
func (w *writer) Held() int64 {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	return w.pending()
}

// flushStaged writes what the log's writer still holds when no more comes; what the
// store refuses even then is counted as a gap, never dropped in silence.
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

// A terminal can be spliced into a pipe only, so that its bytes go through a holding pipe.
// It belongs to the log while there are bytes in it, so that
// a terminal that says nothing costs nothing.
const (
	// terminalGather is how much is collected before the file is given it: a master
	// gives some 4 KiB at a time.
	terminalGather = copyBuffer
	// terminalStep is what one splice asks for: the kernel takes as many pages for it
	// beforehand.
	terminalStep = 16 << 10
	// terminalDry is so little that there is hardly more behind it.
	terminalDry = 2 << 10
	// anyNumber of holding pipes: no more are in use than writers that move bytes, or
	// that a full disk keeps from it.
	anyNumber = 1 << 30
)

// fromTerminal moves bytes out of a terminal. Where the kernel does not splice it, or
// has no pipe to give, they go by read and write from now on.
func (s *pipeEnd) fromTerminal(to *handle, off, most int64) (int64, error) {
	w := s.w
	if w.staging == nil {
		if w.staging = w.disk.spare.takeHold(anyNumber); w.staging == nil {
			return s.byReading(to, off, most)
		}
	}
	defer w.letGo()
	if err := s.gather(min(most, terminalGather)); err == errNoSplice {
		w.letGo()
		return s.byReading(to, off, most)
	} else if err != nil {
		return 0, err
	}
	n, err := w.empty(to, off, most)
	if n == 0 && err == errNoSplice { // it is the file that cannot
		if err := w.unhold(); err != nil {
			return 0, err
		}
		return w.pump.move(s.fd, to.fd, off, most)
	}
	return n, errUnless(n, err)
}

// gather fills the holding pipe up to most bytes. There is an error only if it is empty.
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

// byReading gives up splicing.
func (s *pipeEnd) byReading(to *handle, off, most int64) (int64, error) {
	s.w.pump = &pump{sys: s.w.disk.sys}
	return s.w.pump.move(s.fd, to.fd, off, most)
}

// unhold takes what is in the holding pipe into the memory of this process.
func (w *writer) unhold() error {
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
