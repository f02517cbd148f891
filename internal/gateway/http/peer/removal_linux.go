package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Removal waits for the removal of a file.
type Removal struct {
	events *os.File // inotify
	name   string
}

// WatchRemoval watches for the removal of a file from its directory, by unlink or
// rename, and for that of the directory. It does not see what happens to directories
// above.
func WatchRemoval(path string) (*Removal, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	r := &Removal{os.NewFile(uintptr(fd), "inotify"), filepath.Base(path)}
	_, err = unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_ONLYDIR)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Wait returns after a removal, or with an error after Close.
func (r *Removal) Wait() error {
	events := make([]byte, 4096)
	for {
		n, err := r.events.Read(events)
		if err != nil {
			return err
		}
		for at := events[:n]; len(at) >= unix.SizeofInotifyEvent; {
			mask, length := binary.NativeEndian.Uint32(at[4:]), binary.NativeEndian.Uint32(at[12:])
			name, _, _ := bytes.Cut(at[unix.SizeofInotifyEvent:][:length], []byte{0})
			if mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) == 0 || string(name) == r.name {
				return nil
			}
			at = at[unix.SizeofInotifyEvent+length:]
		}
	}
}

// Close ends the watch.
func (r *Removal) Close() error { return r.events.Close() }
