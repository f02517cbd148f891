package keeper

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// callName is a file that a client makes in the directory of a keeper whose socket is
// missing. The keeper makes its socket again and removes the file.
const callName = "keeper.call"

// calledBound bounds the wait for that.
const calledBound = 2 * time.Second

// awaitRecreatedSocket connects to a running keeper whose socket was removed. It
// returns the dial's error if none runs, or none answers.
func awaitRecreatedSocket(dir *os.File, absent error) (*conn, error) {
	if kept, err := isKept(dir); err != nil || !kept {
		return nil, absent
	}
	path, err := inDir(dir, ".")
	if err != nil {
		return nil, absent
	}
	changed, err := watchPath(path, unix.IN_CREATE|unix.IN_CLOSE_WRITE) // a new socket, or a closed lease
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
		if kerr != nil { // the keeper has died, is of an older build, or was stopped
			_ = withFd(dir, func(fd int) error { return unix.Unlinkat(fd, callName, 0) })
			return nil, absent
		}
	}
}
