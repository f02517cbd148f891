package spill

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// room returns how many of the next bytes the quota allows. Under Elide it makes room
// first. 0 means that the bytes are dropped.
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
			return 0, err // without a byte nothing is elided
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

// waits returns nil if src has bytes, else the reason why it has none.
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

// elide removes the next step from the middle. It opens the gap before the bytes go, so
// that a reader of the zeros finds the gap.
func (w *writer) elide() error {
	h, _, err := w.acquire()
	if err != nil || h == nil {
		return err
	}
	defer h.free()
	if !w.probed {
		err := w.disk.sys.Punch(h.fd, w.size, pageSize) // after the end: changes nothing
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
			w.keepHead = true
			return nil
		}
		if err != nil {
			return err
		}
		w.probed = true
	}
	head, step := w.head(), w.plan.elideStep()
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

// head returns the end of the beginning that Elide keeps.
func (w *writer) head() int64 { return w.base + w.plan.head() }

// punch frees elided bytes that are not free yet. A file system frees only whole pages,
// so it begins again with the page in which the last punch ended.
func (w *writer) punch(h *handle) error {
	if w.punched >= w.elided {
		return nil
	}
	if err := w.mark(false); err != nil {
		return err
	}
	from := max(w.head(), w.base+(w.punched-w.base)&^(pageSize-1))
	if err := w.disk.sys.Punch(h.fd, from-w.base, w.elided-from); err != nil {
		return err
	}
	w.punched = w.elided
	kept := w.kept()
	w.mu.Lock()
	defer w.mu.Unlock()
	if less := w.memoryBytes - kept; w.mem != nil && less > 0 {
		w.memoryBytes -= less
		w.disk.memory.Add(-less)
	}
	return nil
}

// discard drops bytes that are not kept. They count, and the file is as long as the
// log, so that the size stays the offset.
func (w *writer) discard(src source, most int64) (n int64, more bool, err error) {
	if w.rotated() {
		return 0, true, nil // there is room again
	}
	n, err = src.drop(most)
	if n <= 0 {
		return 0, false, err
	}
	off := w.size
	h, f, _ := w.acquire()
	if h != nil {
		defer h.free()
		if f != nil {
			w.truncated(h, off) // else missing bytes would read as zeros without a gap
		}
	}
	w.mu.Lock()
	w.size += n
	switch {
	case w.fenced == nil:
	case w.hidden > 0: // the hidden bytes may still be a fence
		w.hidden += n
	default:
		w.fenced.next = w.size // a gap has none
	}
	w.gaps = w.gaps.add(off, w.size)
	w.mu.Unlock()
	w.note(off, n)
	if w.mark(true) == nil && h != nil { // else the file stays short until the gap can be recorded
		_ = w.disk.sys.Truncate(h.fd, w.size-w.base) // the gap covers a failure
	}
	return n, n == most, nil
}

// errNoPlace reports that a log which can have no file has no memory either.
var errNoPlace = errors.New("there is no place for the log")

// noFileQuota is the quota of a log that needs a file after its directory was lost for
// good. Waiting would never end. A log in memory stays there and keeps its head and
// tail. A log in a lost file keeps nothing more; the rest is a gap.
const noFileQuota = 64 << 10

// gone reports whether the directory of the store is lost for good.
func (d *Disk) gone() bool { return d.isGone != nil && d.isGone() }

// dirGone reports whether err means that the directory is lost for good, and sets
// noFile then.
func (w *writer) dirGone(err error) bool {
	if err == nil || w.noFile || w.removed || !w.disk.gone() {
		return false
	}
	w.noFile = true
	w.flag(Unlinked)
	p := *w.plan
	p.Quota = min(p.Quota, noFileQuota)
	w.plan = &p
	if len(w.knownGaps()) == 0 {
		w.elided, w.punched = p.head(), p.head()
	}
	return true
}

// dropsAll reports whether a log that can have no file keeps nothing more.
func (w *writer) dropsAll() bool {
	return w.noFile && (w.file != nil || w.noMemory || w.mem == nil && !w.disk.admits() ||
		w.disk.memory.Load() > w.disk.limits.Load().Memory)
}
