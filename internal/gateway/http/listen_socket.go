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

// Listen opens the socket of the daemon: 0600 in a directory of ours alone,
// which is made (0700) if it is not there. It refuses a directory or a socket of
// another user, one that others may enter, a symbolic link, and a socket on which
// a daemon answers; one whose daemon is dead is replaced.
//
// The umask of the process is changed for a moment: call it before anything else
// of the process makes files.
func Listen(path string) (net.Listener, error) {
	if err := peer.CheckPath(path); err != nil {
		return nil, err
	}
	dir, err := ownDirectory(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	unlock, err := alone(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory of the socket cannot be locked: %w", err)
	}
	defer unlock()
	if err := clear(path); err != nil {
		return nil, err
	}
	before := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(before)
	if err != nil {
		return nil, fmt.Errorf("no socket can be opened at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it would remove what another daemon has put there
	info, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the socket at %s is gone: %w", path, err), l.Close())
	}
	return &ownSocket{UnixListener: l, path: path, made: info}, nil
}

// ownSocket is one that removes its file when it is closed, if that is still its own.
type ownSocket struct {
	*net.UnixListener
	path string
	made os.FileInfo
}

// Close implements net.Listener.
func (d *ownSocket) Close() error {
	if info, err := os.Lstat(d.path); err == nil && os.SameFile(info, d.made) {
		_ = os.Remove(d.path)
	}
	return d.UnixListener.Close()
}

// CheckListener says why a listener that somebody else has made cannot be served: it is no
// stream, nobody listens on it, or others than this machine would reach it.
func CheckListener(l net.Listener) error {
	switch at := l.Addr().(type) {
	case *net.UnixAddr:
		if at.Net != "unix" {
			return messages.Invalid("socket", fmt.Sprintf("the socket at %s is no stream (%s); make it one (ListenStream=)", at, at.Net))
		}
	case *net.TCPAddr:
		if at.IP.String() != "127.0.0.1" && !at.IP.Equal(net.IPv6loopback) { // what a Host may name: see ourHost
			return messages.Invalid("http", fmt.Sprintf("%s is no loopback address; use 127.0.0.1 or [::1]", at))
		}
	default:
		return fmt.Errorf("%s is no listener that can be served", l.Addr())
	}
	if listens(l) {
		return nil
	}
	return messages.Invalid("socket", fmt.Sprintf("nobody listens on the socket at %s; let who makes it listen (ListenStream=)", l.Addr()))
}

// listens says whether connections can be taken, as far as that can be seen.
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

// CheckSocketPath says why Listen would refuse a path in a directory that is there.
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

// ownDirectory opens the directory of the socket if it is ours alone, and lies
// where nobody else can put another in its place.
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

// steady refuses a parent in which others may rename what is ours: one that they
// may write without a sticky bit, or of another user than root. It looks at this one
// directory, where its name leads now: that nobody moves what lies above is for the
// owner of the path to see to.
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

// alone holds the directory against another daemon that starts at this moment:
// two that find a dead socket must not both replace it.
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

// clear removes the socket of a daemon that is dead.
func clear(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&os.ModeSocket == 0:
		return forbidden(path, "is there already, and is no socket")
	case peer.OwnerOf(info) != os.Geteuid():
		return forbidden(path, fmt.Sprintf("is the socket of user %d", peer.OwnerOf(info)))
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return &messages.Error{
			Code: messages.Conflict, Reason: "socket", Message: "a daemon answers at " + path + " already", Hint: "use it, or end it with troupe shutdown",
		}
	case !errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("whether a daemon listens at %s cannot be found out: %w", path, err)
	}
	return os.Remove(path)
}
