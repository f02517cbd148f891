package connect

import (
	"errors"

	"golang.org/x/sys/unix"
)

// setCloseOnExec marks our inherited descriptors close-on-exec: another process may
// wait for the end of such a file.
func setCloseOnExec() error { return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }

// DisableDumps protects our memory, which holds the data of clients, from core dumps
// and from other programs of the user. Programs that we start are not affected.
func DisableDumps() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// WaitForExit opens the process of a live daemon. The returned function waits for its
// exit, at most endPatience.
func WaitForExit(pid int) func() {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return func() {}
	}
	return func() {
		defer unix.Close(fd)
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(endPatience.Milliseconds()))
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}
}
