package spill

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// writer is a Writer. Its fields are guarded by body.turn.
type writer struct {
	*sharedLog
	order *order        // nil but for separate streams
	times *arrivalTimes // of a merged one

	elided  int64        // end of what Elide took out; it begins at plan.head()
	punched int64        // how far the file system has freed it
	pump    *pump        // splice does not work here
	staging *stagingPipe // has bytes that the file did not take yet

	mending   *fileRepair
	mendAfter int64 // size at which a failed mending is tried again

	fenced    *fenceState // nil: no fence ends what is the log's
	tailMoved int64       // bytes behind that which another log has got
	synced    *synced     // nil: nothing was written that must be safe soon

	keepHead      bool // nothing can be elided, whatever the plan says
	probed        bool // that the file system can free what is punched
	quotaReported bool // ErrQuota was returned
	noMemory      bool // memory failed: go to a file
	noFile        bool // there will be no file
	flows         bool // much comes at a time
	terminal      bool // bytes come from one
}

// fenceState is the end of what is the log's.
type fenceState struct {
	fence fence
	whole bool // it has come
}

// synced is how safe an os-crash log is.
type synced struct {
	behind int64 // bytes that came since
	at     time.Time
}

// A writer also implements the optional interfaces of a Writer.
var (
	_ Checker       = (*writer)(nil)
	_ StagingWriter = (*writer)(nil)
	_ FencedWriter  = (*writer)(nil)
)

func newWriter(b *sharedLog, o *order) *writer {
	b.users = 1
	b.writer = &writer{sharedLog: b, order: o, elided: b.plan.head(), punched: b.plan.head()}
	return b.writer
}

// policy is the plan's, or KeepHead.
func (w *writer) policy() Policy {
	switch {
	case w.keepHead:
		return KeepHead
	case w.noFile && w.plan.Policy != KeepHead: // its quota is ours, which ends nothing
		return Elide
	}
	return w.plan.Policy
}

// note says that n bytes arrived at off, for those who ask when.
func (w *writer) note(off, n int64) {
	switch {
	case w.order != nil:
		w.order.note(w.stream, off, n)
	case w.times != nil:
		w.times.note(off, n)
	}
}

// Splice moves up to most bytes from a pipe, or from the master of a terminal. Where
// the kernel does not splice they go by read and write.
func (w *writer) Splice(from int, most int64) (int64, error) {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	n, err := w.fill(&pipeEnd{w: w, fd: from}, most)
	if n > 0 {
		err = nil // it comes again
	}
	w.quotaReported = w.quotaReported || err == ErrQuota
	return n, err
}

// Append adds the bytes of p.
func (w *writer) Append(p []byte) (int, error) {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.fill(&piece{sys: w.disk.sys, p: p}, int64(len(p)))
	w.quotaReported = w.quotaReported || err == ErrQuota
	return int(n), err
}

// fill takes from src until it is empty, most bytes are taken, or something is
// in the way.
func (w *writer) fill(src source, most int64) (int64, error) {
	if w.sealed {
		return 0, ErrSealed
	}
	if w.synced != nil {
		if err := w.syncInTime(); err != nil {
			return 0, w.refuse(src, err)
		}
	}
	var moved int64
	for moved < most {
		n, more, err := w.step(src, most-moved)
		moved += n
		if err != nil {
			return moved, err
		}
		if !more {
			break
		}
	}
	return moved, nil
}

// step moves one portion. more says that the source may have more.
func (w *writer) step(src source, most int64) (n int64, more bool, err error) {
	room, err := w.room(src, most)
	if err != nil {
		return 0, false, err
	}
	if room == 0 {
		return w.discard(src, most)
	}
	h, room, err := w.target(src, room)
	switch {
	case w.dirGone(err) || err == errNoPlace:
		return 0, true, nil
	case err != nil:
		return 0, false, w.refuse(src, err)
	}
	defer h.free()
	inMemory := w.file == nil
	n, err = src.move(h, w.size, room)
	switch {
	case n > 0:
		w.grew(h, n)
		return n, n == room, nil
	case err == io.EOF || err == unix.EAGAIN || err == unix.EBADF:
	case inMemory:
		w.noMemory, more, err = true, true, nil
	default:
		err = &Blocked{Err: err}
	}
	if inMemory {
		w.disk.spare.give(w.sharedLog, h)
	}
	return 0, more, err
}

// refuse turns an error of the store into one of the source when that has
// nothing to give: an end must be seen even on a full disk.
func (w *writer) refuse(src source, err error) error {
	if err == unix.EAGAIN || err == io.EOF {
		return err
	}
	if none := waits(src); none != nil {
		return none
	}
	var blocked *Blocked
	if errors.As(err, &blocked) || err == ErrPaused || err == ErrQuota || err == ErrClosed {
		return err
	}
	return &Blocked{Err: err}
}

// grew counts n bytes that are at the end of h now.
func (w *writer) grew(h *handle, n int64) {
	off := w.size
	w.mu.Lock()
	first := w.mem == nil && w.file == nil
	if first {
		w.mem = h.hold()
	}
	w.size += n
	if w.fenced != nil {
		w.hidden += n // until it was looked at
	}
	if w.mem != nil {
		w.memoryBytes += n
		w.disk.memory.Add(n)
	}
	w.mu.Unlock()
	if first {
		w.disk.memfds.Add(1)
	}
	w.note(off, n)
	w.hide(n)
	if w.plan.Durability == OSCrash {
		if w.synced == nil {
			w.synced = &synced{}
		}
		w.synced.behind += n
	}
	if w.mem != nil && w.outgrown() {
		_ = w.moveOut(dirRef{group: w.group}) // refused: the next step tries again, and tells
	}
}

// Seal says that no byte follows; a log is sealed even if an error is returned.
func (w *writer) Seal() error {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.sealed {
		return nil
	}
	return w.seal()
}

// end seals a log, if its writer has not.
func (b *sharedLog) end() error {
	b.writerMu.Lock()
	defer b.writerMu.Unlock()
	if b.writer == nil {
		return nil
	}
	return b.writer.seal()
}

// seal is called with turn.
func (w *writer) seal() error {
	var err error
	if w.mem != nil && w.outgrown() {
		_ = w.moveOut(dirRef{group: w.group}) // it stays in memory: nothing is lost
	}
	if w.plan.Durability != Memory {
		err = w.sync()
	}
	w.flushStaged()
	w.mendAtEnd()
	w.mu.Lock()
	w.sealed = true
	w.unveil()
	w.mu.Unlock()
	w.writer = nil
	if w.job != nil {
		w.disk.finish(w.job)
	}
	w.leave()
	return err
}
