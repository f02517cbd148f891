package spill

import (
	"errors"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// target returns the descriptor for the next bytes, with a reference for the caller,
// and how many it takes. It moves a log that has outgrown its memory into a file.
func (w *writer) target(src source, room int64) (*handle, int64, error) {
	if w.noFile {
		h, room, ok := w.memoryTarget(room)
		if !ok {
			return nil, 0, errNoPlace
		}
		return h, room, nil
	}
	if w.mem != nil && !w.outgrown() {
		return w.mem.hold(), min(room, w.inline()-w.kept()+1), nil // one byte more makes it outgrow
	}
	if w.mem != nil {
		if err := w.spillTo(dirRef{group: w.group}); err != nil {
			return nil, 0, err
		}
	}
	if w.file != nil {
		h, err := w.live()
		return h, room, err
	}
	if w.inline() > 0 && !w.noMemory && w.disk.admits() {
		if h, err := w.disk.spare.take(); err == nil {
			return h, min(room, w.inline()+1), nil
		}
	}
	if err := waits(src); err != nil {
		return nil, 0, err // without a byte no file is made
	}
	if err := w.spillTo(dirRef{group: w.group}); err != nil {
		return nil, 0, err
	}
	h, err := w.live()
	return h, room, err
}

func (b *sharedLog) inline() int64 { return b.plan.Inline }

// outgrown reports whether a log in memory must move into a file.
func (w *writer) outgrown() bool {
	if w.noFile {
		return false
	}
	return w.noMemory || w.kept() > w.plan.Inline || w.disk.memory.Load() > w.disk.limits.Load().Memory
}

// admits reports whether the store has memory for one more log.
func (d *Disk) admits() bool {
	limits := d.limits.Load()
	return d.memfds.Load() < int64(limits.Memfds) && d.memory.Load() < limits.Memory
}

// spillTo spills the log: it makes a file with all its bytes. Offsets and readers stay;
// the next read finds the file. An error changes nothing.
func (b *sharedLog) spillTo(p dirRef) error {
	if err := b.markAt(p, fileName(b.id, b.stream), false); err != nil {
		return &Blocked{Err: err}
	}
	f, err := b.disk.create(p, fileName(b.id, b.stream), b.plan.Durability != Memory, func(h *handle) error {
		if b.mem == nil {
			return nil
		}
		return b.copyTo(h, b.mem, 0, b.size)
	})
	if err != nil {
		return &Blocked{Err: err}
	}
	b.mu.Lock()
	mem, held := b.mem, b.memoryBytes
	b.mem, b.memoryBytes, b.file = nil, 0, f
	b.mu.Unlock()
	if mem != nil {
		b.disk.memory.Add(-held)
		b.disk.memfds.Add(-1)
		mem.free()
	}
	if b.removed { // only the writer and its readers still use it
		f.pin()
		_ = f.unlink()
	}
	return nil
}

// copyTo copies what was kept of [from, to) to the same offsets of a file.
func (b *sharedLog) copyTo(dst, src *handle, from, to int64) error {
	sys := b.disk.sys
	end := int64(0)
	err := b.knownGaps().keep(from, to, func(from, to int64) error {
		end = to
		return copyRange(sys, dst.fd, src.fd, from, to)
	})
	if err == nil && end < to {
		err = sys.Truncate(dst.fd, to)
	}
	return err
}

// create makes a file that gets its name after it is complete.
func (d *Disk) create(p dirRef, name string, durable bool, fill func(*handle) error) (*file, error) {
	dir, err := d.openDir(p, true)
	if err != nil {
		return nil, err
	}
	defer dir.free()
	h, err := d.fresh(dir, name+newSuffix)
	if err != nil {
		return nil, err
	}
	defer h.free()
	if err = fill(h); err == nil {
		err = d.publish(dir, h, name, durable)
	}
	if err != nil {
		_ = d.sys.Unlink(dir.fd, name+newSuffix) // on failure the next try or a sweep removes it
		return nil, err
	}
	return d.adopt(p, name, h)
}

// fresh makes an empty file in place of one that an earlier try left.
func (d *Disk) fresh(dir *handle, name string) (*handle, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL
	h, err := d.openFile(dir, name, flags)
	if errors.Is(err, unix.EEXIST) {
		if err = d.sys.Unlink(dir.fd, name); err == nil {
			h, err = d.openFile(dir, name, flags)
		}
	}
	return h, err
}

// publish gives a complete file its name.
func (d *Disk) publish(dir, h *handle, name string, durable bool) error {
	if durable {
		if err := d.sys.Sync(h.fd); err != nil {
			return err
		}
	}
	if err := d.sys.Rename(dir.fd, name+newSuffix, dir.fd, name); err != nil {
		return err
	}
	if durable {
		return d.sys.Sync(dir.fd)
	}
	return nil
}

// adopt returns the file that h has open.
func (d *Disk) adopt(p dirRef, name string, h *handle) (*file, error) {
	st, err := d.sys.Stat(h.fd)
	if err != nil {
		return nil, err
	}
	f := &file{disk: d}
	f.settle(p, name, st)
	d.cache.put(&f.slot, h.hold())
	return f, nil
}

// copyBuffer bounds the bytes in user memory where the kernel cannot copy by itself.
const copyBuffer = 64 << 10

// copyRange copies [from, to) to the same offsets.
func copyRange(sys Sys, dst, src int, from, to int64) error {
	if err := sys.Seek(dst, from); err != nil {
		return err
	}
	for from < to {
		n, err := sys.Sendfile(dst, src, from, to-from)
		if err == unix.ENOSYS || err == unix.EINVAL {
			return copySlowly(sys, dst, src, from, to)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil // the source was truncated; the writer detects the missing rest later
		}
		from += n
	}
	return nil
}

func copySlowly(sys Sys, dst, src int, from, to int64) error {
	buf := make([]byte, min(copyBuffer, to-from))
	for from < to {
		n, err := sys.Pread(src, buf[:min(int64(len(buf)), to-from)], from)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		for done := 0; done < n; {
			k, err := sys.Pwrite(dst, buf[done:n], from+int64(done))
			if err != nil {
				return err
			}
			done += k
		}
		from += int64(n)
	}
	return nil
}

// memoryTarget returns the target of a log that can have no file. Without memory it
// returns false, and the log keeps nothing more.
func (w *writer) memoryTarget(room int64) (*handle, int64, bool) {
	if w.mem != nil {
		return w.mem.hold(), room, true
	}
	h, err := w.disk.spare.take()
	w.noMemory = err != nil
	return h, room, err == nil
}

// MemoryLog returns a sealed log of data.
func MemoryLog(data []byte) Log { return memoryLog(data) }

type memoryLog []byte

// State implements Log.
func (w memoryLog) State() State { return State{Size: int64(len(w)), Closed: true} }

// ReadAt implements Log.
func (w memoryLog) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, w[min(max(off, 0), int64(len(w))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements Log.
func (memoryLog) Close() error { return nil }

// maxSpares bounds the unused memory files: one for each writer that may find its pipe
// empty at the same time.
const maxSpares = 4

// sparePool holds memory files that were made for a first byte which did not arrive,
// empty staging pipes, and /dev/null for bytes that are dropped.
type sparePool struct {
	sys     Sys
	mu      sync.Mutex
	free    []*handle
	hole    *handle // /dev/null; nil until it is needed
	staging []*stagingPipe
	made    int // staging pipes, including those in use
	closed  bool
}

// take returns an empty memory file.
func (s *sparePool) take() (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		h := s.free[n-1]
		s.free = s.free[:n-1]
		return h, nil
	}
	fd, err := s.sys.Memfd("troupe-log")
	if err != nil {
		return nil, err
	}
	return newHandle(s.sys, fd), nil
}

// give returns the empty memory file h to the pool, unless the log b uses it.
func (s *sparePool) give(b *sharedLog, h *handle) {
	if b.mem != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < maxSpares && !s.closed {
		s.free = append(s.free, h.hold())
	}
}

// null returns /dev/null with a reference for the caller.
func (s *sparePool) null() (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hole == nil {
		fd, err := s.sys.Open(unix.AT_FDCWD, "/dev/null", unix.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		s.hole = newHandle(s.sys, fd)
	}
	return s.hole.hold(), nil
}

func (s *sparePool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.free {
		h.free()
	}
	if s.hole != nil {
		s.hole.free()
	}
	for _, h := range s.staging {
		h.close(s.sys)
	}
	s.free, s.hole, s.staging, s.closed = nil, nil, nil, true
}

// takeStaging returns an empty staging pipe, or nil if the pool has already made most.
func (s *sparePool) takeStaging(most int) *stagingPipe {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.staging); n > 0 {
		h := s.staging[n-1]
		s.staging = s.staging[:n-1]
		return h
	}
	if s.made >= most || s.closed {
		return nil
	}
	r, w, err := s.sys.Pipe(stagingSize)
	if err != nil {
		return nil
	}
	s.made++
	return &stagingPipe{r: r, w: w}
}

func (s *sparePool) giveStaging(h *stagingPipe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.made > maxStaging { // terminals may have more than maxStaging
		h.close(s.sys)
		s.made--
		return
	}
	s.staging = append(s.staging, h)
}

// lost counts a staging pipe that was closed with bytes in it.
func (s *sparePool) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made--
}
