package peer

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
)

// SocketName is the name of the daemon's socket in its directory.
const SocketName = "daemon.sock"

// DefaultSocket returns the path of the socket of this user's daemon: that in TROUPE_SOCKET, or
// the usual one.
func DefaultSocket() string {
	return cmp.Or(os.Getenv("TROUPE_SOCKET"), UsualSocket(os.Getenv))
}

// UsualSocket returns the path of the socket of a daemon without settings. getenv reads a
// variable; a relative path in one is ignored.
func UsualSocket(getenv func(name string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "troupe", SocketName)
	}
	tmp := getenv("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	return filepath.Join(tmp, "troupe-"+strconv.Itoa(os.Geteuid()), SocketName)
}
