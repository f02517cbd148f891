package spill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// FencedWriter is a Writer of which a part of the output of a terminal is the log: up to a
// fence that a live shell writes behind the last byte of its command.
type FencedWriter interface {
	Writer

	// SetFence says with which nonce the fence will come; before the first byte. From
	// then on until the log is sealed no reader sees what may be the beginning of it: it
	// is not in State().Size, and State().Veiled is true. A fence with more than 8 KiB
	// behind it that come in the same instant may be seen until the log is cut.
	SetFence(nonce string)

	// Fence finds the last fence, if it is in the last MiB.
	Fence() (Fence, bool, error)

	// Cut seals the log before the fence, drops that, and appends what is behind it to
	// rest, as far as its policy takes it: a log of the same store, which is never cut into
	// this one. What is to go is taken from where it is: it passes no memory of this process
	// where the kernel can copy. With a *Blocked error the log is as it was, but for what rest has
	// already: Cut again goes on. With any other the log is sealed, and cut.
	Cut(at Fence, rest Writer) error
}

// errFence says that a log cannot be cut.
var errFence = errors.New("the log cannot be cut there")

// SetFence implements Fenced.
func (w *writer) SetFence(nonce string) {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.order != nil || w.sealed || nonce == "" {
		return
	}
	w.fenced, w.terminal = &fenceState{fence: fence(nonce)}, true
	w.mu.Lock()
	w.hasHidden = true
	w.mu.Unlock()
}

// rawReader reads all that a body has, whatever of it is hidden.
type rawReader struct{ b *sharedLog }

func (r rawReader) ReadAt(p []byte, off int64) (int, error) { return r.b.readUpTo(p, off, false) }

// hide shows n bytes more, but for what may be the beginning of the fence. What cannot be
// read is not hidden: the log is broken then, and says so elsewhere. Called with turn,
// and without mu.
func (w *writer) hide(n int64) {
	if w.fenced == nil || w.fenced.whole { // all that follows stays hidden
		return
	}
	upTo, whole, _ := w.fenced.fence.visible(rawReader{w.sharedLog}, w.size, n)
	w.fenced.whole = whole
	w.mu.Lock()
	w.hidden = w.size - upTo
	w.mu.Unlock()
}

// unveil shows all there is. Called with mu.
func (b *sharedLog) unveil() { b.hidden, b.hasHidden = 0, false }

// Fence implements Fenced.
func (w *writer) Fence() (Fence, bool, error) {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.fenced == nil || w.sealed {
		return Fence{}, false, nil
	}
	return w.fenced.fence.last(rawReader{w.sharedLog}, w.size)
}

// Cut implements Fenced.
func (w *writer) Cut(at Fence, rest Writer) error {
	to, ok := rest.(*writer)
	if !ok || to == w || to.disk != w.disk || w.order != nil {
		return errFence
	}
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.sealed {
		return ErrSealed
	}
	if n := w.pending(); n > 0 {
		if _, err := w.fill(&pipeEnd{w: w, fd: -1}, n); err != nil {
			return err
		}
	}
	if at.From < 0 || at.From > at.To || at.To+w.tailMoved > w.size {
		return errFence
	}
	if err := w.giveTail(to, at.To); err != nil {
		return err
	}
	err := w.shorten(at.From)
	return errors.Join(err, w.seal())
}

// giveTail appends what is behind from to another log. What is missing of it is
// dropped. Called with turn.
func (w *writer) giveTail(to *writer, from int64) error {
	h, _, err := w.acquire()
	if err != nil {
		return &Blocked{Err: err}
	}
	if h == nil {
		return nil // nothing is there, or the file is lost
	}
	defer h.free()
	to.writerMu.Lock()
	defer to.writerMu.Unlock()
	return w.gaps.keep(from+w.tailMoved, w.size, func(a, b int64) error {
		tail := &tail{sys: w.disk.sys, from: h, off: a, end: b}
		for tail.off < tail.end {
			n, err := to.fill(tail, tail.end-tail.off)
			w.tailMoved = tail.off - from
			switch err {
			case ErrQuota, ErrPaused, ErrSealed, unix.EAGAIN: // it wants no more, or there is none
				return nil
			}
			if err != nil || n == 0 {
				return err
			}
		}
		return nil
	})
}

// shorten makes the log end at size. Readers are told before the bytes go: who reads
// behind it meanwhile finds that it is the end. Called with turn.
func (w *writer) shorten(size int64) error {
	h, _, err := w.acquire()
	w.mu.Lock()
	gone := w.size - size
	w.size = size
	w.gaps = w.gaps.upTo(size)
	w.unveil()
	if w.mem != nil {
		gone = min(gone, w.memoryBytes)
		w.memoryBytes -= gone
		w.disk.memory.Add(-gone)
	}
	w.mu.Unlock()
	w.elided, w.punched = min(w.elided, max(size, w.plan.head())), min(w.punched, max(size, w.plan.head()))
	if w.times != nil {
		w.times.cut(size)
	}
	if h == nil {
		return err
	}
	defer h.free()
	if err = w.disk.sys.Truncate(h.fd, size); err != nil {
		return &Blocked{Err: err}
	}
	return nil
}

// tail is a source: bytes of another log.
type tail struct {
	sys      Sys
	from     *handle
	off, end int64
}

func (s *tail) poll() (readable, ended bool, err error) { return s.off < s.end, false, nil }

func (s *tail) move(to *handle, off, most int64) (int64, error) {
	n := min(most, s.end-s.off, copyBuffer)
	if err := s.sys.Seek(to.fd, off); err != nil {
		return 0, err
	}
	k, err := s.sys.Sendfile(to.fd, s.from.fd, s.off, n)
	if err == unix.ENOSYS || err == unix.EINVAL {
		k, err = s.byReading(to, off, n)
	}
	if k = max(k, 0); k == 0 && err == nil {
		s.off = s.end // it was truncated by somebody: nothing is there
		return 0, unix.EAGAIN
	}
	s.off += k
	return k, errUnless(k, err)
}

func (s *tail) byReading(to *handle, off, n int64) (int64, error) {
	buf := make([]byte, n)
	got, err := s.sys.Pread(s.from.fd, buf, s.off)
	if err != nil || got == 0 {
		return 0, err
	}
	k, err := s.sys.Pwrite(to.fd, buf[:got], off)
	return int64(k), err
}

func (s *tail) drop(most int64) (int64, error) {
	n := min(most, s.end-s.off)
	s.off += n
	return n, nil
}
