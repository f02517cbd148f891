package peer

import (
	"os"
	"path/filepath"
	"strconv"
)

// SocketName is the name of the daemon's socket in its directory.
const SocketName = "daemon.sock"

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
