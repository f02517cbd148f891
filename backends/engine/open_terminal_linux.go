package engine

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens both ends itself: the library that does so elsewhere lets the kernel
// write to where a stack has been (docs/decisions/040). The slave is had from its master,
// whatever /dev/pts is here; before Linux 4.13 by its name. Both ends wait, as a job does
// for its input; that of ours is made otherwise by who uses it.
func (kernel) OpenTerminal() (master, slave int, err error) {
	const mode = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	if master, err = againN(func() (int, error) { return unix.Open("/dev/ptmx", mode, 0) }); err != nil {
		return -1, -1, err
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
		slave, err = peer(master, mode)
	}
	if err == unix.EINVAL || err == unix.ENOTTY {
		slave, err = byName(master, mode)
	}
	if err != nil {
		_ = unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// byName opens the slave of a terminal where its master cannot be asked for it.
func byName(master, mode int) (int, error) {
	number, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
	if err != nil {
		return -1, err
	}
	return againN(func() (int, error) { return unix.Open("/dev/pts/"+strconv.FormatUint(uint64(number), 10), mode, 0) })
}

// peer opens the slave of a terminal.
func peer(master, mode int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(mode))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// PTYPeer opens the slave of a terminal once more; that one never waits.
func (kernel) PTYPeer(master int) (int, error) {
	return peer(master, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK)
}
