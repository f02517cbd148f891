package spill

import (
	"errors"
	"io"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// The streams of a job. Merged is stdout and stderr in one pipe, in the order of the writes.
const (
	Merged uint8 = iota
	Stdout
	Stderr
)

// Flags record what other programs did to the file of a log.
type Flags uint8

// The flags. A flag that is set stays set.
const (
	Unlinked Flags = 1 << iota // its file was deleted; the writer creates it again if it can
	Tampered                   // its file was truncated or changed
)

// Has reports whether all of g are set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// State describes a log at one instant.
type State struct {
	Size   int64  `cbor:"1,keyasint,omitzero"` // bytes written, including gaps; the offset of the next byte
	Closed bool   `cbor:"2,keyasint,omitzero"` // sealed: the size is final
	File   string `cbor:"3,keyasint,omitzero"` // path of the file; "" while the log is in memory, or if the file is lost
	Gaps   []Gap  `cbor:"4,keyasint,omitzero"` // ranges that were not kept, in order, not adjacent
	Flags  Flags  `cbor:"5,keyasint,omitzero"` // changes to its file from outside
	Veiled bool   `cbor:"6,keyasint,omitzero"` // its file may hold hidden bytes after Size; see FencedWriter
	Named  bool   `cbor:"7,keyasint,omitzero"` // the plan named its file, which other programs may rotate
	Base   int64  `cbor:"8,keyasint,omitzero"` // offset of the first byte in File; not 0 after a rotation
}

// Name identifies a log in a store.
type Name struct {
	ID     string
	Stream uint8
}

// Missing returns the number of bytes that were not kept.
func (s State) Missing() int64 {
	var n int64
	for _, g := range s.Gaps {
		n += g.Len()
	}
	return n
}

// Log reads an output, from any goroutine. Gaps read as zeros. Ask State for the gaps
// after a read, since a gap may open during it. ReadAt returns io.EOF at the current
// size, also while the log still grows.
type Log interface {
	io.ReaderAt
	State() State
	Close() error
}

// Blocked reports that the store cannot take bytes now (ENOSPC, EROFS, EIO, …). The
// bytes stay where they were. The next success clears it.
type Blocked struct{ Err error }

func (b *Blocked) Error() string { return "the output log cannot grow: " + b.Err.Error() }

func (b *Blocked) Unwrap() error { return b.Err }

// The errors that a caller may test for.
var (
	ErrPaused   = errors.New("the log has reached its quota and takes no more bytes")
	ErrQuota    = errors.New("the log has reached its quota and the job is to be stopped")
	ErrNotFound = errors.New("log not found")
	ErrExists   = errors.New("there is already a log of that id and stream")
	ErrSealed   = errors.New("the log is sealed")
	ErrClosed   = errors.New("the store is closed")
)

// EvictedReason is the reason in an error about a log that is not kept any more.
const EvictedReason = "evicted"

// RemoteLog is a Log that asks another process for its State. Err returns why the last
// question failed, nil if it succeeded.
type RemoteLog interface{ Err() error }

// ErrOf returns the Err of a RemoteLog, nil for any other log.
func ErrOf(l Log) error {
	if a, ok := l.(RemoteLog); ok {
		return a.Err()
	}
	return nil
}

// sharedLog is the part of one log that its writer and its readers share. It begins
// empty, may move into memory and from there into a file, and never moves back.
type sharedLog struct {
	disk  *Disk
	job   *job // nil for an order index
	id    string
	group string // directory of the file
	plan  *Plan  // resolved, without Group; logs with equal plans share it

	writer *writer // nil after the seal; guarded by writerMu

	// writerMu serialises everything that adds bytes or moves them.
	writerMu sync.Mutex

	mu          sync.RWMutex
	size        int64
	hidden      int64 // bytes at the end that no reader sees yet; see FencedWriter
	gaps        gaps
	users       int32 // open readers, plus 1 for the writer until it seals
	stream      uint8 // constant
	hasHidden   bool  // set while bytes may be hidden
	sealed      bool
	removed     bool
	flags       Flags
	mem         *handle // nil unless the bytes are in memory
	memoryBytes int64   // share of Disk.memory
	file        *file   // nil unless the bytes are in a file
	base        int64   // offset of the first byte in the file; see restart
	marked      gaps    // gaps in its gap file; guarded by writerMu
}

// kept returns the number of bytes in the log without gaps. The caller holds writerMu.
func (b *sharedLog) kept() int64 { return b.size - b.knownGaps().total() }

// knownGaps returns the gaps, to which readers add those that they find.
func (b *sharedLog) knownGaps() gaps {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Clone(b.gaps)
}

// State describes the log as readers may see it.
func (b *sharedLog) State() State {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := State{Size: b.size - b.hidden, Veiled: b.hasHidden, Closed: b.sealed, Gaps: slices.Clone([]Gap(b.gaps)), Flags: b.flags, Named: b.plan.File != "", Base: b.base}
	if b.file != nil {
		s.File = *b.file.path.Load()
	}
	return s
}

// acquire returns the descriptor that has the bytes, with a reference for the caller.
// It returns nil for an empty log and for a lost file.
func (b *sharedLog) acquire() (*handle, *file, error) {
	h, f, _, err := b.acquireFrom()
	return h, f, err
}

// acquireFrom acquires like acquire. It also returns the offset of the first byte in the
// file.
func (b *sharedLog) acquireFrom() (h *handle, f *file, base int64, err error) {
	b.mu.RLock()
	f, base = b.file, b.base
	if b.mem != nil {
		h = b.mem.hold()
		b.mu.RUnlock()
		return h, nil, 0, nil
	}
	b.mu.RUnlock()
	if f == nil {
		return nil, nil, 0, nil
	}
	h, err = f.open()
	if errors.Is(err, errGone) {
		b.lose(f)
		return nil, f, base, nil
	}
	return h, f, base, err
}

// lose makes a gap of all bytes in a file that is gone.
func (b *sharedLog) lose(f *file) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == f && !b.removed {
		b.gaps = b.gaps.add(0, b.size)
		b.flags |= Unlinked
	}
}

// readAt reads visible bytes at off into p.
func (b *sharedLog) readAt(p []byte, off int64) (int, error) { return b.readUpTo(p, off, true) }

// readUpTo reads bytes at off into p: only visible ones if seen is set. If the file is
// shorter than the log, another program truncated it. The missing range becomes a gap
// and reads as zeros. A read during a rotation of the file is repeated.
func (b *sharedLog) readUpTo(p []byte, off int64, seen bool) (int, error) {
	if off < 0 {
		return 0, unix.EINVAL
	}
	for {
		base := b.fileBase()
		n, err := b.readOnce(p, off, seen)
		if b.fileBase() == base {
			return n, err
		}
	}
}

func (b *sharedLog) readOnce(p []byte, off int64, seen bool) (int, error) {
	size := b.extent(seen)
	if off >= size {
		return 0, io.EOF
	}
	short := int64(len(p)) > size-off
	if short {
		p = p[:size-off]
	}
	h, f, base, err := b.acquireFrom()
	if err != nil {
		return 0, err
	}
	n := 0
	if h != nil {
		defer h.free()
		n = int(min(max(base-off, 0), int64(len(p)))) // before the file: in a gap
		k, err := preadFull(b.disk.sys, h.fd, p[n:], off+int64(n)-base)
		if n += k; err != nil {
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
	if now := b.extent(seen); now < size && off+int64(len(p)) > now { // Cut shortened the log
		p, short = p[:max(0, now-off)], true
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// fileBase returns the offset of the first byte in the file.
func (b *sharedLog) fileBase() int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.base
}

// extent returns the size of the log, or of its visible part if seen is set.
func (b *sharedLog) extent(seen bool) int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if seen {
		return b.size - b.hidden
	}
	return b.size
}

// truncated adds a gap if the file is shorter than size, which it had before.
func (b *sharedLog) truncated(h *handle, size int64) {
	st, err := b.disk.sys.Stat(h.fd)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	size = min(size, b.size) // Cut may have shortened the log
	if end := b.base + st.Size; !b.gaps.cover(end, size) {
		b.gaps = b.gaps.add(end, size)
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

// remove frees the bytes after the last user closes. A kept file stays.
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
	users = b.users // if the last user left before the pin, its dispose came too early
	b.mu.RUnlock()
	if users == 0 {
		b.dispose()
	}
	return err
}

// leave ends the use of the log by a reader or its writer.
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

// dispose frees the memory or the descriptor of a log without users.
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

// reader opens the log for reading. The caller holds Disk.mu.
func (b *sharedLog) reader() *reader {
	b.mu.Lock()
	b.users++
	b.mu.Unlock()
	return &reader{log: b}
}

// reader is a Log.
type reader struct {
	log  *sharedLog
	mu   sync.RWMutex
	shut bool
}

func (r *reader) State() State { return r.log.State() }

// ReadAt keeps the log in use until it returns, and Close waits for that.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.shut {
		return 0, ErrClosed
	}
	return r.log.readAt(p, off)
}

// Close ends the use of the log. A second call does nothing.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shut {
		r.shut = true
		r.log.leave()
	}
	return nil
}
