package spill

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// room says how many of the next bytes the plan's quota lets in, making room
// if the policy does; 0 says that they are dropped.
func (w *writer) room(src source, most int64) (int64, error) {
	if w.dropsAll() {
		return 0, nil
	}
	if w.mem == nil && w.file == nil {
		return min(most, w.plan.Quota), nil
	}
	left := w.plan.Quota - w.kept()
	if w.policy() == Elide && (left <= 0 || w.punched < w.elided) {
		if err := waits(src); err != nil {
			return 0, err // nothing goes for nothing
		}
		if err := w.elide(); err != nil {
			return 0, w.refuse(src, err)
		}
		left = w.plan.Quota - w.kept()
	}
	if left > 0 {
		return min(most, left), nil
	}
	switch {
	case w.policy() == Pause:
		return 0, w.refuse(src, ErrPaused)
	case w.policy() == Kill && !w.quotaReported:
		return 0, w.refuse(src, ErrQuota)
	}
	return 0, nil
}

// waits is nil if src has bytes, else why it has none.
func waits(src source) error {
	readable, ended, err := src.poll()
	switch {
	case err != nil:
		return err
	case ended:
		return io.EOF
	case !readable:
		return unix.EAGAIN
	}
	return nil
}

// elide takes the next step out of the middle. The gap is told before the bytes
// go, so that who reads zeros there finds the gap.
func (w *writer) elide() error {
	h, _, err := w.acquire()
	if err != nil || h == nil {
		return err
	}
	defer h.free()
	if !w.probed {
		err := w.disk.sys.Punch(h.fd, w.size, pageSize) // behind the end: changes nothing
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
			w.keepHead = true
			return nil
		}
		if err != nil {
			return err
		}
		w.probed = true
	}
	head, step := w.plan.head(), w.plan.elideStep()
	for w.plan.Quota <= w.kept() {
		end := w.elided + step
		if step >= 2*pageSize {
			end += -end & (pageSize - 1)
		}
		w.elided = min(end, w.size)
		w.mu.Lock()
		w.gaps = w.gaps.add(head, w.elided)
		w.mu.Unlock()
	}
	return w.punch(h)
}

// punch frees what is elided and not yet free. Only a page that goes at once is
// freed: it begins again with the one in which it stopped.
func (w *writer) punch(h *handle) error {
	if w.punched >= w.elided {
		return nil
	}
	if err := w.mark(false); err != nil {
		return err
	}
	from := max(w.plan.head(), w.punched&^(pageSize-1))
	if err := w.disk.sys.Punch(h.fd, from, w.elided-from); err != nil {
		return err
	}
	w.punched = w.elided
	w.mu.Lock()
	defer w.mu.Unlock()
	if less := w.memoryBytes - w.kept(); w.mem != nil && less > 0 {
		w.memoryBytes -= less
		w.disk.memory.Add(-less)
	}
	return nil
}

// discard takes bytes that are not kept. They count, and the file is as long
// as the log, so that its size stays the offset.
func (w *writer) discard(src source, most int64) (n int64, more bool, err error) {
	n, err = src.drop(most)
	if n <= 0 {
		return 0, false, err
	}
	off := w.size
	h, f, _ := w.acquire()
	if h != nil {
		defer h.free()
		if f != nil {
			w.truncated(h, off) // else that would read as zeros
		}
	}
	w.mu.Lock()
	w.size += n
	if w.hidden > 0 { // what is hidden may be a fence still
		w.hidden += n
	}
	w.gaps = w.gaps.add(off, w.size)
	w.mu.Unlock()
	w.note(off, n)
	if w.mark(true) == nil && h != nil { // else the file stays short until that can be told
		_ = w.disk.sys.Truncate(h.fd, w.size) // the gap tells it too
	}
	return n, n == most, nil
}

// A log is adrift when it needs a file and there is no place for one, nor will be: to
// wait for that would be to wait for ever. It stays in memory then, its head and its
// tail, within noFileQuota and the bounds of the store; what is between is a gap, and
// what had its file in a place that is lost is one from there on.

// errNoPlace says that a log that is adrift has no memory either.
var errNoPlace = errors.New("there is no place for the log")

// noFileQuota is what such a log keeps, in memory.
const noFileQuota = 64 << 10

// gone says that there is no place for files, and will be none.
func (d *Disk) gone() bool { return d.isGone != nil && d.isGone() }

// dirGone reports whether an error is one of a place that is gone: then the log is adrift.
func (w *writer) dirGone(err error) bool {
	if err == nil || w.noFile || w.removed || !w.disk.gone() {
		return false
	}
	w.noFile = true
	w.flag(Unlinked)
	p := *w.plan
	p.Quota = min(p.Quota, noFileQuota)
	w.plan = &p
	if len(w.gaps) == 0 {
		w.elided, w.punched = p.head(), p.head()
	}
	return true
}

// dropsAll reports whether a log that is adrift keeps nothing more.
func (w *writer) dropsAll() bool {
	return w.noFile && (w.file != nil || w.noMemory || w.mem == nil && !w.disk.admits() ||
		w.disk.memory.Load() > w.disk.limits.Load().Memory)
}
