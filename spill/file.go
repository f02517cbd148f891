package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

const (
	// syncEvery and syncAfter are the bytes and the time after which an os-crash log is synced.
	syncEvery = 1 << 20
	syncAfter = time.Second

	// mendStep is how much of a deleted file is copied at a time, so that one
	// job's mishap does not delay the output of others.
	mendStep = 16 << 20

	// mendAgain is how far a log grows before a mending that failed is tried
	// again; Check tries at once.
	mendAgain = 64 << 20
)

// live returns the descriptor of a file that is still ours: a file that was
// deleted, replaced or truncated is noticed here, before more is written.
func (w *writer) live() (*handle, error) {
	f := w.file
	h, err := f.open()
	if errors.Is(err, errGone) && !w.removed {
		w.lose(f)
		if err = w.mark(false); err == nil {
			err = w.renew(f)
		}
		if err == nil {
			h, err = f.open()
		}
	}
	if err != nil {
		return nil, &Blocked{Err: err}
	}
	if w.removed {
		return h, nil
	}
	st, err := w.disk.sys.Stat(h.fd)
	if err != nil {
		h.free()
		return nil, &Blocked{Err: err}
	}
	if err := w.resize(h, st.Size); err != nil {
		h.free()
		return nil, &Blocked{Err: err}
	}
	if st.Links == 0 {
		w.disk.cache.pin(&f.slot, h)
		w.flag(Unlinked)
		if w.mend(f, h, mendStep) {
			h.free()
			h, err = f.open()
		}
	}
	return h, err
}

func (w *writer) flag(f Flags) {
	w.mu.Lock()
	w.flags |= f
	w.mu.Unlock()
}

// resize brings a file that somebody changed back to the size of the log. What
// it lacks is a gap from now on; offsets stay. It is not made longer unless a later
// store will know that.
func (w *writer) resize(h *handle, size int64) error {
	if size != w.size {
		w.mu.Lock()
		if !w.gaps.cover(size, w.size) || size > w.size {
			w.gaps = w.gaps.add(size, w.size)
			w.flags |= Tampered
		}
		w.mu.Unlock()
	}
	if err := w.mark(false); err != nil {
		return err
	}
	if size != w.size {
		_ = w.disk.sys.Truncate(h.fd, w.size) // the gap tells it too
	}
	return nil
}

// renew makes a file in place of one that is lost: as long as the log, empty.
func (w *writer) renew(f *file) error {
	place, name := f.where()
	made, err := w.disk.create(place, name, w.plan.Durability != Memory, func(h *handle) error {
		return w.disk.sys.Truncate(h.fd, w.size)
	})
	if err != nil {
		return err
	}
	f.become(made)
	return nil
}

// fileRepair is the copying of a deleted file, which lives by its descriptor, to a
// new one.
type fileRepair struct {
	dir, h *handle
	name   string
	done   int64
}

// mend goes on with the copy by at most step bytes and says whether it is
// complete. If it cannot, the log goes on in the deleted file, and the copy is
// tried again later.
func (w *writer) mend(f *file, old *handle, step int64) bool {
	if w.size < w.mendAfter {
		return false
	}
	if w.mending == nil {
		m, err := w.beginMend(f)
		if err != nil {
			w.mendAfter = w.size + mendAgain
			return false
		}
		w.mending = m
	}
	m := w.mending
	to := min(w.size, m.done+step)
	err := w.copyTo(m.h, old, m.done, to)
	if err == nil {
		m.done = to
		if to < w.size {
			return false
		}
		err = w.replace(f, m)
	}
	w.endMend(err)
	return err == nil
}

// replace makes the copy the file of the log.
func (w *writer) replace(f *file, m *fileRepair) error {
	p, name := f.where()
	if err := w.disk.publish(m.dir, m.h, name, w.plan.Durability != Memory); err != nil {
		return err
	}
	made, err := w.disk.adopt(p, name, m.h)
	if err != nil {
		return err
	}
	f.become(made)
	return nil
}

func (w *writer) beginMend(f *file) (*fileRepair, error) {
	p, name := f.where()
	dir, err := w.disk.openDir(p, true)
	if err != nil {
		return nil, err
	}
	h, err := w.disk.fresh(dir, name+newSuffix)
	if err != nil {
		dir.free()
		return nil, err
	}
	return &fileRepair{dir: dir, h: h, name: name + newSuffix}, nil
}

func (w *writer) endMend(err error) {
	m := w.mending
	if m == nil {
		return
	}
	w.mending = nil
	w.mendAfter = 0
	if err != nil {
		_ = w.disk.sys.Unlink(m.dir.fd, m.name)
		w.mendAfter = w.size + mendAgain
	}
	m.h.free()
	m.dir.free()
}

// mendAtEnd gives a sealed log its file back if that is soon done; otherwise it
// is read from its descriptor for as long as the store knows it.
func (w *writer) mendAtEnd() {
	if w.file != nil && !w.removed {
		for range mendAgain / mendStep {
			if h, err := w.live(); err == nil {
				h.free()
			}
			if w.mending == nil {
				break
			}
		}
	}
	w.endMend(errGone)
}
