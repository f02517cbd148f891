package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// The variables that say where things are.
const (
	socketVar = "TROUPE_SOCKET"
	stateVar  = "TROUPE_STATE"
	configVar = "TROUPE_CONFIG"
)

// Names of what the daemon keeps in its directories.
const (
	socketName  = "daemon.sock"
	lockName    = "daemon.lock"    // held by the daemon of a state directory
	logName     = "daemon.log"     // what a daemon says that nobody listens to
	logsName    = "logs"           // outputs that outgrew memory
	tokenName   = "token"          // admits to a port
	secretName  = "webhook-secret" // signs what URLs are told
	keeperName  = "keeper"         // the directory of the keeper
	journalName = "journal.db"     // the facts
	startName   = "start.lock"     // held by whoever starts a daemon
)

// defaultSocket is where the daemon of this user listens.
func (m *Main) defaultSocket() string {
	if dir, ok := m.absolute("XDG_RUNTIME_DIR"); ok {
		return filepath.Join(dir, "troupe", socketName)
	}
	tmp, ok := m.absolute("TMPDIR")
	if !ok {
		tmp = "/tmp"
	}
	return filepath.Join(tmp, "troupe-"+strconv.Itoa(unix.Geteuid()), socketName)
}

// defaultState is where the daemon of this user keeps what must outlive it.
func (m *Main) defaultState() (string, error) { return m.home("XDG_STATE_HOME", ".local/state") }

// defaultConfig is the file that is read when none is named.
func (m *Main) defaultConfig() (string, error) {
	dir, err := m.home("XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.toml"), err
}

// home is the directory of troupe below that of a variable, or of the user.
func (m *Main) home(name, otherwise string) (string, error) {
	if dir, ok := m.absolute(name); ok {
		return filepath.Join(dir, "troupe"), nil
	}
	dir, ok := m.absolute("HOME")
	if !ok {
		e := messages.Invalid("home", "neither HOME nor "+name+" names a directory")
		e.Hint = "set one of them to an absolute path"
		return "", e
	}
	return filepath.Join(dir, otherwise, "troupe"), nil
}

// absolute is a variable that names a path; a relative one is none, as the XDG
// rules have it.
func (m *Main) absolute(name string) (string, bool) {
	path, _ := m.getenv(name)
	return path, filepath.IsAbs(path)
}

// ownDirectory makes a directory of ours alone, with what is missing above it,
// and refuses one that is not: another's, a symbolic link, or open to others.
func ownDirectory(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return foreign(path, "is a symbolic link or no directory")
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	switch owner := ownerOf(info); {
	case owner != unix.Geteuid():
		return foreign(path, fmt.Sprintf("belongs to user %d", owner))
	case info.Mode().Perm()&0o077 != 0:
		return foreign(path, fmt.Sprintf("has the mode %04o: others may enter it", info.Mode().Perm()))
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func foreign(path, why string) *messages.Error {
	return &messages.Error{
		Code: messages.Refused, Reason: "directory", Message: path + " " + why, Hint: "make it a directory of yours with mode 0700, or name another",
	}
}
