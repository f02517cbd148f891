package spill

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Sys is every system call that a store makes for its logs, so that a test can make the
// Nth one fail. Calls do not wait for the other side of a pipe, and they repeat after a
// signal.
type Sys interface {
	// Memfd creates an unnamed file in memory, closed on exec.
	Memfd(name string) (int, error)
	// Open opens name in the directory dir, closed on exec. It fails if name is a
	// symbolic link.
	Open(dir int, name string, flags int, mode uint32) (int, error)
	Mkdir(dir int, name string, mode uint32) error
	Rename(fromDir int, from string, toDir int, to string) error
	Unlink(dir int, name string) error
	Stat(fd int) (Stat, error)
	Pread(fd int, p []byte, off int64) (int, error)
	Pwrite(fd int, p []byte, off int64) (int, error)
	Read(fd int, p []byte) (int, error)
	// Poll reports whether there are bytes to read, or none will follow.
	Poll(fd int) (readable, ended bool, err error)
	// Splice moves bytes from the pipe from to offset off of to. off < 0 is for a
	// device. It returns 0 at the end of the pipe.
	Splice(from, to int, off, max int64) (int64, error)
	// Pipe creates a pipe, closed on exec. It holds size bytes if the system allows
	// that.
	Pipe(size int) (r, w int, err error)
	// Sendfile copies n bytes at off of from to the file offset of to.
	Sendfile(to, from int, off, n int64) (int64, error)
	Seek(fd int, off int64) error
	// Punch frees the bytes [off, off+n) without changing the size.
	Punch(fd int, off, n int64) error
	Truncate(fd int, size int64) error
	// Sync makes the bytes of a file, or the names in a directory, survive a crash of
	// the machine.
	Sync(fd int) error
	// Lock takes the exclusive lock of an open file, or fails with EWOULDBLOCK.
	Lock(fd int) error
	// IsPipe distinguishes a pipe from a terminal, whose EIO is its end.
	IsPipe(fd int) bool
	// Free returns how many bytes this user can still store in the file system of an open
	// file, and its size in bytes.
	Free(fd int) (free, size int64, err error)
	// Reopen opens an open file again, read-only.
	Reopen(fd int) (int, error)
	// Hole returns the next hole of the file at or after off. An empty range means that
	// there is none before size.
	Hole(fd int, off, size int64) (from, to int64, err error)
	Close(fd int) error
}

// Stat is the metadata of an open file.
type Stat struct {
	Dev, Ino     uint64
	Size, Blocks int64 // Blocks in units of 512 bytes
	Links        uint64
	UID          uint32
	Perm         uint32 // permission bits
	Regular, Dir bool
	Changed      time.Time // modification time
}

func (kernelSys) Open(dir int, name string, flags int, mode uint32) (int, error) {
	return again(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	})
}

func (kernelSys) Mkdir(dir int, name string, mode uint32) error { return unix.Mkdirat(dir, name, mode) }

func (kernelSys) Unlink(dir int, name string) error { return unix.Unlinkat(dir, name, 0) }

func (kernelSys) Rename(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat(fromDir, from, toDir, to)
}

func (kernelSys) Stat(fd int) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Stat{}, err
	}
	kind := uint32(st.Mode) & unix.S_IFMT
	return Stat{
		Dev: uint64(st.Dev), Ino: st.Ino, //nolint:unconvert // their types differ from system to system
		Size: st.Size, Blocks: st.Blocks,
		Links: uint64(st.Nlink), UID: st.Uid, Perm: uint32(st.Mode) & 0o777, //nolint:unconvert // as above
		Regular: kind == unix.S_IFREG, Dir: kind == unix.S_IFDIR,
		Changed: time.Unix(st.Mtim.Unix()),
	}, nil
}

func (kernelSys) Pread(fd int, p []byte, off int64) (int, error) {
	return again(func() (int, error) { return unix.Pread(fd, p, off) })
}

func (kernelSys) Pwrite(fd int, p []byte, off int64) (int, error) {
	return again(func() (int, error) { return unix.Pwrite(fd, p, off) })
}

func (kernelSys) Read(fd int, p []byte) (int, error) {
	return again(func() (int, error) { return unix.Read(fd, p) })
}

func (kernelSys) Poll(fd int) (readable, ended bool, err error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err = again(func() (int, error) { return unix.Poll(fds, 0) })
	readable = fds[0].Revents&unix.POLLIN != 0
	ended = !readable && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	return readable, ended, err
}

func (kernelSys) Seek(fd int, off int64) error {
	_, err := unix.Seek(fd, off, 0)
	return err
}

func (kernelSys) Truncate(fd int, size int64) error {
	_, err := again(func() (int, error) { return 0, unix.Ftruncate(fd, size) })
	return err
}

func (kernelSys) Lock(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	return err
}

func (kernelSys) Free(fd int) (free, size int64, err error) {
	var st unix.Statfs_t
	_, err = again(func() (int, error) { return 0, unix.Fstatfs(fd, &st) })
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), err //nolint:unconvert // their types differ from system to system
}

func (kernelSys) Close(fd int) error { return unix.Close(fd) }

// again repeats a call that a signal interrupted.
func again[N int | int64](call func() (N, error)) (N, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

func exhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// handle is a descriptor with a reference count. The last user closes it, so it is
// closed once and never while it is used.
type handle struct {
	fd   int
	sys  Sys
	refs atomic.Int32
}

func newHandle(sys Sys, fd int) *handle {
	h := &handle{fd: fd, sys: sys}
	h.refs.Store(1)
	return h
}

// hold adds a reference. The caller must know that one exists.
func (h *handle) hold() *handle {
	h.refs.Add(1)
	return h
}

func (h *handle) free() {
	if h.refs.Add(-1) == 0 {
		h.sys.Close(h.fd) // the bytes are in the page cache: no error is left to handle
	}
}

// slot is the place of one file in the cache.
type slot struct {
	h    *handle
	elem *list.Element // nil without a descriptor, and for a pinned one
}

// cache keeps the descriptors of the most recently used files open. Other files are
// opened again by path. Only pinned descriptors, whose file has no path any more,
// exceed the limit.
type cache struct {
	sys   Sys
	limit int

	mu   sync.Mutex
	list list.List // of *slot, most recently used first
}

// get returns the descriptor of s with a reference for the caller, or nil.
func (c *cache) get(s *slot) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.h == nil {
		return nil
	}
	if s.elem != nil {
		c.list.MoveToFront(s.elem)
	}
	return s.h.hold()
}

// put gives h to s in place of its former descriptor, and closes the least recently
// used one.
func (c *cache) put(s *slot, h *handle) {
	c.mu.Lock()
	old := s.h
	s.h = h
	if s.elem == nil {
		s.elem = c.list.PushFront(s)
	}
	victim := c.overflow()
	c.mu.Unlock()
	for _, h := range []*handle{old, victim} {
		if h != nil {
			h.free()
		}
	}
}

// overflow takes the least recently used descriptor out of a full cache. Closing the
// descriptor of a deleted file would lose its bytes, so that one is pinned.
func (c *cache) overflow() *handle {
	for c.list.Len() > c.limit {
		s := c.list.Remove(c.list.Back()).(*slot)
		s.elem = nil
		if st, err := c.sys.Stat(s.h.fd); err != nil || st.Links == 0 {
			continue
		}
		h := s.h
		s.h = nil
		return h
	}
	return nil
}

// pin keeps h, the descriptor of s, until it is dropped or replaced.
func (c *cache) pin(s *slot, h *handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.h == nil {
		s.h = h.hold()
	}
	if s.elem != nil {
		c.list.Remove(s.elem)
		s.elem = nil
	}
}

// drop removes the descriptor of s from the cache.
func (c *cache) drop(s *slot) {
	c.mu.Lock()
	h := s.h
	s.h = nil
	if s.elem != nil {
		c.list.Remove(s.elem)
		s.elem = nil
	}
	c.mu.Unlock()
	if h != nil {
		h.free()
	}
}

// shrink closes every descriptor that can be opened again, and reports whether there
// were any. The process has run out of descriptors.
func (c *cache) shrink() bool {
	c.mu.Lock()
	var out []*handle
	for e := c.list.Back(); e != nil; {
		s, prev := e.Value.(*slot), e.Prev()
		if st, err := c.sys.Stat(s.h.fd); err == nil && st.Links > 0 {
			out = append(out, s.h)
			s.h, s.elem = nil, nil
			c.list.Remove(e)
		}
		e = prev
	}
	c.mu.Unlock()
	for _, h := range out {
		h.free()
	}
	return len(out) > 0
}
