package spill

import "golang.org/x/sys/unix"

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
