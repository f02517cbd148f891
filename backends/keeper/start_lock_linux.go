package keeper

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Whoever starts a detached job without a daemon shares the lock of the directory of
// them all until that is done: a daemon that begins meanwhile waits, or it would take the
// keeper from who starts the job, or never hear of it.

// startsBound is how long a daemon waits for that; who was stopped holds nobody.
const startsBound = helloBound

// holdStarts takes the lock of who starts detached jobs; nil: it is not to be had, and
// they are started all the same.
func holdStarts(root string) *os.File {
	lock, err := openDir(root, true)
	if err != nil {
		return nil
	}
	if withFd(lock, func(fd int) error { return flockWhole(fd, unix.LOCK_SH) }) != nil { // a daemon has it for an instant
		_ = lock.Close()
		return nil
	}
	return lock
}

// awaitStarts returns when nobody starts a detached job of the root, or has for too long.
// Who begins behind it finds the daemon.
func awaitStarts(ctx context.Context, root string) {
	lock, err := openDir(root, false)
	if err != nil {
		return
	}
	err = withFd(lock, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if !errors.Is(err, unix.EWOULDBLOCK) {
		_ = lock.Close()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startsBound)
	defer cancel()
	had := make(chan struct{})
	go func() { // the wait may outlast this call
		_ = withFd(lock, func(fd int) error { return flockWhole(fd, unix.LOCK_EX) })
		_ = lock.Close()
		close(had)
	}()
	select {
	case <-had:
	case <-ctx.Done():
	}
}

// flockWhole takes a lock, whatever signals come.
func flockWhole(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); err != unix.EINTR {
			return err
		}
	}
}

// meetStarts tells daemons that a job is about to be started, or is the daemon that waits.
func (f *Fleet) meetStarts(ctx context.Context) {
	switch {
	case f.options.Fresh:
		f.turn = holdStarts(f.options.Root)
	case f.options.Only == "":
		awaitStarts(ctx, f.options.Root)
	}
}
