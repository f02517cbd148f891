package spill

import (
	"errors"
	"io"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// The streams of a job. Merged is stdout and stderr in one pipe, in true order.
const (
	Merged uint8 = iota
	Stdout
	Stderr
)

// Flags say what befell a log from outside.
type Flags uint8

// The flags. They stay once they are set.
const (
	Unlinked Flags = 1 << iota // its file was deleted; it was made anew where it could be
	Tampered                   // its file was truncated or changed
)

// Has reports whether all of g are set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// State is what is known of a log at one instant.
type State struct {
	Size   int64  // bytes written so far = offset of the next byte; gaps count
	Closed bool   // sealed: no writer is left, the size is final
	File   string // path of the file; "" while the log is in memory, or its file is lost
	Gaps   []Gap  // what was not kept, in order, apart from one another
	Flags  Flags  // what befell its file
	Veiled bool   // its file may have more bytes than Size, which are not to be shown; see Fenced
}

// Name is what a store knows a log by.
type Name struct {
	ID     string
	Stream uint8
}

// Missing is how many bytes were not kept.
func (s State) Missing() int64 {
	var n int64
	for _, g := range s.Gaps {
		n += g.Len()
	}
	return n
}

// Log reads an output, from any goroutine. Elided ranges read as zeros: ask State
// for the gaps, after the read, since a gap may open beneath it. ReadAt returns
// io.EOF at the current size, whether or not more will come.
type Log interface {
	io.ReaderAt
	State() State
	Close() error
}

// Blocked says that the store cannot take bytes now (ENOSPC, EROFS, EIO, …).
// Nothing is lost: they stay where they were. It is cleared by a later success.
type Blocked struct{ Err error }

func (b *Blocked) Error() string { return "the output log cannot grow: " + b.Err.Error() }

func (b *Blocked) Unwrap() error { return b.Err }

// The errors a caller may test for.
var (
	ErrPaused   = errors.New("the log has reached its quota and takes no more bytes")
	ErrQuota    = errors.New("the log has reached its quota and the job is to be stopped")
	ErrNotFound = errors.New("there is no such log")
	ErrExists   = errors.New("there is already a log of that id and stream")
	ErrSealed   = errors.New("the log is sealed")
	ErrClosed   = errors.New("the store is closed")
)

// EvictedReason is the reason of an error about a log that is not kept any more.
const EvictedReason = "evicted"

// RemoteLog is a Log that asks another process for its State. Err says why that could
// not tell it when it was asked last; nil: it did.
type RemoteLog interface{ Err() error }

// ErrOf is what an Afar log says, nil of another.
func ErrOf(l Log) error {
	if a, ok := l.(RemoteLog); ok {
		return a.Err()
	}
	return nil
}

// sharedLog is one log: what its writer and its readers share. It is empty, then
// perhaps in memory, then perhaps a file; it never goes back.
type sharedLog struct {
	disk  *Disk
	job   *job // nil for the order index
	id    string
	group string // of its plan
	plan  *Plan  // resolved, without its group: many logs have the same

	writer *writer // nil once it is sealed; guarded by turn

	// writerMu is held by whoever changes where the bytes are, or adds some.
	writerMu sync.Mutex

	mu          sync.RWMutex
	size        int64
	hidden      int64 // bytes at the end that no reader sees yet; see Fenced
	gaps        gaps
	users       int32 // readers, and the writer until it seals
	stream      uint8 // not changed
	hasHidden   bool  // some bytes may be hidden
	sealed      bool
	removed     bool
	flags       Flags
	mem         *handle // in memory
	memoryBytes int64   // bytes that mem counts for in Disk.memory
	file        *file   // in a file
	marked      gaps    // what its mark says; guarded by turn
}

// kept is how many bytes of the log there are; called with turn.
func (b *sharedLog) kept() int64 { return b.size - b.gaps.total() }

// State is what is known of the log now.
func (b *sharedLog) State() State {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := State{Size: b.size - b.hidden, Veiled: b.hasHidden, Closed: b.sealed, Gaps: slices.Clone([]Gap(b.gaps)), Flags: b.flags}
	if b.file != nil {
		s.File = *b.file.path.Load()
	}
	return s
}

// acquire returns what holds the bytes, held for the caller; nil while there is
// nothing, or when the file is lost.
func (b *sharedLog) acquire() (*handle, *file, error) {
	b.mu.RLock()
	f := b.file
	if b.mem != nil {
		h := b.mem.hold()
		b.mu.RUnlock()
		return h, nil, nil
	}
	b.mu.RUnlock()
	if f == nil {
		return nil, nil, nil
	}
	h, err := f.open()
	if errors.Is(err, errGone) {
		b.lose(f)
		return nil, f, nil
	}
	return h, f, err
}

// lose notes that a file is not there any more, and with it all it held.
func (b *sharedLog) lose(f *file) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == f && !b.removed {
		b.gaps = b.gaps.add(0, b.size)
		b.flags |= Unlinked
	}
}

// readAt reads what may be seen of p at off.
func (b *sharedLog) readAt(p []byte, off int64) (int, error) { return b.readUpTo(p, off, true) }

// readUpTo reads what there is of p at off, or, if seen, what of that may be seen. A file
// that is shorter than the log was truncated by somebody: what it lacks becomes a gap, and
// reads as zeros.
func (b *sharedLog) readUpTo(p []byte, off int64, seen bool) (int, error) {
	if off < 0 {
		return 0, unix.EINVAL
	}
	size := b.extent(seen)
	if off >= size {
		return 0, io.EOF
	}
	short := int64(len(p)) > size-off
	if short {
		p = p[:size-off]
	}
	h, f, err := b.acquire()
	if err != nil {
		return 0, err
	}
	n := 0
	if h != nil {
		defer h.free()
		if n, err = preadFull(b.disk.sys, h.fd, p, off); err != nil {
			return n, err
		}
	}
	clear(p[n:])
	if n < len(p) && f != nil && h != nil {
		b.truncated(h, size)
	}
	b.mu.RLock()
	b.gaps.blank(p, off)
	b.mu.RUnlock()
	if now := b.extent(seen); now < size && off+int64(len(p)) > now { // it was cut
		p, short = p[:max(0, now-off)], true
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// extent is how large the log is, or as much of it as may be seen.
func (b *sharedLog) extent(seen bool) int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if seen {
		return b.size - b.hidden
	}
	return b.size
}

// truncated compares the file with size, which it had at least, and counts
// what is missing.
func (b *sharedLog) truncated(h *handle, size int64) {
	st, err := b.disk.sys.Stat(h.fd)
	if err != nil || st.Size >= size {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	size = min(size, b.size) // it may have been cut since
	if !b.gaps.cover(st.Size, size) {
		b.gaps = b.gaps.add(st.Size, size)
		b.flags |= Tampered
	}
}

func preadFull(sys Sys, fd int, p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		k, err := sys.Pread(fd, p[n:], off+int64(n))
		if err != nil {
			return n, err
		}
		if k == 0 {
			break
		}
		n += k
	}
	return n, nil
}

// remove frees the bytes as soon as nobody uses them; a file that was kept
// stays where it is.
func (b *sharedLog) remove() error {
	b.writerMu.Lock()
	defer b.writerMu.Unlock()
	b.mu.Lock()
	b.removed = true
	f, users := b.file, b.users
	b.mu.Unlock()
	var err error
	if f != nil {
		if users > 0 {
			f.pin()
		}
		err = f.unlink()
		b.unmark()
	}
	b.mu.RLock()
	users = b.users // whoever left meanwhile did so before the pin
	b.mu.RUnlock()
	if users == 0 {
		b.dispose()
	}
	return err
}

// leave is said by a user that closes.
func (b *sharedLog) leave() {
	b.mu.Lock()
	b.users--
	last, removed, f := b.users == 0, b.removed, b.file
	b.mu.Unlock()
	switch {
	case !last:
	case removed:
		b.dispose()
	case f != nil:
		f.rest()
	}
}

// dispose frees what holds the bytes; nobody uses them any more.
func (b *sharedLog) dispose() {
	b.mu.Lock()
	mem, f := b.mem, b.file
	b.mem = nil
	held := b.memoryBytes
	b.memoryBytes = 0
	b.mu.Unlock()
	if mem != nil {
		b.disk.memory.Add(-held)
		b.disk.memfds.Add(-1)
		mem.free()
	}
	if f != nil {
		f.disk.cache.drop(&f.slot)
	}
}

// reader opens the log for reading; called with Disk.mu.
func (b *sharedLog) reader() *reader {
	b.mu.Lock()
	b.users++
	b.mu.Unlock()
	return &reader{body: b}
}

// reader is a Log.
type reader struct {
	body *sharedLog
	mu   sync.RWMutex
	shut bool
}

func (r *reader) State() State { return r.body.State() }

// ReadAt keeps the log in use until it returns: Close waits for it.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.shut {
		return 0, ErrClosed
	}
	return r.body.readAt(p, off)
}

// Close may be called again.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shut {
		r.shut = true
		r.body.leave()
	}
	return nil
}
