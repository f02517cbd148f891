package http

import (
	"os"

	"golang.org/x/sys/unix"
)

// dupFile duplicates a descriptor. It returns nil if none is free.
func dupFile(fd uintptr) *os.File {
	n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(n), "connection")
}

// awaitHangUp returns when the other end sends no more or the file is closed. It leaves
// received bytes unread.
func awaitHangUp(line *os.File) {
	raw, err := line.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool { // the caller treats an error like a hang-up
		of := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor is one
		n, _ := unix.Poll(of, 0)
		return n > 0
	})
}
