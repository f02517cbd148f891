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
// While it is quiet a goroutine that serves all such streams waits for the pipe; as soon as it is
// not, one of its own does (pump). At the exit another helps to empty it.
type stream struct {
	job      *job
	which    messages.Stream
	terminal bool // its end may be none: see mayReturn
	durable  bool // its log is synced, which takes long
	large    bool // the pipe was made large; guarded by mu

	sealed     atomic.Bool
	pumpFailed atomic.Bool // nobody waits for the pipe any more, and it did not end
	ended      signal      // closed when it is sealed
	blocked    atomic.Pointer[messages.LogBlocked]

	end    readEnd // closed by who waits for the pipe, but at the end of the engine, and of a terminal
	tag    uint64  // among the quiet streams; guarded by the pollset
	events int     // since then; the common goroutine's
	since  time.Time
	wake   signal // the reason of a pause is gone

	reader  *stream                // who reads for it: it is of a command in a live shell on a terminal; nil: it has its own end
	current atomic.Pointer[stream] // of the command whose output comes now; set with mu
	seen    *stream                // the part at the last event; the common goroutine's
	moves   chan struct{}          // a part got something; capacity 1

	mu    sync.Mutex // one mover at a time
	log   spill.Writer
	total int64 // bytes moved
	full  int   // times the pipe was found full
}

// verdict is why a move ended.
type verdict uint8

const (
	more    verdict = iota // there may be more
	empty                  // nothing is in the pipe
	held                   // capture is paused by a control
	capped                 // the log takes no more, by its policy
	blocked                // the store has no room now
	ended                  // the last writer is gone; the log is sealed
)

const (
	// moveLimit is how much one splice may take: a large pipe at most.
	moveLimit = largePipe
	// A job that fills its pipe again and again gets a large one: the default
	// costs throughput, and 10,000 silent jobs must cost nothing.
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

// handOver gives the stream a goroutine of its own, for good.
func (s *stream) handOver() { s.job.engine.run(s.job, s.pump) }

// pump moves output into the log until the last writer is gone, then closes
// the pipe and seals the log.
func (s *stream) pump() {
	s.carefully(func() {
		calmed := false
		s.end.wait(s.which.String(), func(conn syscall.RawConn) { calmed = s.pumpAll(conn) })
		if !calmed && s.pumpUnwatched() {
			s.finish()
		}
	})
}

// carefully does what may panic. The pipe stays open then: the job waits, and
// the drain reads it. But the pipe of a job that is over, or that the engine has
// let go of, is nobody else's to close.
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

// dismiss has the log sealed, whoever may write still.
func (s *stream) dismiss() {
	s.end.close() // its pump seals the log, if there is one
	if s.detachShared() || s.pumpFailed.Load() {
		s.job.engine.run(s.job, s.finish)
	}
}

// pumpAll reports whether the stream is with the quiet ones again: it was another command
// that was not.
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

// pumpUnwatched goes on where the netpoller does not: with a pipe that the kernel
// would not watch (fs.epoll.max_user_watches), of which no event is to be had. It
// looks, ever more seldom, until the pipe can be watched with the quiet ones, of
// which it reports false, or has ended.
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

// moveAll moves what is there.
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

// move is one splice and what follows from it.
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

// splice is move with mu held; somebody is to be told of what has grown.
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
		n, err = to.log.Splice(fd, limit) // see hangup.go
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
		to.refused(err) // the job waits for room that never comes: that has to be known
		return capped, to
	case errors.Is(err, spill.ErrQuota):
		to.job.stop(messages.Cause{By: messages.ByQuota, Reason: "its output reached its quota"}, to.job.postFork.grace)
		return more, grown
	}
	return to.refused(err), to
}

// seal ends the log. Called with mu.
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

// tellFlags says what befell the file of the log, from outside. Called with mu.
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

// refused tells once that the store takes nothing now. Called with mu.
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

// unblock tells that the store takes bytes again. Called with mu.
func (s *stream) unblock() bool {
	if s.blocked.Load() == nil {
		return false
	}
	s.blocked.Store(nil)
	s.job.enqueue(messages.LogBlocked{Stream: s.which})
	return true
}

// blockedFact is how the stream stands.
func (s *stream) blockedFact() messages.LogBlocked {
	if b := s.blocked.Load(); b != nil {
		return *b
	}
	return messages.LogBlocked{Stream: s.which}
}

// widen makes the pipe of a chatty job large; a user who may have no more such
// pipes keeps the small one. Called with mu.
func (s *stream) widen(fd int, n int64) {
	if s.large || n < smallPipe/2 {
		return
	}
	if s.full++; s.full >= chattyFrom {
		s.large = true
		_ = s.job.engine.opt.Sys.SetPipeSize(fd, largePipe) // EPERM, EBUSY: it stays as it is
	}
}

// moved is how much has been moved.
func (s *stream) moved() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// resume wakes a pump that pauses.
func (s *stream) resume() {
	if s.reader != nil {
		s = s.reader
	}
	select {
	case s.wake.channel() <- struct{}{}:
	default:
	}
}

// sleep waits until the pump is woken, the time has come or the engine ends.
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
