package spill

import (
	"io"

	"golang.org/x/sys/unix"
)

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

// lost counts a holding pipe that was closed with bytes in it.
func (s *sparePool) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made--
}
