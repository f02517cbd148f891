package connect

import (
	"errors"

	"golang.org/x/sys/unix"
)

// setCloseOnExec keeps what the caller left open from a program that we start: somebody
// may wait for its end.
func setCloseOnExec() error { return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }

// DisableDumps keeps our memory, which holds what clients sent, from core files and
// from other programs of the user. Programs that we start are not concerned.
func DisableDumps() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// WaitForExit is called while a daemon lives, and returns what waits for the end of its
// process, a while at most.
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
