package spill

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// Writer is a log's only writer. Its methods take turns; State never waits.
type Writer interface {
	// Splice moves what is in the pipe from into the log, at most max bytes, and
	// never waits: EAGAIN says that the pipe is empty, io.EOF that its last writer
	// is gone (EIO of a terminal too). ErrPaused and ErrQuota are the policies
	// Pause and Kill, said when bytes wait that have no room; ErrQuota comes once,
	// then the rest is dropped and counted, so that the pipe can be drained. A
	// *Blocked error says that the bytes stay in the pipe until the store has
	// room: retry. Bytes a policy drops count as moved. An error comes only with
	// 0 bytes; fewer than max says nothing about what is left, only EAGAIN does.
	Splice(from int, max int64) (int64, error)

	// Append adds p: for a backend whose bytes arrive by message, for the fake,
	// and where there is no splice. Fewer than len(p) bytes come with the error
	// that Splice would give.
	Append(p []byte) (int, error)

	// State is as Log's.
	State() State

	// Sync makes what was written safe from a crash of the machine.
	Sync() error

	// Seal says that no byte follows. Logs opened before and after see Closed.
	Seal() error
}

// Checker is a Writer that can look after its file: it notices a file that was
// deleted or truncated while the job was silent, and mends it; an os-crash log it
// syncs when that is due. Cheap; every few seconds is often enough, since Splice
// looks as well.
type Checker interface{ Check() error }

// StagingWriter is a Writer that may hold bytes between the pipe and the log: after it
// was Blocked, in a pipe of its own. Who drains a pipe by counting adds them.
type StagingWriter interface{ Held() int64 }

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

// Check looks after the file of a job that may be silent.
func (w *writer) Check() error {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.file == nil || w.sealed {
		return nil
	}
	w.mendAfter = 0
	h, err := w.live()
	if err != nil {
		return err
	}
	h.free()
	return w.syncInTime()
}

// Sync makes what was written safe from a crash of the machine; what is in
// memory becomes a file for it.
func (w *writer) Sync() error {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	return w.sync()
}

func (w *writer) sync() error {
	if w.mem != nil && !w.noFile {
		if err := w.moveOut(dirRef{group: w.group}); err != nil {
			return err
		}
	}
	h, _, err := w.acquire()
	if err != nil {
		return &Blocked{Err: err}
	}
	if h == nil {
		return nil
	}
	defer h.free()
	if err := w.disk.sys.Sync(h.fd); err != nil {
		return &Blocked{Err: err}
	}
	if w.synced != nil {
		*w.synced = synced{at: time.Now()}
	}
	return nil
}

// syncInTime syncs an os-crash log that has waited long enough.
func (w *writer) syncInTime() error {
	if w.synced == nil || w.synced.behind == 0 || w.synced.behind < syncEvery && time.Since(w.synced.at) < syncAfter {
		return nil
	}
	return w.sync()
}

// source is where the bytes of one call come from.
type source interface {
	// poll says whether bytes wait, or none will come any more.
	poll() (readable, ended bool, err error)
	// move writes at most max bytes at off: EAGAIN when none wait, io.EOF at the end.
	move(to *handle, off, max int64) (int64, error)
	// drop takes at most max bytes and keeps none.
	drop(max int64) (int64, error)
}

// piece is bytes in user memory.
type piece struct {
	sys Sys
	p   []byte
}

func (s *piece) poll() (readable, ended bool, err error) { return len(s.p) > 0, false, nil }

func (s *piece) move(to *handle, off, most int64) (int64, error) {
	n, err := s.sys.Pwrite(to.fd, s.p[:min(most, int64(len(s.p)))], off)
	n = max(n, 0)
	s.p = s.p[n:]
	if n > 0 {
		err = nil
	} else if err == nil {
		err = unix.ENOSPC
	}
	return int64(n), err
}

func (s *piece) drop(most int64) (int64, error) {
	n := min(most, int64(len(s.p)))
	s.p = s.p[n:]
	return n, nil
}
