package peer

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// MaxPath bounds the path of a unix socket, in bytes.
const MaxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// CheckPath returns why a socket path is invalid; the kernel would only say "invalid
// argument".
func CheckPath(path string) error {
	if len(path) > MaxPath {
		return messages.Invalid("socket", fmt.Sprintf("the socket path has %d bytes, and a unix socket's has at most %d; choose a shorter one: %s", len(path), MaxPath, path))
	}
	if path == "" || path[0] != '/' {
		return messages.Invalid("socket", fmt.Sprintf("the socket path %q is not absolute; give one that is", path))
	}
	return nil
}

// Check refuses a connection unless its other end is a process of our own user. It
// returns that process; 0 means one in another pid namespace.
func Check(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var uid int
	var asked error
	if err := raw.Control(func(fd uintptr) { uid, pid, asked = owner(int(fd)) }); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, fmt.Errorf("cannot determine the peer process of the socket: %w", asked)
	}
	if own := os.Geteuid(); uid != own {
		return 0, &messages.Error{
			Code: messages.Refused, Reason: "peer", Message: fmt.Sprintf("the other end of the socket belongs to user %d, and this to user %d", uid, own),
			Hint: "each user has a daemon and a socket of their own",
		}
	}
	return pid, nil
}
