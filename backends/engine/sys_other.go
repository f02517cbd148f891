//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Sys has only what every system has here.
type Sys interface{ commonSys }

// disabled is the value of a terminal key that is not set (_POSIX_VDISABLE).
const disabled = 0xff

// Requests that get and set the modes of a terminal.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)

// fionread is FIONREAD of the BSD family, which x/sys does not name.
const fionread = 0x4004667f

func (kernel) Pipe() (r, w int, err error) {
	var p [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return p[0], p[1], nil
}

func (kernel) SetNonblock(fd int) error { return unix.SetNonblock(fd, true) }

// SetPipeSize fails: the kernel sets the size of pipes here.
func (kernel) SetPipeSize(int, int) error { return unix.ENOTSUP }

func (kernel) HungUp(fd int) (bool, error) {
	p := []unix.PollFd{{Fd: int32(fd)}}
	_, err := againN(func() (int, error) { return unix.Poll(p, 0) })
	return p[0].Revents&unix.POLLHUP != 0, err
}
