package spill

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Other programs rotate a file that the user named, such as logrotate: they copy and truncate
// it, or rename it, and may create its successor. The log goes on at the end of the file that
// has the name. Its offsets stay; the bytes before are a gap. So the file has no
// NULs in place of what was taken away.

// named reports whether the user named the log's file.
func (w *writer) named() bool { return w.plan.File != "" && w.file != nil }

// restart continues the log in f, after the stale bytes there. The gap is recorded before the
// next byte is written.
func (w *writer) restart(f *file, stale int64) error {
	w.mu.Lock()
	w.gaps = w.gaps.add(0, w.size)
	w.file, w.base = f, w.size-stale
	w.flags |= Tampered
	w.mu.Unlock()
	w.elided, w.punched = w.head(), w.head()
	return w.mark(false)
}

// rotated handles a rotation of the log's file, and reports whether there was one.
func (w *writer) rotated() bool {
	if !w.named() {
		return false
	}
	before, file := w.base, w.file
	if h, err := w.live(); err == nil {
		h.free()
	}
	return w.base != before || w.file != file
}

// follow returns the descriptor of the file that has the name of the log in place of h, if
// another program has renamed that. It takes an empty file of this user, or creates a missing
// one. A deleted file is not created again.
func (w *writer) follow(h *handle) (*handle, error) {
	if !w.named() {
		return h, nil
	}
	place, name := w.file.where()
	dir, err := w.disk.openDir(place, false)
	if err != nil {
		return h, nil // the log goes on in the open file
	}
	defer dir.free()
	next, err := w.disk.openFile(dir, name, unix.O_RDWR|unix.O_NONBLOCK)
	if errors.Is(err, unix.ENOENT) && w.renamed(h) {
		next, err = w.disk.openFile(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	}
	if err != nil {
		return h, nil
	}
	if !w.succeeds(next, h) {
		next.free()
		return h, nil
	}
	defer h.free()
	made, err := w.disk.adopt(place, name, next)
	if err != nil {
		next.free()
		return nil, err
	}
	former := w.file
	err = w.restart(made, 0)
	w.disk.cache.drop(&former.slot)
	if err != nil {
		next.free()
		return nil, err
	}
	return next, nil
}

// renamed reports whether the file of h still has a name.
func (w *writer) renamed(h *handle) bool {
	st, err := w.disk.sys.Stat(h.fd)
	return err == nil && st.Links > 0
}

// succeeds reports whether next is another file than h, which the log may go on in.
func (w *writer) succeeds(next, h *handle) bool {
	st, err := w.disk.sys.Stat(next.fd)
	if err != nil || !st.Regular || st.Size > 0 || st.Links != 1 || int(st.UID) != os.Geteuid() {
		return false
	}
	old, err := w.disk.sys.Stat(h.fd)
	return err == nil && (st.Dev != old.Dev || st.Ino != old.Ino)
}

// truncatedBefore handles a truncation right before a write: it left a hole in front of the
// written bytes, which go with it.
func (w *writer) truncatedBefore(h *handle) {
	if !w.named() || w.knownGaps().cover(w.base, w.base+1) {
		return
	}
	from, to, err := w.disk.sys.Hole(h.fd, 0, w.size-w.base)
	if err != nil || from > 0 || to <= from {
		return
	}
	if w.disk.sys.Truncate(h.fd, 0) == nil {
		_ = w.restart(w.file, 0) // the next step records the gap
	}
}
