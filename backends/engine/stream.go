package engine

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
	"troupe/spill"
)

// stream is one output of a job: a pipe, or the master of a terminal, and its log.
// Quiet streams share one goroutine; a busy stream has its own (pump). At the exit
// another goroutine helps to drain it.
type stream struct {
	job      *job
	which    messages.Stream
	terminal bool // an end may not be final: see mayReturn
	durable  bool // the log is synced, which takes long
	large    bool // the pipe was enlarged; guarded by mu

	sealed     atomic.Bool
	pumpFailed atomic.Bool // no goroutine waits for the pipe, which has not ended
	ended      signal      // closed when the log is sealed
	blocked    atomic.Pointer[messages.LogBlocked]

	end    readEnd // closed by the goroutine that waits for it, except at the engine's end or on a terminal
	tag    uint64  // among the quiet streams; guarded by the pollset
	events int     // in the shared goroutine since the time below
	since  time.Time
	wake   signal // a pause has ended

	reader  *stream                // the shell's stream that reads for a command on a terminal; nil: the stream has its own end
	current atomic.Pointer[stream] // the command's stream that gets output now; set with mu
	seen    *stream                // current at the last event, in the shared goroutine
	moves   chan struct{}          // a command's stream got output; capacity 1

	mu    sync.Mutex // held by one copier at a time
	log   spill.Writer
	total int64 // bytes copied
	full  int   // times the pipe was full
}

// verdict says why a copy ended.
type verdict uint8

const (
	more    verdict = iota // there may be more
	empty                  // the pipe is empty
	held                   // capture is paused by a control
	capped                 // the log takes no more, by its policy
	blocked                // the store is full now
	ended                  // the last writer has closed the pipe; the log is sealed
)

const (
	// moveLimit is how much one splice may take: a large pipe at most.
	moveLimit = largePipe
	// A job that fills its pipe chattyFrom times gets a large one. The default costs
	// throughput, but keeps 10,000 quiet jobs cheap.
	largePipe    = 1 << 20
	smallPipe    = 64 << 10
	chattyFrom   = 4
	quickMoves   = 4       // at a time, in a goroutine that serves all jobs
	quickLogSize = 1 << 20 // above it a log may be slow
	retryFirst   = 100 * time.Millisecond
	retryLast    = 2 * time.Second
)

func newStream(j *job, which messages.Stream, end int, log spill.Writer) *stream {
	return &stream{
		job: j, which: which, end: readEnd{sys: j.engine.opt.Sys, fd: end}, log: log,
		since: time.Now(),
	}
}

// handOver gives the stream its own goroutine, for good.
func (s *stream) handOver() { s.job.engine.run(s.job, s.pump) }

// pump copies output into the log until the last writer is gone. Then it closes the
// pipe and seals the log.
func (s *stream) pump() {
	s.carefully(func() {
		calmed := false
		s.end.wait(s.which.String(), func(conn syscall.RawConn) { calmed = s.pumpAll(conn) })
		if !calmed && s.pumpUnwatched() {
			s.finish()
		}
	})
}

// carefully calls do, which may panic. The pipe stays open then, and the drain reads
// it. If the job has ended or was dismissed, carefully closes the pipe.
func (s *stream) carefully(do func()) {
	done := false
	defer func() {
		if done {
			return
		}
		s.detachShared()
		s.pumpFailed.Store(true)
		if s.sealed.Load() || s.end.closed() {
			s.finish()
		}
	}()
	do()
	done = true
}

// finish closes the pipe and seals the log.
func (s *stream) finish() {
	s.end.close()
	s.sealOnce()
	s.job.update(func() {})
}

// dismiss seals the log, even if it has writers.
func (s *stream) dismiss() {
	s.end.close() // its pump seals the log, if there is one
	if s.detachShared() || s.pumpFailed.Load() {
		s.job.engine.run(s.job, s.finish)
	}
}

// pumpAll copies until the end. It returns true if the stream has become quiet again:
// another command was the busy one.
func (s *stream) pumpAll(conn syscall.RawConn) (calmed bool) {
	pause := retryFirst
	var last verdict
	part := s.current.Load()
	try := func(fd uintptr) bool {
		last = s.moveAll(int(fd))
		if now := s.current.Load(); last == empty && now != part {
			part, calmed = now, s.attachShared()
		}
		return last != empty || calmed
	}
	for {
		if err := conn.Read(try); err != nil || last == ended || calmed {
			return calmed
		}
		switch last {
		case held, capped:
			s.sleep(nil)
		case blocked:
			s.nap(pause)
			pause = min(2*pause, retryLast)
			continue
		}
		pause = retryFirst
	}
}

// pumpUnwatched copies by polling where the kernel cannot watch the pipe
// (fs.epoll.max_user_watches). It returns false when the pipe can be watched with the
// quiet ones, true at the end.
func (s *stream) pumpUnwatched() (done bool) {
	pause, seen := retryFirst, s.moved()
	for !s.sealed.Load() {
		last := empty
		if !s.end.use(func(fd int) { last = s.moveAll(fd) }) || s.job.engine.over() {
			break
		}
		if now := s.moved(); now > seen {
			pause, seen = retryFirst, now
		}
		switch {
		case last == held || last == capped:
			s.sleep(nil)
		case last == empty && s.attachShared():
			return false
		case last != ended:
			s.nap(pause)
			pause = min(2*pause, retryLast)
		}
	}
	return true
}

// moveAll copies what is there.
func (s *stream) moveAll(fd int) verdict {
	for {
		if s.held() && !s.sealed.Load() {
			return held
		}
		if v := s.move(fd, moveLimit); v != more {
			return v
		}
	}
}

// move copies once and delivers the facts.
func (s *stream) move(fd int, limit int64) verdict {
	v, grown := s.turn(fd, limit)
	grown.tell()
	return v
}

func (s *stream) turn(fd int, limit int64) (v verdict, grown *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.splice(fd, limit)
}

// splice copies once. The caller holds mu, and delivers the facts of grown.
func (s *stream) splice(fd int, limit int64) (v verdict, grown *stream) {
	if s.sealed.Load() {
		return ended, nil
	}
	to := s.owner()
	if err := s.job.engine.opt.at(pointPump); err != nil {
		return to.refused(err), to
	}
	n, err := to.log.Splice(fd, limit)
	if errors.Is(err, io.EOF) && s.terminal && !s.mayReturn() {
		n, err = to.log.Splice(fd, limit) // see terminal_drain.go
	}
	if n > 0 {
		s.total += n
		if grew := to.grew(n); to.unblock() || grew {
			grown = to
		}
		s.widen(fd, n)
	}
	switch {
	case err == nil && n > 0:
		return more, grown
	case err == nil, errors.Is(err, unix.EAGAIN):
		return empty, grown
	case errors.Is(err, io.EOF) && s.mayReturn():
		return empty, grown
	case errors.Is(err, io.EOF):
		s.seal()
		return ended, grown
	case errors.Is(err, spill.ErrPaused):
		to.refused(err) // the job waits for room that never comes: report it
		return capped, to
	case errors.Is(err, spill.ErrQuota):
		to.job.stop(messages.Cause{By: messages.ByQuota, Reason: "its output reached its quota"}, to.job.postFork.grace)
		return more, grown
	}
	return to.refused(err), to
}

// seal ends the log. The caller holds mu.
func (s *stream) seal() {
	if s.sealed.Load() {
		return
	}
	s.endPart()
	if err := s.log.Seal(); err != nil {
		s.job.fault(err)
	}
	s.tellFlags()
	s.sealed.Store(true)
	close(s.ended.channel())
	s.resume() // a pump that pauses has to close the pipe
}

// tellFlags reports changes of the log's file by other processes. The caller holds mu.
func (s *stream) tellFlags() {
	flags := s.log.State().Flags
	for _, f := range []struct {
		is   spill.Flags
		flag messages.Flag
	}{{spill.Tampered, messages.FlagLogTampered}, {spill.Unlinked, messages.FlagLogUnlinked}} {
		if flags&f.is == 0 {
			continue
		}
		s.job.mu.Lock()
		s.job.flag(f.flag)
		s.job.mu.Unlock()
		s.job.enqueue(messages.LogFlagged{Stream: s.which, Flag: f.flag})
	}
}

func (s *stream) sealOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seal()
}

// refused reports, once, that the store takes nothing now. The caller holds mu.
func (s *stream) refused(err error) verdict {
	if s.blocked.Load() == nil {
		b := messages.LogBlocked{Stream: s.which, Blocked: true, Message: err.Error()}
		s.blocked.Store(&b)
		s.job.mu.Lock()
		s.job.flag(messages.FlagLogBlocked)
		s.job.mu.Unlock()
		s.job.enqueue(b)
	}
	return blocked
}

// unblock reports that the store takes bytes again. The caller holds mu.
func (s *stream) unblock() bool {
	if s.blocked.Load() == nil {
		return false
	}
	s.blocked.Store(nil)
	s.job.idle.proceed()
	s.job.enqueue(messages.LogBlocked{Stream: s.which})
	return true
}

// blockedFact returns whether the log is blocked, as a fact.
func (s *stream) blockedFact() messages.LogBlocked {
	if b := s.blocked.Load(); b != nil {
		return *b
	}
	return messages.LogBlocked{Stream: s.which}
}

// widen enlarges the pipe of a busy job. A user over the limit of such pipes keeps the
// small one. The caller holds mu.
func (s *stream) widen(fd int, n int64) {
	if s.large || n < smallPipe/2 {
		return
	}
	if s.full++; s.full >= chattyFrom {
		s.large = true
		_ = s.job.engine.opt.Sys.SetPipeSize(fd, largePipe) // EPERM, EBUSY: it stays as it is
	}
}

// moved returns the number of bytes copied.
func (s *stream) moved() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// resume wakes a paused pump.
func (s *stream) resume() {
	if s.reader != nil {
		s = s.reader
	}
	select {
	case s.wake.channel() <- struct{}{}:
	default:
	}
}

// sleep waits until the pump is woken, due fires or the engine ends.
func (s *stream) sleep(due <-chan time.Time) {
	select {
	case <-s.wake.channel():
	case <-due:
	case <-s.job.engine.done:
	}
}

func (s *stream) nap(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	s.sleep(t.C)
}

// signal is a channel of capacity 1 that is made on first use: most streams are never
// paused, and no goroutine waits for their end. The zero value is ready.
type signal struct{ made atomic.Pointer[chan struct{}] }

func (s *signal) channel() chan struct{} {
	if c := s.made.Load(); c != nil {
		return *c
	}
	c := make(chan struct{}, 1)
	s.made.CompareAndSwap(nil, &c)
	return *s.made.Load()
}
