package spill

import (
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
func (kernel) Unlink(dir int, name string) error             { return unix.Unlinkat(dir, name, 0) }

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
