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

// errGone reports that a file is not in its place any more, or was replaced.
var errGone = errors.New("the file of the log is gone")

// file is the file of a log. The cache has its descriptor, or it is opened again by
// path.
type file struct {
	disk *Disk
	slot slot // guarded by the cache

	mu       sync.Mutex // guards the fields below; held while the file is opened
	place    dirRef
	name     string
	dev, ino uint64
	gone     bool // without a descriptor, and lost

	path atomic.Pointer[string] // for display; "" after the file is gone
}

// settle records the place of the file. The caller holds f.mu, or has not shared f yet.
func (f *file) settle(p dirRef, name string, st Stat) {
	f.place, f.name, f.dev, f.ino, f.gone = p, name, st.Dev, st.Ino, false
	path := f.disk.tree.filePath(p, name)
	f.path.Store(&path)
}

// vanish records that the file does not exist any more. The caller holds f.mu.
func (f *file) vanish() {
	f.gone = true
	none := ""
	f.path.Store(&none)
}

// open returns the descriptor with a reference for the caller, or errGone.
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

// lost reports whether the file is missing, or another one is in its place.
func lost(err error) bool {
	return slices.ContainsFunc([]error{errGone, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EISDIR, unix.ENXIO},
		func(target error) bool { return errors.Is(err, target) })
}

// reopen opens the file by path and checks that it is the same file.
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
	if err == nil && (!st.Regular || st.Dev != f.dev || st.Ino != f.ino || st.Links != 1) {
		err = errGone
	}
	if err != nil {
		h.free()
		return nil, err
	}
	return h, nil
}

// pin keeps the descriptor open, because the name is about to be removed.
func (f *file) pin() {
	if h, err := f.open(); err == nil {
		f.disk.cache.pin(&f.slot, h)
		h.free()
	}
}

// rest closes the descriptor of a file without users, unless that would free the bytes.
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

// unlink removes the file, unless it was kept, was there before, or is a named file
// with bytes in it.
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

// where returns the place and name of the file.
func (f *file) where() (dirRef, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.place, f.name
}

// become replaces the file by made, which readers of f find from now on.
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

// claim creates the file of a path. It fails if the path exists, even as a symbolic
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

// empty reports whether the file has no bytes. The caller holds f.mu.
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
	// repairStep bounds how much of a deleted file is copied at a time, so that the
	// repair for one job does not delay the output of others.
	repairStep = 16 << 20

	// repairRetry is how much a log grows before a failed repair is tried again. Check
	// tries at once.
	repairRetry = 64 << 20
)

// live returns the descriptor of the log's file. It detects and repairs a file that was
// deleted, replaced or truncated, before more is written.
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
	if h, err = w.follow(h); err != nil {
		return nil, &Blocked{Err: err}
	}
	f = w.file
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
		if w.repair(f, h, repairStep) {
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

// resize sets a file that another program changed back to the size of the log. Missing
// bytes become a gap; offsets stay. It extends the file only after the gap is recorded. A
// truncated file that the user named is not extended: the log goes on at its end.
func (w *writer) resize(h *handle, size int64) error {
	if w.named() && w.base+size < w.size {
		return w.restart(w.file, size)
	}
	size += w.base
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
		_ = w.disk.sys.Truncate(h.fd, w.size-w.base) // the gap covers a failure
	}
	return nil
}

// renew creates an empty file of the log's size in place of a lost one.
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

// fileRepair is the copy of a deleted file, of which only the descriptor is left.
type fileRepair struct {
	dir, h *handle // directory and file of the copy
	name   string
	done   int64 // bytes copied
}

// repair copies at most step more bytes and reports whether the copy is complete. After a
// failure the log goes on in the deleted file, and a later call tries again.
func (w *writer) repair(f *file, old *handle, step int64) bool {
	if w.size < w.repairAfter {
		return false
	}
	if w.repairing == nil {
		m, err := w.beginRepair(f)
		if err != nil {
			w.repairAfter = w.size + repairRetry
			return false
		}
		w.repairing = m
	}
	m := w.repairing
	to := min(w.size, m.done+step)
	err := w.copyTo(m.h, old, m.done, to)
	if err == nil {
		m.done = to
		if to < w.size {
			return false
		}
		err = w.replace(f, m)
	}
	w.endRepair(err)
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

func (w *writer) beginRepair(f *file) (*fileRepair, error) {
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

func (w *writer) endRepair(err error) {
	m := w.repairing
	if m == nil {
		return
	}
	w.repairing = nil
	w.repairAfter = 0
	if err != nil {
		_ = w.disk.sys.Unlink(m.dir.fd, m.name)
		w.repairAfter = w.size + repairRetry
	}
	m.h.free()
	m.dir.free()
}

// repairAtEnd finishes the repair of a log that seals, if little is left to copy.
// Otherwise the log is read from the descriptor as long as the store has it.
func (w *writer) repairAtEnd() {
	if w.file != nil && !w.removed {
		for range repairRetry / repairStep {
			if h, err := w.live(); err == nil {
				h.free()
			}
			if w.repairing == nil {
				break
			}
		}
	}
	w.endRepair(errGone)
}
