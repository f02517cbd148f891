package spill

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// A live shell on a terminal writes a fence after the last byte of each command:
// "ESC ] 133 ; D ; STATUS ; NONCE BEL", STATUS of up to three digits. The log is given the
// nonce before the command begins (docs/design/live-shells.md).
const (
	fenceHead   = "\x1b]133;D;"
	fenceDigits = 3

	// fenceWindow is how much of the end of a log is looked at when bytes come: more
	// than a master gives at a time.
	fenceWindow = 8 << 10
	// fenceReach is how far from the end a fence is looked for: what was left in the
	// background may have printed so much behind it.
	fenceReach = 1 << 20
)

// Fence is one in a log: its bytes are [From, To).
type Fence struct{ From, To int64 }

// fence is the one with a nonce.
type fence string

// longest is how long it is at most.
func (f fence) longest() int { return len(fenceHead) + fenceDigits + len(";") + len(f) + len("\a") }

// match reports how long the fence is with which p begins, 0 if it begins with none,
// and whether p may be the beginning of one.
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

// visible is how much of the first size bytes of a log may be shown when the last n are
// new: all before the first byte with which a fence begins, or may begin if more comes.
// whole says that it is there to its end.
func (f fence) visible(r io.ReaderAt, size, n int64) (upTo int64, whole bool, err error) {
	from := max(0, size-min(n+int64(f.longest()), fenceWindow))
	p := make([]byte, size-from)
	if n, err := r.ReadAt(p, from); n < len(p) {
		return size, false, unread(err)
	}
	for i := 0; ; i++ {
		next := bytes.IndexByte(p[i:], fenceHead[0])
		if next < 0 {
			return size, false, nil
		}
		i += next
		if n, may := f.match(p[i:]); n > 0 || may {
			return from + int64(i), n > 0, nil
		}
	}
}

// last finds the last fence in the first size bytes of a log, if it is near the end.
func (f fence) last(r io.ReaderAt, size int64) (found Fence, ok bool, err error) {
	buf := make([]byte, min(size, fenceWindow))
	for to := size; to > max(0, size-fenceReach); {
		from := max(0, to-int64(len(buf)))
		p := buf[:to-from]
		if n, err := r.ReadAt(p, from); n < len(p) {
			return Fence{}, false, unread(err)
		}
		for i := len(p); ; {
			if i = bytes.LastIndexByte(p[:i], fenceHead[0]); i < 0 {
				break
			}
			if n, _ := f.match(p[i:]); n > 0 {
				return Fence{from + int64(i), from + int64(i+n)}, true, nil
			}
		}
		if from == 0 {
			break
		}
		to = from + int64(f.longest()-1) // one may be across the border
	}
	return Fence{}, false, nil
}

// unread is why bytes could not be read that should be there.
func unread(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

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

// fenceState is the end of what is the log's.
type fenceState struct {
	fence fence
	whole bool // it has come
}

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
