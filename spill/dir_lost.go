package spill

import "errors"

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

// memoryTarget is target of a log that is adrift. Without memory it keeps nothing.
func (w *writer) memoryTarget(room int64) (*handle, int64, bool) {
	if w.mem != nil {
		return w.mem.hold(), room, true
	}
	h, err := w.disk.spare.take()
	w.noMemory = err != nil
	return h, room, err == nil
}
