package keeper

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fdWaiter waits for what may happen to one descriptor. The runtime's own poller
// asks for everything: whoever takes a datagram of ours would wake this process, to
// tell it that there is room again.
type fdWaiter struct {
	set *os.File // an epoll set of one, which is in the runtime's poller
	raw syscall.RawConn
}

// awaiting makes a readiness for some events (EPOLLIN, EPOLLOUT) of a descriptor,
// which stays its owner's and must be open for as long.
func awaiting(fd int, events uint32) (*fdWaiter, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err == nil {
		err = unix.SetNonblock(ep, true) // or the runtime's poller would not have it
	}
	if err != nil {
		_ = unix.Close(ep)
		return nil, err
	}
	r := &fdWaiter{set: os.NewFile(uintptr(ep), "readiness")}
	if r.raw, err = r.set.SyscallConn(); err == nil && r.set.SetReadDeadline(time.Time{}) != nil {
		err = errors.New("the socket cannot be watched: no more can be (fs.epoll.max_user_watches)")
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// until calls try now, and whenever something has happened, until it returns true.
func (r *fdWaiter) until(try func(uintptr) bool) error { return r.raw.Read(try) }

func (r *fdWaiter) close() { _ = r.set.Close() }
