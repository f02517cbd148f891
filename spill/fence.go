package spill

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// A live shell on a terminal writes a fence after the last byte of each command:
// "ESC ] 133 ; D ; STATUS ; NONCE BEL", STATUS of up to three digits. The log gets the
// nonce before the command starts (docs/design/live-shells.md).
const (
	fenceHead   = "\x1b]133;D;"
	fenceDigits = 3

	// fenceWindow is how much is searched at a time, in bytes: more than one read of a
	// terminal gives.
	fenceWindow = 8 << 10
)

// Fence is the range [From, To) of a fence in a log.
type Fence struct{ From, To int64 }

// fence is the nonce of a fence.
type fence string

// match returns the length of the fence at the beginning of p, 0 if there is none. may
// says that p could be the beginning of one.
func (f fence) match(p []byte) (n int, may bool) {
	if !bytes.HasPrefix(p, []byte(fenceHead)) {
		return 0, bytes.HasPrefix([]byte(fenceHead), p)
	}
	i := len(fenceHead)
	for digits := 0; i < len(p) && digits < fenceDigits && '0' <= p[i] && p[i] <= '9'; digits++ {
		i++
	}
	if i == len(p) {
		return 0, true
	}
	if i == len(fenceHead) {
		return 0, false
	}
	end := ";" + string(f) + "\a"
	if bytes.HasPrefix(p[i:], []byte(end)) {
		return i + len(end), false
	}
	return 0, bytes.HasPrefix([]byte(end), p[i:])
}

// unread returns the error for bytes that could not be read although they must exist.
func unread(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// FencedWriter is a Writer for the output of one command on a terminal. The log ends at
// the fence that the live shell writes after the last byte of the command.
type FencedWriter interface {
	Writer

	// SetFence sets the nonce of the fence, before the first byte. Until the seal, no
	// reader sees the last fence, what follows it, or bytes that may begin one:
	// State().Size excludes them and State().Veiled is true.
	SetFence(nonce string)

	// Fence returns the last fence in the log.
	Fence() (Fence, bool, error)

	// Cut seals the log before the fence, drops the fence, and appends what follows it
	// to rest as far as the policy of rest allows. rest is a log of the same store that
	// is never cut into this one. The kernel copies the bytes where it can. After a
	// *Blocked error Cut can be called again: bytes that rest already has are not
	// copied twice. After any other error the log is sealed and cut.
	Cut(at Fence, rest Writer) error
}

// errFence reports that the log cannot be cut at a fence.
var errFence = errors.New("the log cannot be cut there")

// fenceState is the search for the fence of a log.
type fenceState struct {
	fence fence
	next  int64 // the first byte that is not searched, or may begin a fence
	last  Fence // the last one found; the zero value: none
}

// search finds the fences in the bytes from next to size.
func (s *fenceState) search(r io.ReaderAt, size int64) error {
	p := make([]byte, min(size-s.next, fenceWindow))
	for to := s.next; to < size; {
		p = p[:min(size-s.next, fenceWindow)]
		if n, err := r.ReadAt(p, s.next); n < len(p) {
			return unread(err)
		}
		to = s.next + int64(len(p))
		s.next += s.scan(p)
	}
	return nil
}

// scan finds the fences in p, which is at next, and returns how much of p is searched:
// the rest may be the beginning of a fence.
func (s *fenceState) scan(p []byte) int64 {
	for i := 0; ; {
		next := bytes.IndexByte(p[i:], fenceHead[0])
		if next < 0 {
			return int64(len(p))
		}
		i += next
		n, may := s.fence.match(p[i:])
		switch {
		case n > 0:
			s.last = Fence{s.next + int64(i), s.next + int64(i+n)}
			i += n
		case may:
			return int64(i)
		default:
			i++
		}
	}
}

// visible returns how much of the log may be shown.
func (s *fenceState) visible() int64 {
	if s.last.To > 0 {
		return s.last.From
	}
	return s.next
}

// SetFence implements FencedWriter.
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

// rawReader reads a log with its hidden bytes.
type rawReader struct{ b *sharedLog }

func (r rawReader) ReadAt(p []byte, off int64) (int, error) { return r.b.readUpTo(p, off, false) }

// hide shows new bytes, except for the last fence, what follows it, and a possible
// beginning of one. It hides nothing if the log cannot be read; Fence returns that error.
// The caller holds writerMu but not mu.
func (w *writer) hide() {
	if w.fenced == nil {
		return
	}
	upTo := w.size
	if w.fenced.search(rawReader{w.sharedLog}, w.size) == nil {
		upTo = w.fenced.visible()
	}
	w.mu.Lock()
	w.hidden = w.size - upTo
	w.mu.Unlock()
}

// unveil shows all bytes. The caller holds mu.
func (b *sharedLog) unveil() { b.hidden, b.hasHidden = 0, false }

// Fence implements FencedWriter.
func (w *writer) Fence() (Fence, bool, error) {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.fenced == nil || w.sealed {
		return Fence{}, false, nil
	}
	if err := w.fenced.search(rawReader{w.sharedLog}, w.size); err != nil {
		return Fence{}, false, err
	}
	return w.fenced.last, w.fenced.last.To > 0, nil
}

// Cut implements FencedWriter.
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

// giveTail appends the bytes from from on to another log, without gaps. The caller
// holds writerMu.
func (w *writer) giveTail(to *writer, from int64) error {
	h, _, err := w.acquire()
	if err != nil {
		return &Blocked{Err: err}
	}
	if h == nil {
		return nil // the log is empty, or its file is lost
	}
	defer h.free()
	to.writerMu.Lock()
	defer to.writerMu.Unlock()
	return w.knownGaps().keep(from+w.tailMoved, w.size, func(a, b int64) error {
		src := &tailSource{sys: w.disk.sys, from: h, off: a, end: b}
		for src.off < src.end {
			n, err := to.fill(src, src.end-src.off)
			w.tailMoved = src.off - from
			switch err {
			case ErrQuota, ErrPaused, ErrSealed, unix.EAGAIN: // to takes no more, or no bytes are left
				return nil
			}
			if err != nil || n == 0 {
				return err
			}
		}
		return nil
	})
}

// shorten makes the log end at size. It changes the size before the bytes go, so that a
// reader after the new end gets io.EOF. The caller holds writerMu.
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

// tailSource is a source: the range [off, end) of another log.
type tailSource struct {
	sys      Sys
	from     *handle
	off, end int64
}

func (s *tailSource) poll() (readable, ended bool, err error) { return s.off < s.end, false, nil }

func (s *tailSource) move(to *handle, off, most int64) (int64, error) {
	n := min(most, s.end-s.off, copyBuffer)
	if err := s.sys.Seek(to.fd, off); err != nil {
		return 0, err
	}
	k, err := s.sys.Sendfile(to.fd, s.from.fd, s.off, n)
	if err == unix.ENOSYS || err == unix.EINVAL {
		k, err = s.byReading(to, off, n)
	}
	if k = max(k, 0); k == 0 && err == nil {
		s.off = s.end // another program truncated the file
		return 0, unix.EAGAIN
	}
	s.off += k
	return k, errUnless(k, err)
}

func (s *tailSource) byReading(to *handle, off, n int64) (int64, error) {
	buf := make([]byte, n)
	got, err := s.sys.Pread(s.from.fd, buf, s.off)
	if err != nil || got == 0 {
		return 0, err
	}
	k, err := s.sys.Pwrite(to.fd, buf[:got], off)
	return int64(k), err
}

func (s *tailSource) drop(most int64) (int64, error) {
	n := min(most, s.end-s.off)
	s.off += n
	return n, nil
}
