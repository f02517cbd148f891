package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// The environment variables of troupe.
const (
	SocketVar = "TROUPE_SOCKET"
	StateVar  = "TROUPE_STATE"
	FileVar   = "TROUPE_CONFIG"

	NoDaemonVar = "TROUPE_NO_DAEMON"
)

// Names of files and directories of the daemon.
const (
	SocketName   = peer.SocketName
	LockName     = "daemon.lock"    // held by the daemon of a state directory
	LogName      = "daemon.log"     // log of a daemon started in the background
	LogsName     = "logs"           // outputs that were spilled to files
	TokenName    = "token"          // token of TCP clients
	SecretName   = "webhook-secret" // key that signs notices to URLs
	KeeperName   = "keeper"         // directory of the keeper
	DetachedName = "detached"       // directories of the keepers of detached jobs
	JournalName  = "journal.db"     // recorded facts
	StartName    = "start.lock"     // held by a client while it starts a daemon
)

// defaultSocket returns the default socket path of this user's daemon.
func defaultSocket(m *cli.Main) string {
	return peer.UsualSocket(func(name string) string { value, _ := m.Getenv(name); return value })
}

// defaultState returns the default state directory of this user's daemon.
func defaultState(m *cli.Main) (string, error) {
	return homeDirectory(m, "XDG_STATE_HOME", ".local/state")
}

// defaultConfig returns the default path of the configuration file.
func defaultConfig(m *cli.Main) (string, error) {
	dir, err := homeDirectory(m, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.toml"), err
}

// homeDirectory returns troupe's directory below that of a variable, or below HOME.
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

// PlaceVars returns the variables that move the daemon's files from their default places.
func PlaceVars() []string { return []string{SocketVar, StateVar, FileVar} }

// absolutePath returns the path in a variable, and false if it is relative: XDG ignores
// relative paths.
func absolutePath(m *cli.Main, name string) (string, bool) {
	path, _ := m.Getenv(name)
	return path, filepath.IsAbs(path)
}

// OwnDirectory creates a private directory and its missing parents. It rejects a directory
// of another user, a symbolic link, and one that is open to others.
func OwnDirectory(path string) error {
	if err := Above(path, StateVar); err != nil {
		return err
	}
	dir, err := peer.OwnDirectory(path, "directory")
	if err != nil {
		return err
	}
	return dir.Close()
}

// Above creates the missing parents of a directory. name is the variable that sets its path.
func Above(path, name string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return noPlace(path, name, err)
	}
	return nil
}

func noPlace(path, name string, err error) error {
	return &messages.Error{
		Code: messages.Refused, Reason: "directory", Message: "cannot make the directory " + path + ": " + err.Error(),
		Hint: "set " + name + " to a writable directory of yours",
	}
}

// makeable tests whether a missing directory and its parents could be created: it creates
// and removes a directory in the nearest parent that exists.
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
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = errors.New("mkdir in " + at + ": " + pathErr.Err.Error())
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

// IsTaken reports whether a path exists that is not a directory of this user alone.
func IsTaken(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && (!info.IsDir() || peer.OwnerOf(info) != unix.Geteuid() || info.Mode().Perm()&0o077 != 0)
}

// writable returns the error of a state directory that cannot be written. A full disk is no
// error where a journal exists: jobs must stay reachable, also to free space. Requests that
// need space fail themselves.
func writable(dir string) error {
	err := Probe(dir)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		if _, gone := os.Lstat(filepath.Join(dir, JournalName)); gone == nil {
			return nil
		}
	}
	return CannotWrite(dir, err)
}

// Probe tests a directory as the daemon uses it: it creates, renames and removes a file. A
// file system may report an error only then.
func Probe(dir string) error {
	file, err := os.CreateTemp(dir, "probe-*.new")
	if err == nil {
		name := strings.TrimSuffix(file.Name(), ".new")
		defer func() { _ = os.Remove(file.Name()) }() // if the rename failed
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
		Code: messages.Refused, Reason: "directory", Message: "cannot write the directory " + dir + ": " + err.Error(), Hint: "free disk space, fix its permissions, or use another directory",
	}
}

// Executable reports whether a path is a file that this user can execute.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}
