package keeper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// openDir opens the directory of a keeper, and makes it if create is set. It refuses
// one that other users can enter or own.
func openDir(path string, create bool) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, messages.Invalid("dir", "the keeper's directory is not an absolute path: "+strconv.Quote(path))
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0)
	if err == unix.ENOENT && create {
		if err = os.MkdirAll(path, 0o700); err == nil {
			fd, err = unix.Open(path, flags, 0)
		}
	}
	if err != nil {
		return nil, notOpened(path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
		err = notOurs(path, err.Error())
	case int(st.Uid) != os.Geteuid():
		err = notOurs(path, "it belongs to the user "+strconv.Itoa(int(st.Uid)))
	case st.Mode&0o077 != 0:
		err = notOurs(path, fmt.Sprintf("its mode is %#o", st.Mode&0o777))
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// notOpened reports a directory that could not be made or entered; often the directory
// is not the cause.
func notOpened(path string, err error) error {
	code, reason, hint := messages.Refused, "dir", "make sure that this user can make, enter and write it"
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return notOurs(path, err.Error())
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		code, reason, hint = messages.ResourceExhausted, "descriptors", "end some jobs, or raise the limit of open files (ulimit -n)"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		code, hint = messages.ResourceExhausted, "free some space, or files, then try again"
	}
	return refused(code, reason, path+" cannot be a keeper's directory: "+err.Error(), hint)
}

func notOurs(path, why string) error {
	return refused(messages.Refused, "dir", path+" cannot be a keeper's directory: "+why, "it must be a directory of this user alone (mode 0700), and no symbolic link")
}

// openIn opens a file in a directory, not through a symbolic link. It refuses all but a
// plain file of this user alone.
func openIn(dir *os.File, name string, flags int) (*os.File, error) {
	var f *os.File
	err := withFd(dir, func(fd int) error {
		got, err := unix.Openat(fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return &os.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: err}
		}
		var st unix.Stat_t
		err = unix.Fstat(got, &st)
		if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Nlink > 1) {
			err = notOurs(filepath.Join(dir.Name(), name), "it is not a plain file of this user")
		}
		if err != nil {
			_ = unix.Close(got)
			return err
		}
		f = os.NewFile(uintptr(got), filepath.Join(dir.Name(), name))
		return nil
	})
	return f, err
}

// leaseBound bounds the wait for a dying keeper's lease: the kernel frees the lock with
// its last thread.
const leaseBound = 5 * time.Second

// errRunning reports that the directory has a keeper.
var errRunning = refused(messages.Busy, "keeper", "a keeper of this directory is running already", "connect to it")

// takeLease takes the lease of the keeper, or returns errRunning. After bound the
// process must end, since the wait may continue.
func takeLease(dir *os.File, bound time.Duration) (*os.File, error) {
	f, err := openIn(dir, lockName, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	err = withFd(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, err
	}
	taken := make(chan error, 1)
	go func() {
		taken <- withFd(f, func(fd int) error {
			for {
				if err := unix.Flock(fd, unix.LOCK_EX); err != unix.EINTR {
					return err
				}
			}
		})
	}()
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case err := <-taken:
		return f, err
	case <-t.C:
		return nil, errRunning
	}
}

// inDir returns a short path to a name in an open directory, valid also after the
// directory was moved.
func inDir(dir *os.File, name string) (path string, err error) {
	err = withFd(dir, func(fd int) error {
		path = "/proc/self/fd/" + strconv.Itoa(fd) + "/" + name
		return nil
	})
	return path, err
}

// listen makes the keeper's socket in place of a dead one's. It refuses to replace
// anything else.
func listen(dir *os.File, name string) (*net.UnixListener, error) {
	full := filepath.Join(dir.Name(), name)
	path, err := inDir(dir, name)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err == unix.ENOENT:
	case err != nil:
		return nil, err
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK || int(st.Uid) != os.Geteuid():
		return nil, notOurs(full, "it exists and is not a socket of this user")
	default:
		if err := unix.Unlink(path); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), full)
	defer f.Close()
	if err := unix.Fchmod(fd, 0o600); err != nil { // bind uses this mode
		return nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, fmt.Errorf("the socket %s cannot be made: %w", full, err)
	}
	if err := unix.Listen(fd, 16); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// dial connects to the socket of a directory, if this user owns both.
func dial(dir *os.File, name string) (*conn, error) {
	full := filepath.Join(dir.Name(), name)
	path, err := inDir(dir, name)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, &os.PathError{Op: "connect", Path: full, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || int(st.Uid) != os.Geteuid() {
		return nil, notOurs(full, "it is not a socket of this user")
	}
	socket, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return nil, err
	}
	c, err := newConn(socket)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	if err := c.ours(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// bootID returns the id of this boot of the machine.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(text) < 36 {
		return ""
	}
	return string(text[:36])
}
