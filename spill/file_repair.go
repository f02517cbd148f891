package spill

import (
	"errors"
	"time"
)

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
