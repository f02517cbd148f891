package keeper

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fdWaiter waits for chosen events of one descriptor. The runtime's poller waits for
// all events: the other side's receipt of a datagram would wake this process.
type fdWaiter struct {
	set *os.File // an epoll set of one, in the runtime's poller
	raw syscall.RawConn
}

// awaiting returns a fdWaiter for events (EPOLLIN, EPOLLOUT) of a descriptor, which
// must stay open meanwhile.
func awaiting(fd int, events uint32) (*fdWaiter, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err == nil {
		err = unix.SetNonblock(ep, true) // the runtime's poller requires it
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

// until calls try now and after each event, until it returns true.
func (r *fdWaiter) until(try func(uintptr) bool) error { return r.raw.Read(try) }

func (r *fdWaiter) close() { _ = r.set.Close() }
