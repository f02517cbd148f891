package http

import (
	"os"

	"golang.org/x/sys/unix"
)

// again is a descriptor once more, nil if there is no room for it.
func again(fd uintptr) *os.File {
	n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(n), "connection")
}

// awaitHangUp returns when the other end sends no more, or the file is closed. What it has
// sent may lie there meanwhile.
func awaitHangUp(line *os.File) {
	raw, err := line.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool { // in either case whoever waits is told
		of := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor is one
		n, _ := unix.Poll(of, 0)
		return n > 0
	})
}
