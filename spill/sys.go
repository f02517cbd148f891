package spill

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Sys is every system call a store makes for its logs, so that the Nth of them
// can be made to fail. Calls do not wait for the other side of a pipe and
// repeat themselves when a signal interrupts them.
type Sys interface {
	// Memfd makes an unnamed file in memory, closed on exec.
	Memfd(name string) (int, error)
	// Open opens name in the directory dir, never through a symbolic link at its
	// end, closed on exec.
	Open(dir int, name string, flags int, mode uint32) (int, error)
	Mkdir(dir int, name string, mode uint32) error
	Rename(fromDir int, from string, toDir int, to string) error
	Unlink(dir int, name string) error
	Stat(fd int) (Stat, error)
	Pread(fd int, p []byte, off int64) (int, error)
	Pwrite(fd int, p []byte, off int64) (int, error)
	Read(fd int, p []byte) (int, error)
	// Poll says whether there are bytes to read, or none will come any more.
	Poll(fd int) (readable, ended bool, err error)
	// Splice moves bytes out of the pipe from into to at off; off < 0 is for a
	// device. It returns 0 at the end of the pipe.
	Splice(from, to int, off, max int64) (int64, error)
	// Pipe makes a pipe that holds size bytes if that is allowed, closed on exec.
	Pipe(size int) (r, w int, err error)
	// Sendfile copies n bytes at off of from to where to stands.
	Sendfile(to, from int, off, n int64) (int64, error)
	Seek(fd int, off int64) error
	// Punch frees the bytes [off, off+n) without changing the size.
	Punch(fd int, off, n int64) error
	Truncate(fd int, size int64) error
	// Sync makes the bytes of a file, or the names in a directory, safe from a
	// crash of the machine.
	Sync(fd int) error
	// Lock takes the exclusive lock of an open file, or fails with EWOULDBLOCK.
	Lock(fd int) error
	// IsPipe tells a pipe from a terminal, whose EIO is its end.
	IsPipe(fd int) bool
	// Reopen opens an open file anew, for reading only.
	Reopen(fd int) (int, error)
	// Hole is the next range behind off that the file system does not hold; an
	// empty one says that there is none before size.
	Hole(fd int, off, size int64) (from, to int64, err error)
	Close(fd int) error
}

// Stat is what the store wants to know of an open file.
type Stat struct {
	Dev, Ino     uint64
	Size, Blocks int64 // Blocks in units of 512 bytes
	Links        uint64
	UID          uint32
	Perm         uint32 // the permission bits
	Regular, Dir bool
	Changed      time.Time // its bytes
}

// kernel is the Sys that is real.
type kernel struct{}

func (kernel) Open(dir int, name string, flags int, mode uint32) (int, error) {
	return again(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	})
}

func (kernel) Mkdir(dir int, name string, mode uint32) error { return unix.Mkdirat(dir, name, mode) }

func (kernel) Unlink(dir int, name string) error { return unix.Unlinkat(dir, name, 0) }

func (kernel) Rename(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat(fromDir, from, toDir, to)
}

func (kernel) Stat(fd int) (Stat, error) {
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

func (kernel) Pread(fd int, p []byte, off int64) (int, error) {
	return again(func() (int, error) { return unix.Pread(fd, p, off) })
}

func (kernel) Pwrite(fd int, p []byte, off int64) (int, error) {
	return again(func() (int, error) { return unix.Pwrite(fd, p, off) })
}

func (kernel) Read(fd int, p []byte) (int, error) {
	return again(func() (int, error) { return unix.Read(fd, p) })
}

func (kernel) Poll(fd int) (readable, ended bool, err error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err = again(func() (int, error) { return unix.Poll(fds, 0) })
	readable = fds[0].Revents&unix.POLLIN != 0
	ended = !readable && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	return readable, ended, err
}

func (kernel) Seek(fd int, off int64) error {
	_, err := unix.Seek(fd, off, 0)
	return err
}

func (kernel) Truncate(fd int, size int64) error {
	_, err := again(func() (int, error) { return 0, unix.Ftruncate(fd, size) })
	return err
}

func (kernel) Lock(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	return err
}

func (kernel) Close(fd int) error { return unix.Close(fd) }

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

// handle is one descriptor, shared by whoever reads or writes it just now. The
// last to let go closes it: a descriptor is closed once, and never in use.
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

// hold may be called only by one who knows that somebody holds it.
func (h *handle) hold() *handle {
	h.refs.Add(1)
	return h
}

func (h *handle) free() {
	if h.refs.Add(-1) == 0 {
		h.sys.Close(h.fd) // the bytes are in the page cache: nothing is left to fail
	}
}

// slot is where the cache keeps the descriptor of one file.
type slot struct {
	h    *handle
	elem *list.Element // nil: no descriptor, or one that must not be closed
}

// cache keeps the descriptors of the files used last, so that ten thousand
// logs need no ten thousand descriptors. The others are
// opened again by path. It is bounded but for pinned ones, whose file has no
// path any more.
type cache struct {
	sys   Sys
	limit int

	mu   sync.Mutex
	list list.List // of *slot, used last first
}

// get returns the descriptor of s, held for the caller, or nil.
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

// put gives h to s, in place of what it had, and closes the one used least.
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

// overflow takes the descriptor used least out of a full cache. A file that
// has no name any more would be lost with it: it stays, pinned.
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

// drop forgets the descriptor of s.
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

// shrink closes every descriptor that can be opened again, when the process
// has run out of them, and says whether there were any.
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
