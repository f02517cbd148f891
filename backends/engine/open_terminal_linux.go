package engine

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens both ends without a library: the usual one lets the kernel write
// to a stack that may have moved (docs/decisions/040). It gets the slave from its
// master, independent of /dev/pts; before Linux 4.13 by name. Both ends are blocking.
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

// byName opens the slave of a terminal by its name.
func byName(master, mode int) (int, error) {
	number, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
	if err != nil {
		return -1, err
	}
	return againN(func() (int, error) { return unix.Open("/dev/pts/"+strconv.FormatUint(uint64(number), 10), mode, 0) })
}

// peer opens the slave of a terminal by its master.
func peer(master, mode int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(mode))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// PTYPeer opens the slave of a terminal again, non-blocking.
func (kernel) PTYPeer(master int) (int, error) {
	return peer(master, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK)
}
