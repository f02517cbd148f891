package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A log may have a file that its owner has named. Its directory is not the store's:
// nothing is made there but the file, and nothing else of it is touched.

// errNotMade says that a file outside is not made a second time.
var errNotMade = errors.New("a file that was named for a log is made only once")

// visit opens a directory that is not the store's. One in which everybody could put
// a file in the place of ours is refused.
func (t *nodeDirs) visit(path string, create bool) (*handle, error) {
	if create {
		return nil, errNotMade
	}
	fd, err := t.sys.Open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory %s: %w", path, err)
	}
	h := newHandle(t.sys, fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		h.free()
		return nil, err
	}
	if uint32(st.Mode)&(unix.S_ISVTX|0o002) == 0o002 {
		h.free()
		return nil, fmt.Errorf("the directory %s cannot hold a log: everybody may change what is in it", path)
	}
	return h, nil
}

// claim makes the file of a path, which must not be there, not even as a symbolic
// link.
func (d *Disk) claim(path string) (*file, error) {
	p := dirRef{outside: filepath.Dir(path)}
	dir, err := d.openDir(p, false)
	if err != nil {
		return nil, err
	}
	defer dir.free()
	h, err := d.openFile(dir, filepath.Base(path), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, &os.PathError{Op: "create the log", Path: path, Err: err}
	}
	defer h.free()
	return d.adopt(p, filepath.Base(path), h)
}

// Reclaim takes a log over that a dead store has left in a file which its owner had
// named, by the File and the Mark of its plan: it can be opened as before, sealed.
func (d *Disk) Reclaim(id string, stream uint8, path, mark string) error {
	plan, err := Plan{File: path, Mark: mark}.resolve()
	if err != nil {
		return err
	}
	p := dirRef{outside: filepath.Dir(path), found: true}
	dir, err := d.openDir(p, false)
	if err != nil {
		return err
	}
	defer dir.free()
	h, err := d.openFile(dir, filepath.Base(path), unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return &os.PathError{Op: "open the log", Path: path, Err: err}
	}
	defer h.free()
	l, err := d.recoverLog(h, p, plan, filepath.Base(path), id, stream)
	if err != nil {
		return err
	}
	d.mu.Lock()
	known := d.jobs[id] != nil
	d.mu.Unlock()
	if known {
		return ErrExists
	}
	for _, j := range d.enroll([]leftoverLog{l}) {
		_ = j.remove()
	}
	return nil
}

// empty reports whether nothing is in the file. Called with f.mu.
func (f *file) empty() bool {
	h := f.disk.cache.get(&f.slot)
	if h == nil {
		var err error
		if h, err = f.reopen(); err != nil {
			return false
		}
	}
	defer h.free()
	st, err := f.disk.sys.Stat(h.fd)
	return err == nil && st.Size == 0
}
