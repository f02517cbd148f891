//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// OpenTerminal copies the descriptors of files that the library opens. The library
// leaves the master blocking and the slave non-blocking; engine and job need the
// opposite.
func (k kernel) OpenTerminal() (master, slave int, err error) {
	m, s, err := pty.Open()
	if err != nil {
		return -1, -1, err
	}
	defer m.Close()
	defer s.Close()
	if master, err = ownCopy(m); err != nil {
		return -1, -1, err
	}
	if slave, err = ownCopy(s); err == nil {
		err = unix.SetNonblock(slave, false) // a job waits for its input
	}
	if err == nil {
		return master, slave, nil
	}
	_ = unix.Close(master)
	if slave >= 0 {
		_ = unix.Close(slave)
	}
	return -1, -1, err
}

// ownCopy duplicates a descriptor, so that no os.File owns it.
func ownCopy(f *os.File) (fd int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	var failed error
	err = conn.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return -1, err
	}
	return fd, nil
}
