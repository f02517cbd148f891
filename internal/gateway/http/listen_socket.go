package http

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// Listen opens the socket of the daemon with mode 0600. Its directory belongs to our
// user alone and is made (0700) if it does not exist. Listen refuses a symbolic link, a
// directory or a socket of another user, and a directory that others may enter. It
// refuses a socket on which a daemon answers and replaces that of a dead daemon.
func Listen(path string) (net.Listener, error) {
	l, made, err := bind(path)
	if err != nil {
		return nil, err
	}
	return &ownSocket{path: path, listener: l, made: made, watch: peer.WatchRemoval, ended: make(chan struct{})}, nil
}

// bind makes the file of a socket and listens there.
func bind(path string) (*net.UnixListener, os.FileInfo, error) {
	if err := peer.CheckPath(path); err != nil {
		return nil, nil, err
	}
	dir, err := ownDirectory(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	unlock, err := alone(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot lock the directory of the socket: %w", err)
	}
	defer unlock()
	if err := clear(path); err != nil {
		return nil, nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open a socket at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)   // it would remove the file of another daemon, too
	err = os.Chmod(path, 0o600) // until now only the mode of the directory keeps others out
	if err == nil {
		var info os.FileInfo
		if info, err = os.Lstat(path); err == nil {
			return l, info, nil
		}
	}
	return nil, nil, errors.Join(fmt.Errorf("cannot make the socket at %s: %w", path, err), l.Close())
}

// CheckListener returns why a listener made elsewhere cannot be served: it is not a
// stream, it does not listen, or other machines can reach it.
func CheckListener(l net.Listener) error {
	switch at := l.Addr().(type) {
	case *net.UnixAddr:
		if at.Net != "unix" {
			return messages.Invalid("socket", fmt.Sprintf("the socket at %s is of type %s; use a stream (ListenStream=)", at, at.Net))
		}
	case *net.TCPAddr:
		if at.IP.String() != "127.0.0.1" && !at.IP.Equal(net.IPv6loopback) { // the addresses that ourHost accepts
			return messages.Invalid("http", fmt.Sprintf("%s is not a loopback address; use 127.0.0.1 or [::1]", at))
		}
	default:
		return fmt.Errorf("cannot serve the listener %s", l.Addr())
	}
	if listens(l) {
		return nil
	}
	return messages.Invalid("socket", fmt.Sprintf("the socket at %s does not listen; make it listen (ListenStream=)", l.Addr()))
}

// listens reports whether a listener accepts connections, as far as the system tells.
func listens(l net.Listener) bool {
	of, ok := l.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return false
	}
	taking := 1
	err = raw.Control(func(fd uintptr) {
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil {
			taking = n
		}
	})
	return err == nil && taking != 0
}

// CheckSocketPath returns why Listen would refuse a path in an existing directory.
func CheckSocketPath(path string) error {
	if err := peer.CheckPath(path); err != nil {
		return err
	}
	dir, err := ownDirectory(filepath.Dir(path))
	if err != nil {
		return err
	}
	return dir.Close()
}

// ownDirectory opens the directory of the socket if it belongs to our user alone, in a
// parent where no other user can replace it.
func ownDirectory(path string) (*os.File, error) {
	dir, err := peer.OwnDirectory(path, "socket")
	if err != nil {
		return nil, err
	}
	if err := steady(filepath.Dir(path)); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// steady refuses a parent in which others may rename our directory. Such a parent is
// writable for others without a sticky bit, or owned by a user other than root. Only
// this one directory is checked; the owner of the path keeps those above safe.
func steady(parent string) error {
	info, err := os.Stat(parent)
	if err != nil {
		return err
	}
	others := info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0
	if owner := peer.OwnerOf(info); others || owner != os.Geteuid() && owner != 0 {
		return forbidden(parent, "lets other users replace the directory of the socket")
	}
	return nil
}

func forbidden(path, why string) error {
	return &messages.Error{
		Code: messages.Refused, Reason: "socket", Message: path + " " + why, Hint: "choose another place for the socket, or set its mode right (chmod 700)",
	}
}

// alone locks the directory against another daemon that starts at this moment: two of
// them must not both replace a dead socket.
func alone(dir *os.File) (unlock func(), err error) {
	raw, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	lock := func(how int) error {
		var locked error
		if err := raw.Control(func(fd uintptr) {
			for {
				if locked = unix.Flock(int(fd), how); locked != unix.EINTR {
					return
				}
			}
		}); err != nil {
			return err
		}
		return locked
	}
	if err := lock(unix.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = lock(unix.LOCK_UN) }, nil
}

// clear removes the socket of a dead daemon.
func clear(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&os.ModeSocket == 0:
		return forbidden(path, "exists and is not a socket")
	case peer.OwnerOf(info) != os.Geteuid():
		return forbidden(path, fmt.Sprintf("is the socket of user %d", peer.OwnerOf(info)))
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return &messages.Error{
			Code: messages.Conflict, Reason: "socket", Message: "a daemon answers at " + path + " already", Hint: "use it, or stop it with troupe shutdown",
		}
	case !errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("cannot find out whether a daemon listens at %s: %w", path, err)
	}
	return os.Remove(path)
}
