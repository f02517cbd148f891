package keeper

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// conn is one connection: a socket of ordered datagrams. The descriptor is blocking, so
// that the runtime does not poll it; calls here never block on it.
type conn struct {
	socket *os.File
	raw    syscall.RawConn
	in     *fdWaiter // signals input
	buf    []byte    // of recv
	oob    []byte
	got    datagram           // result of recv
	take   func(uintptr)      // recvmsg into got
	taken  func(uintptr) bool // take, and whether it got a result

	mu     sync.Mutex
	room   *fdWaiter // signals room while send waits
	closed bool
}

// datagram is the result of recvmsg.
type datagram struct {
	n, oobn, flags int
	err            error
}

// newConn takes over a connected socket of the type SOCK_SEQPACKET. After an error the
// caller keeps it.
func newConn(socket *net.UnixConn) (*conn, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	c, err := connOf(raw)
	if err == nil {
		_ = socket.Close()
	}
	return c, err
}

// fileConn makes a connection of an inherited descriptor, which it closes.
func fileConn(f *os.File) (*conn, error) {
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return connOf(raw)
}

// connOf makes a connection of a duplicate descriptor.
func connOf(raw syscall.RawConn) (*conn, error) {
	fd, err := -1, error(nil)
	if cerr := raw.Control(func(from uintptr) { fd, err = ownSocket(int(from)) }); cerr != nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	c := &conn{socket: os.NewFile(uintptr(fd), "socket"), buf: make([]byte, maxFrame+1), oob: make([]byte, unix.CmsgSpace(4*maxFiles))}
	if c.raw, err = c.socket.SyscallConn(); err == nil {
		c.in, err = awaiting(fd, unix.EPOLLIN|unix.EPOLLET)
	}
	if err != nil {
		_ = c.socket.Close()
		return nil, err
	}
	c.take = func(fd uintptr) {
		g := &c.got
		for g.err = unix.EINTR; g.err == unix.EINTR; {
			g.n, g.oobn, g.flags, _, g.err = unix.Recvmsg(int(fd), c.buf, c.oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		}
	}
	c.taken = func(uintptr) bool {
		if err := c.raw.Control(c.take); err != nil {
			c.got.err = net.ErrClosed
		}
		return c.got.err != unix.EAGAIN
	}
	return c, nil
}

// ownSocket duplicates the descriptor of a socket.
func ownSocket(from int) (fd int, err error) {
	kind, err := unix.GetsockoptInt(from, unix.SOL_SOCKET, unix.SO_TYPE)
	if err == nil && kind != unix.SOCK_SEQPACKET {
		err = errors.New("the socket is not of the type SOCK_SEQPACKET")
	}
	if err != nil {
		return -1, err
	}
	if fd, err = unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return -1, err
	}
	if err = unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// close ends the connection for both sides and wakes waiters: closing a descriptor
// removes it from its epoll set, and an event may get lost.
func (c *conn) close() {
	_ = c.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	c.mu.Lock()
	c.closed = true
	if c.room != nil {
		c.room.close()
	}
	c.mu.Unlock()
	c.in.close()
	_ = c.socket.Close()
}

// setReadDeadline bounds recv; the zero time: no bound.
func (c *conn) setReadDeadline(t time.Time) { _ = c.in.set.SetReadDeadline(t) }

// peer returns the user of the other side, from the kernel.
func (c *conn) peer() (uid int, err error) {
	var cred *unix.Ucred
	cerr := c.raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(cerr, err); err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

// hungUp reports whether the other side has closed its end.
func (c *conn) hungUp() bool {
	gone := false
	_ = c.raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0 && poll[0].Revents&(unix.POLLHUP|unix.POLLRDHUP|unix.POLLERR) != 0
	})
	return gone
}

// listener returns the process that made the socket.
func (c *conn) listener() (pid int) {
	_ = c.raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// ours refuses another user; root is allowed.
func (c *conn) ours() error {
	uid, err := c.peer()
	if err == nil && (uid == os.Geteuid() || uid == 0) {
		return nil
	}
	return refused(messages.Refused, "uid", "the other side of the keeper's socket belongs to the user "+strconv.Itoa(uid), "only its owner may use a keeper")
}

// trySend sends a datagram, or returns EAGAIN if there is no room.
func (c *conn) trySend(p []byte, file *os.File) error { return c.send(p, file, false) }

// send sends a datagram, and waits for room if wait is set. Only one goroutine may send
// at a time.
func (c *conn) send(p []byte, file *os.File, wait bool) error {
	if file == nil {
		return c.sendWith(p, nil, wait)
	}
	return withFd(file, func(fd int) error { return c.sendWith(p, unix.UnixRights(fd), wait) })
}

func (c *conn) sendWith(p, oob []byte, wait bool) (err error) {
	once := func(fd uintptr) {
		for err = unix.EINTR; err == unix.EINTR; {
			_, err = unix.SendmsgN(int(fd), p, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		}
	}
	if cerr := c.raw.Control(once); cerr != nil {
		return cerr
	}
	if !wait || err != unix.EAGAIN {
		return err
	}
	if werr := c.awaitRoom(); werr != nil {
		return werr
	}
	werr := c.room.until(func(uintptr) bool {
		if cerr := c.raw.Control(once); cerr != nil {
			err = cerr
		}
		return err != unix.EAGAIN
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room.close()
	c.room = nil
	return errors.Join(werr, err)
}

// awaitRoom sets room, which close also closes.
func (c *conn) awaitRoom() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	var err error
	cerr := c.raw.Control(func(fd uintptr) { c.room, err = awaiting(int(fd), unix.EPOLLOUT|unix.EPOLLET) })
	return errors.Join(cerr, err)
}

// maxFiles is more than the descriptors of any datagram.
const maxFiles = 8

// recv waits for a datagram. Its result is valid until the next call; the caller closes
// the files.
func (c *conn) recv() ([]byte, []*os.File, error) {
	if err := c.in.until(c.taken); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			err = net.ErrClosed
		}
		return nil, nil, err
	}
	n, flags, err := c.got.n, c.got.flags, c.got.err
	if err != nil {
		return nil, nil, err
	}
	files := received(c.oob[:c.got.oobn])
	if n == 0 {
		closeAll(files)
		return nil, nil, io.EOF
	}
	if flags&unix.MSG_TRUNC != 0 || n > maxFrame {
		closeAll(files)
		return nil, nil, malformed("a datagram of more than 64 KiB")
	}
	if flags&unix.MSG_CTRUNC != 0 { // no descriptor was free: the request fails, since a retry would be endless
		closeAll(files)
		files = nil
	}
	return c.buf[:n], files, nil
}

// received returns the descriptors of a control message. recvmsg has set close-on-exec.
func received(oob []byte) []*os.File {
	if len(oob) == 0 {
		return nil
	}
	parts, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for i := range parts {
		fds, err := unix.ParseUnixRights(&parts[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// withFd calls do with the descriptor of a file, and leaves its mode unchanged.
func withFd(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}
