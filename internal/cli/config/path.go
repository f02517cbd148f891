package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// The variables that say where things are.
const (
	SocketVar = "TROUPE_SOCKET"
	stateVar  = "TROUPE_STATE"
	FileVar   = "TROUPE_CONFIG"
)

// Names of what the daemon keeps in its directories.
const (
	SocketName   = "daemon.sock"
	LockName     = "daemon.lock"    // held by the daemon of a state directory
	LogName      = "daemon.log"     // what a daemon says that nobody listens to
	LogsName     = "logs"           // outputs that outgrew memory
	TokenName    = "token"          // admits to a port
	SecretName   = "webhook-secret" // signs what URLs are told
	KeeperName   = "keeper"         // the directory of the keeper
	DetachedName = "detached"       // the directories of the keepers of detached jobs
	JournalName  = "journal.db"     // the facts
	StartName    = "start.lock"     // held by whoever starts a daemon
)

// defaultSocket is where the daemon of this user listens.
func defaultSocket(m *cli.Main) string {
	if dir, ok := absolutePath(m, "XDG_RUNTIME_DIR"); ok {
		return filepath.Join(dir, "troupe", SocketName)
	}
	tmp, ok := absolutePath(m, "TMPDIR")
	if !ok {
		tmp = "/tmp"
	}
	return filepath.Join(tmp, "troupe-"+strconv.Itoa(unix.Geteuid()), SocketName)
}

// defaultState is where the daemon of this user keeps what must outlive it.
func defaultState(m *cli.Main) (string, error) {
	return homeDirectory(m, "XDG_STATE_HOME", ".local/state")
}

// defaultConfig is the file that is read when none is named.
func defaultConfig(m *cli.Main) (string, error) {
	dir, err := homeDirectory(m, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.toml"), err
}

// homeDirectory is the directory of troupe below that of a variable, or of the user.
func homeDirectory(m *cli.Main, name, otherwise string) (string, error) {
	if dir, ok := absolutePath(m, name); ok {
		return filepath.Join(dir, "troupe"), nil
	}
	dir, ok := absolutePath(m, "HOME")
	if !ok {
		e := messages.Invalid("home", "neither HOME nor "+name+" names a directory")
		e.Hint = "set one of them to an absolute path"
		return "", e
	}
	return filepath.Join(dir, otherwise, "troupe"), nil
}

// absolutePath is a variable that names a path; a relative one is none, as the XDG
// rules have it.
func absolutePath(m *cli.Main, name string) (string, bool) {
	path, _ := m.Getenv(name)
	return path, filepath.IsAbs(path)
}

// OwnDirectory makes a directory of ours alone, with what is missing above it,
// and refuses one that is not: another's, a symbolic link, or open to others.
func OwnDirectory(path string) error {
	if err := Above(path, stateVar); err != nil {
		return err
	}
	dir, err := peer.OwnDirectory(path, "directory")
	if err != nil {
		return err
	}
	return dir.Close()
}

// Above makes what is missing above a directory of ours, which a variable can name.
func Above(path, name string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return noPlace(path, name, err)
	}
	return nil
}

func noPlace(path, name string, err error) error {
	return &messages.Error{
		Code: messages.Refused, Reason: "directory", Message: "there can be no directory " + path + ": " + err.Error(),
		Hint: "set " + name + " to a place of your own that can be written",
	}
}

// makeable tries whether a directory that is not there could be made, with what is
// missing above it: it makes another, where the first of them would be, and removes it.
func makeable(path, name string) error {
	at := filepath.Dir(path)
	_, err := os.Lstat(at)
	for at != "/" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)) {
		at = filepath.Dir(at)
		_, err = os.Lstat(at)
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(at, "troupe-doctor-")
	}
	var told *fs.PathError
	if errors.As(err, &told) {
		err = errors.New("in " + at + " none can be made: " + told.Err.Error())
	}
	if err != nil {
		return noPlace(path, name, err)
	}
	return os.Remove(dir)
}

// Exists reports whether a path leads to a file.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writable says why nothing may be written in a directory of the daemon. One that is
// only full will do where a daemon was before: what runs is to be reached all the more,
// if only to make room, and what needs room says so itself.
func writable(dir string) error {
	err := Probe(dir)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		if _, gone := os.Lstat(filepath.Join(dir, JournalName)); gone == nil {
			return nil
		}
	}
	return CannotWrite(dir, err)
}

// Probe tries what a daemon does in its directories, for a file system that takes
// nothing says so only then: make a file, rename it, remove it.
func Probe(dir string) error {
	file, err := os.CreateTemp(dir, "probe-*.new")
	if err == nil {
		name := strings.TrimSuffix(file.Name(), ".new")
		defer func() { _ = os.Remove(file.Name()) }() // if it has not another
		_, err = file.WriteString("x")
		err = errors.Join(err, file.Close(), os.Rename(file.Name(), name), os.Remove(name))
	}
	return err
}

// CannotWrite returns the error of a directory that cannot be written; nil without one.
func CannotWrite(dir string, err error) error {
	if err == nil {
		return nil
	}
	return &messages.Error{
		Code: messages.Refused, Reason: "directory", Message: dir + " cannot be written: " + err.Error(), Hint: "make room and set its rights, or name another directory",
	}
}

// Executable reports whether a path is a file that this user can execute.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}
