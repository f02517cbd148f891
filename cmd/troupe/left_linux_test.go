package main

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// The next run stops the processes of a killed troupe, if it can distinguish them from
// others.
func TestTheNextRunEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	need.Cgroup(t)
	p := program(t, "run", "(setsid sleep 600 & echo $!); (trap '' TERM; sleep 600) & echo $!; echo $$; wait").start()
	var tree []unix.PollFd
	for _, pid := range append(p.pids(), p.line()) {
		tree = append(tree, handle(t, pid))
	}
	p.dies()
	p.followed()
	awaitExits(t, tree...) // some other run may have begun to end them, and be about to
}

// awaitExits waits for the ends of processes.
func awaitExits(t *testing.T, processes ...unix.PollFd) {
	t.Helper()
	for _, process := range processes {
		n, err := unix.Poll([]unix.PollFd{process}, int(tooLong.Milliseconds()))
		for err == unix.EINTR {
			n, err = unix.Poll([]unix.PollFd{process}, int(tooLong.Milliseconds()))
		}
		if n != 1 {
			t.Errorf("a process lives: %v", err)
		}
	}
}

// handle opens a process, so that its end can be waited for.
func handle(t *testing.T, pid string) unix.PollFd {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	need.Feature(t, err != unix.ENOSYS, "pidfd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
}
