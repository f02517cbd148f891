package keeper

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// conn is one connection: a socket of datagrams that keep their order.
type conn struct {
	socket *net.UnixConn
	raw    syscall.RawConn
	buf    []byte // of recv
	oob    []byte
}

// newConn takes over a connected socket of the type SOCK_SEQPACKET.
func newConn(socket *net.UnixConn) (*conn, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	kind := 0
	if cerr := raw.Control(func(fd uintptr) { kind, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE) }); cerr != nil {
		err = cerr
	}
	if err == nil && kind != unix.SOCK_SEQPACKET {
		err = errors.New("the socket is not of the type SOCK_SEQPACKET")
	}
	return &conn{socket: socket, raw: raw, buf: make([]byte, maxFrame+1), oob: make([]byte, unix.CmsgSpace(4*maxFiles))}, err
}

// fileConn makes a connection of an inherited descriptor, which it closes.
func fileConn(f *os.File) (*conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the descriptor is no unix socket")
	}
	made, err := newConn(socket)
	if err != nil {
		_ = socket.Close()
	}
	return made, err
}

func (c *conn) close() { _ = c.socket.Close() }

// peer is the user of the other side, as the kernel has it.
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

// listener is the process that made the socket to which this one is connected.
func (c *conn) listener() (pid int) {
	_ = c.raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// ours refuses another user: root may be on the other side, nobody else.
func (c *conn) ours() error {
	uid, err := c.peer()
	if err == nil && (uid == os.Geteuid() || uid == 0) {
		return nil
	}
	return refused(messages.Refused, "uid", "the other side of the keeper's socket belongs to the user "+strconv.Itoa(uid), "only its owner may use a keeper")
}

// trySend sends a datagram if there is room for it, else it returns EAGAIN.
func (c *conn) trySend(p []byte, file *os.File) error { return c.send(p, file, false) }

// send waits for room if it is told to.
func (c *conn) send(p []byte, file *os.File, wait bool) error {
	var err error
	try := func(oob []byte) error {
		return c.raw.Write(func(fd uintptr) bool {
			for {
				_, err = unix.SendmsgN(int(fd), p, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
				if err != unix.EINTR {
					return !wait || err != unix.EAGAIN
				}
			}
		})
	}
	if file == nil {
		if werr := try(nil); werr != nil {
			return werr
		}
		return err
	}
	werr := withFd(file, func(fd int) error { return try(unix.UnixRights(fd)) })
	if werr != nil {
		return werr
	}
	return err
}

// maxFiles is more descriptors than any datagram of ours has.
const maxFiles = 8

// recv waits for a datagram. What it returns is valid until the next call; the
// caller closes the files.
func (c *conn) recv() ([]byte, []*os.File, error) {
	n, oobn, flags, _, err := c.socket.ReadMsgUnix(c.buf, c.oob)
	if err != nil {
		return nil, nil, err
	}
	files := received(c.oob[:oobn])
	if n == 0 {
		closeAll(files)
		return nil, nil, io.EOF
	}
	if flags&unix.MSG_TRUNC != 0 || n > maxFrame {
		closeAll(files)
		return nil, nil, malformed("a datagram of more than 64 KiB")
	}
	if flags&unix.MSG_CTRUNC != 0 { // no descriptor was free: who asked is told, else it would be sent again and again
		closeAll(files)
		files = nil
	}
	return c.buf[:n], files, nil
}

// received takes the descriptors out of a control message. They are closed on
// exec: recvmsg was told so.
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

// withFd calls do with the descriptor of a file, which it leaves as it is.
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
