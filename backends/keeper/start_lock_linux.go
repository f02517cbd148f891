package keeper

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A process that starts a detached job without a daemon holds a shared lock on the root
// directory meanwhile. A starting daemon waits for it. Otherwise it could replace the
// starter as client, or miss the job.

// startsBound bounds that wait: a stopped process must not block a daemon.
const startsBound = helloBound

// holdStarts takes the shared lock; nil: it is not available, and jobs are started
// without it.
func holdStarts(root string) *os.File {
	lock, err := openDir(root, true)
	if err != nil {
		return nil
	}
	if withFd(lock, func(fd int) error { return flockWhole(fd, unix.LOCK_SH) }) != nil { // a daemon holds it for a moment
		_ = lock.Close()
		return nil
	}
	return lock
}

// awaitStarts returns when no process starts a detached job in root, or the wait took
// too long. Later starters find the daemon.
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

// flockWhole takes a lock, and repeats after signals.
func flockWhole(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); err != unix.EINTR {
			return err
		}
	}
}

// meetStarts takes the lock for a start, or waits for it as the daemon.
func (f *Fleet) meetStarts(ctx context.Context) {
	switch {
	case f.options.Fresh:
		f.turn = holdStarts(f.options.Root)
	case f.options.Only == "":
		awaitStarts(ctx, f.options.Root)
	}
}
