package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// errGone says that a file is not where it was, or is another one.
var errGone = errors.New("the file of the log is gone")

// file is where a log is on disk. Its descriptor is in the cache, or made anew
// from the path.
type file struct {
	disk *Disk
	slot slot // guarded by the cache

	mu       sync.Mutex // of what follows; held while it is opened
	place    dirRef
	name     string
	dev, ino uint64
	gone     bool // no descriptor, and not to be found again

	path atomic.Pointer[string] // for people
}

// settle says where the file is now; called with f.mu, or before it is shared.
func (f *file) settle(p dirRef, name string, st Stat) {
	f.place, f.name, f.dev, f.ino, f.gone = p, name, st.Dev, st.Ino, false
	path := f.disk.tree.filePath(p, name)
	f.path.Store(&path)
}

// vanish says that there is no file any more.
func (f *file) vanish() {
	f.gone = true
	none := ""
	f.path.Store(&none)
}

// open returns the descriptor, held for the caller, or errGone.
func (f *file) open() (*handle, error) {
	if h := f.disk.cache.get(&f.slot); h != nil {
		return h, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.disk.cache.get(&f.slot); h != nil {
		return h, nil
	}
	if f.gone {
		return nil, errGone
	}
	h, err := f.reopen()
	if lost(err) {
		f.vanish()
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	f.disk.cache.put(&f.slot, h.hold())
	return h, nil
}

// lost reports whether there is nothing, or something else, where the file was.
func lost(err error) bool {
	return slices.ContainsFunc([]error{errGone, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EISDIR, unix.ENXIO},
		func(target error) bool { return errors.Is(err, target) })
}

// reopen opens the file by its path and makes sure that it is the one we made.
func (f *file) reopen() (*handle, error) {
	dir, err := f.disk.openDir(f.place, false)
	if err != nil {
		return nil, err
	}
	defer dir.free()
	h, err := f.disk.openFile(dir, f.name, unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	st, err := f.disk.sys.Stat(h.fd)
	if err == nil && (!st.Regular || st.Dev != f.dev || st.Ino != f.ino || st.Links == 0) {
		err = errGone
	}
	if err != nil {
		h.free()
		return nil, err
	}
	return h, nil
}

// pin makes the bytes independent of the path: it is about to go.
func (f *file) pin() {
	if h, err := f.open(); err == nil {
		f.disk.cache.pin(&f.slot, h)
		h.free()
	}
}

// rest closes the descriptor of a file that nobody uses, unless the bytes would
// go with it.
func (f *file) rest() {
	h := f.disk.cache.get(&f.slot)
	if h == nil {
		return
	}
	defer h.free()
	if st, err := f.disk.sys.Stat(h.fd); err == nil && st.Links > 0 {
		f.disk.cache.drop(&f.slot)
	}
}

// unlink removes the name, if it is still that of our file and was not kept.
func (f *file) unlink() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.place.kept || f.place.found || f.gone || f.place.outside != "" && !f.empty() {
		return nil
	}
	dir, err := f.disk.openDir(f.place, false)
	if err == nil {
		defer dir.free()
		err = f.disk.sys.Unlink(dir.fd, f.name)
	}
	f.vanish()
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("cannot remove the log %s: %w", f.name, err)
	}
	return nil
}

// openDir and openFile try again, after descriptors that can be spared were
// closed, when the process has none left.
func (d *Disk) openDir(p dirRef, create bool) (*handle, error) {
	h, err := d.tree.open(p, create)
	if exhausted(err) {
		d.cache.shrink()
		h, err = d.tree.open(p, create)
	}
	return h, err
}

func (d *Disk) openFile(dir *handle, name string, flags int) (*handle, error) {
	fd, err := d.sys.Open(dir.fd, name, flags, 0o600)
	if exhausted(err) {
		d.cache.shrink()
		fd, err = d.sys.Open(dir.fd, name, flags, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return newHandle(d.sys, fd), nil
}

func exhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// where is the place and name of the file.
func (f *file) where() (dirRef, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.place, f.name
}

// become makes f the file that made is: readers of f find it from now on.
func (f *file) become(made *file) {
	h := f.disk.cache.get(&made.slot)
	f.disk.cache.drop(&made.slot)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settle(made.place, made.name, Stat{Dev: made.dev, Ino: made.ino})
	if h != nil {
		f.disk.cache.put(&f.slot, h)
	} else {
		f.disk.cache.drop(&f.slot)
	}
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
