package spill

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// Writer is the only writer of a log. Its methods may be called concurrently and run
// one after the other; State never waits.
type Writer interface {
	// Splice moves at most max bytes from the pipe from into the log, without waiting.
	// EAGAIN: the pipe is empty. io.EOF: its last writer has closed it (EIO of a
	// terminal too). *Blocked: the bytes stay in the pipe until the store has room;
	// retry. ErrPaused and ErrQuota come from the policies Pause and Kill, when bytes
	// wait that have no room. ErrQuota comes once; after it bytes are dropped and
	// counted, so that the pipe can be drained. Dropped bytes count as moved. An error
	// comes only with 0 bytes. After fewer than max bytes the pipe may have more; only
	// EAGAIN says that it is empty.
	Splice(from int, max int64) (int64, error)

	// Append adds p, for a backend whose bytes arrive in messages, for the fake, and
	// where there is no splice. Fewer than len(p) bytes come with the error that Splice
	// would return.
	Append(p []byte) (int, error)

	// State is the same as for a Log.
	State() State

	// Sync makes all written bytes survive a crash of the machine.
	Sync() error

	// Seal ends the log: no byte follows. All its readers see Closed.
	Seal() error
}

// Checker is a Writer that maintains its file while the job is silent. Check detects
// and repairs a file that was deleted or truncated, and syncs an os-crash log that is
// due. It is cheap. Splice checks too, so a call every few seconds is enough.
type Checker interface{ Check() error }

// StagingWriter is a Writer that may hold bytes that have left the pipe and are not in
// the log yet, such as after a *Blocked error. Held returns their number. A caller that
// counts drained bytes adds them.
type StagingWriter interface{ Held() int64 }

// writer is a Writer. writerMu guards its fields.
type writer struct {
	*sharedLog
	order *order        // nil for a merged stream
	times *arrivalTimes // nil for separate streams

	elided  int64        // end of the elided range, which begins at plan.head()
	punched int64        // end of its part that is freed
	pump    *pump        // nil unless splice does not work
	staging *stagingPipe // nil unless it has bytes for the file

	repairing   *fileRepair // nil unless a repair is running
	repairAfter int64       // log size at which a failed repair is tried again

	fenced    *fenceState // nil if no fence ends the log
	tailMoved int64       // bytes after the fence that another log has
	synced    *synced     // nil until an os-crash log has bytes

	keepHead      bool // the file system cannot free bytes, so Elide acts as KeepHead
	probed        bool // the file system can free bytes
	quotaReported bool // ErrQuota was returned
	noMemory      bool // memory failed: use a file
	noFile        bool // the log can have no file
	flows         bool // the job writes faster than the file takes it
	terminal      bool // the source is a terminal
}

// An os-crash log is synced after syncEvery bytes or after the time syncAfter.
const (
	syncEvery = 1 << 20
	syncAfter = time.Second
)

// synced is the sync state of an os-crash log.
type synced struct {
	unsynced int64     // bytes that are not synced
	at       time.Time // last sync
}

// A writer implements the optional interfaces of a Writer.
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

// policy returns the policy of the plan, or the one that replaces it.
func (w *writer) policy() Policy {
	switch {
	case w.keepHead:
		return KeepHead
	case w.noFile && w.plan.Policy != KeepHead: // noFileQuota must not pause or stop a job
		return Elide
	}
	return w.plan.Policy
}

// note records that n bytes arrived at off.
func (w *writer) note(off, n int64) {
	switch {
	case w.order != nil:
		w.order.note(w.stream, off, n)
	case w.times != nil:
		w.times.note(off, n)
	}
}

// Splice uses read and write where the kernel does not splice.
func (w *writer) Splice(from int, most int64) (int64, error) {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	n, err := w.fill(&pipeEnd{w: w, fd: from}, most)
	if n > 0 {
		err = nil // the next call returns it again
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
	n, err := w.fill(&memorySource{sys: w.disk.sys, p: p}, int64(len(p)))
	w.quotaReported = w.quotaReported || err == ErrQuota
	return int(n), err
}

// fill takes bytes from src until src is empty, most bytes are taken, or an error stops
// it.
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
		if err != nil && moved == 0 && w.makesRoom(err) {
			continue
		}
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
	n, err = src.move(h, w.size-w.base, room)
	switch {
	case n > 0:
		w.grew(h, n)
		w.truncatedBefore(h)
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

// refuse returns the error of an empty source instead of a store's: the end of a pipe
// must be visible even if the disk is full.
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

// grew counts n bytes that were written at the end of h.
func (w *writer) grew(h *handle, n int64) {
	off := w.size
	w.mu.Lock()
	first := w.mem == nil && w.file == nil
	if first {
		w.mem = h.hold()
	}
	w.size += n
	if w.fenced != nil {
		w.hidden += n // until hide has searched them
	}
	if w.mem != nil {
		w.memoryBytes += n
		w.disk.memory.Add(n)
	}
	w.mu.Unlock()
	if first {
		w.disk.memfds.Add(1)
	}
	if w.file != nil && !w.named() {
		w.disk.wrote(n)
	}
	w.note(off, n)
	w.hide()
	if w.plan.Durability == OSCrash {
		if w.synced == nil {
			w.synced = &synced{}
		}
		w.synced.unsynced += n
	}
	if w.mem != nil && w.outgrown() {
		_ = w.spillTo(dirRef{group: w.group}) // the next step tries again and returns the error
	}
}

// Seal seals the log even if it returns an error.
func (w *writer) Seal() error {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.sealed {
		return nil
	}
	return w.seal()
}

// end seals a log that its writer has not sealed.
func (b *sharedLog) end() error {
	b.writerMu.Lock()
	defer b.writerMu.Unlock()
	if b.writer == nil {
		return nil
	}
	return b.writer.seal()
}

// seal makes what is written durable as planned and ends the log. The caller holds
// writerMu.
func (w *writer) seal() error {
	var err error
	if w.mem != nil && w.outgrown() {
		_ = w.spillTo(dirRef{group: w.group}) // on failure the bytes stay in memory
	}
	if w.plan.Durability != Memory {
		err = w.sync()
	}
	w.flushStaged()
	w.repairAtEnd()
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

// Check implements Checker.
func (w *writer) Check() error {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	if w.file == nil || w.sealed {
		return nil
	}
	w.repairAfter = 0
	h, err := w.live()
	if err != nil {
		return err
	}
	h.free()
	return w.syncInTime()
}

// Sync moves bytes from memory into a file first.
func (w *writer) Sync() error {
	w.writerMu.Lock()
	defer w.writerMu.Unlock()
	return w.sync()
}

func (w *writer) sync() error {
	if w.mem != nil && !w.noFile {
		if err := w.spillTo(dirRef{group: w.group}); err != nil {
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

// syncInTime syncs an os-crash log that is due.
func (w *writer) syncInTime() error {
	if w.synced == nil || w.synced.unsynced == 0 || w.synced.unsynced < syncEvery && time.Since(w.synced.at) < syncAfter {
		return nil
	}
	return w.sync()
}

// source is where the bytes of one call come from.
type source interface {
	// poll reports whether bytes wait, or none will follow.
	poll() (readable, ended bool, err error)
	// move writes at most max bytes at off. It returns EAGAIN if none wait, io.EOF at
	// the end.
	move(to *handle, off, max int64) (int64, error)
	// drop takes at most max bytes and discards them.
	drop(max int64) (int64, error)
}

// memorySource is a source: bytes in user memory.
type memorySource struct {
	sys Sys
	p   []byte
}

func (s *memorySource) poll() (readable, ended bool, err error) { return len(s.p) > 0, false, nil }

func (s *memorySource) move(to *handle, off, most int64) (int64, error) {
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

func (s *memorySource) drop(most int64) (int64, error) {
	n := min(most, int64(len(s.p)))
	s.p = s.p[n:]
	return n, nil
}
