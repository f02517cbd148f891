package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// WaitEnd returns when the journal of a detached job's keeper has the job's end, or no
// keeper holds the lease. It only reads files, so any number of callers can wait.
func WaitEnd(ctx context.Context, path string) error {
	dir, err := openDir(path, false)
	if err != nil {
		return err
	}
	defer dir.Close()
	grown, err := watchFile(filepath.Join(path, journalName))
	if err != nil {
		return err
	}
	defer grown.Close()
	changed, failed := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		events := make([]byte, 4096)
		for {
			if _, err := grown.Read(events); err != nil {
				failed <- err
				return
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	unkept := make(chan struct{})
	go func() { // ends with the keeper; it may outlast this call
		awaitLease(path)
		close(unkept)
	}()
	for {
		if seen, err := Inspect(path); err != nil || seen.Over || !seen.Kept {
			return err
		}
		select {
		case <-changed:
		case <-unkept:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchFile returns an inotify file for changes of a file.
func watchFile(path string) (*os.File, error) {
	return watchPath(path, unix.IN_MODIFY|unix.IN_MOVE_SELF|unix.IN_DELETE_SELF|unix.IN_ATTRIB)
}

// watchPath returns an inotify file for events of a path: a read returns after one.
func watchPath(path string, events uint32) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "inotify")
	_, err = unix.InotifyAddWatch(fd, path, events)
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "watch", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// awaitLease returns when no process holds the lease of a directory.
func awaitLease(path string) {
	dir, err := openDir(path, false)
	if err != nil {
		return
	}
	defer dir.Close()
	f, err := openIn(dir, lockName, unix.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	_ = withFd(f, func(fd int) error {
		for {
			if err := unix.Flock(fd, unix.LOCK_SH); err != unix.EINTR {
				return err
			}
		}
	})
}
