package keeper

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// callName is a file that who finds no socket makes in the directory of a keeper that
// holds its lease: the keeper makes its socket anew, and takes the file away.
const callName = "keeper.call"

// calledBound is how long a keeper that works may take for that.
const calledBound = 2 * time.Second

// callFor connects to a keeper that lives and has no socket any more. It is the error of
// the dial where none lives, or none hears.
func callFor(dir *os.File, absent error) (*conn, error) {
	if kept, err := isKept(dir); err != nil || !kept {
		return nil, absent
	}
	path, err := inDir(dir, ".")
	if err != nil {
		return nil, absent
	}
	changed, err := watchPath(path, unix.IN_CREATE|unix.IN_CLOSE_WRITE) // a socket comes, or the lease is closed
	if err != nil {
		return nil, absent
	}
	defer changed.Close()
	call, err := openIn(dir, callName, unix.O_RDONLY|unix.O_CREAT)
	if err != nil {
		return nil, absent
	}
	_ = call.Close()
	_ = changed.SetReadDeadline(time.Now().Add(calledBound))
	events := make([]byte, 4096)
	for {
		c, err := dial(dir, socketName)
		if err == nil || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ECONNREFUSED) {
			return c, err
		}
		kept, kerr := isKept(dir)
		if kerr == nil && kept {
			_, kerr = changed.Read(events)
		} else if kerr == nil {
			kerr = absent
		}
		if kerr != nil { // it has died, or does not hear: it is of an older build, or was stopped
			_ = withFd(dir, func(fd int) error { return unix.Unlinkat(fd, callName, 0) })
			return nil, absent
		}
	}
}
