package engine

import "time"

// A stream that is looked after more often than this in the goroutine that all
// quiet ones share is not quiet, however little it says at a time, and may take
// the time of its own goroutine only. Sixty lines a second are quiet.
const (
	quietEvents = 4096
	quietSpan   = time.Minute
)

// begin has the output moved from now on. A stream costs nothing while it is
// quiet: one goroutine waits for all that are. One whose log is synced has its
// own from the start.
func (s *stream) begin() {
	if s.reader == nil && !s.attachShared() {
		s.handOver()
	}
}

// attachShared gives the stream to the common goroutine, if that can have it.
func (s *stream) attachShared() bool { return !s.durable && s.job.engine.host.pollset.attend(s) == nil }

// ready takes what has come, in the common goroutine. A fault of one stream is
// none of the others'.
func (s *stream) ready() {
	defer s.job.guard()
	s.carefully(s.moveShared)
}

// moveShared moves little, into a log that is not slow. For all else the stream gets a
// goroutine of its own, and keeps it.
func (s *stream) moveShared() {
	v := held
	var grown *stream
	if s.isQuiet() && !s.held() || s.sealed.Load() {
		v, grown = s.moveQuickly()
	}
	switch {
	case v == empty:
	case !s.detachShared(): // somebody else takes care of it
	case v == ended:
		s.finish()
	default:
		s.job.engine.host.pollset.remove(&s.end)
		s.handOver()
	}
	grown.tell()
}

// isQuiet counts an event. The clock is read when there were many.
func (s *stream) isQuiet() bool {
	if part := s.current.Load(); part != s.seen { // each command may begin anew
		s.seen, s.events, s.since = part, 0, time.Now()
	}
	if s.events++; s.events <= quietEvents {
		return true
	}
	now := time.Now()
	quiet := now.Sub(s.since) > quietSpan
	if quiet {
		s.events, s.since = 1, now
	}
	return quiet
}

// detachShared takes the stream from the common goroutine. It reports whether it was
// there: who took it decides what becomes of it.
func (s *stream) detachShared() bool { return s.job.engine.host.pollset.leave(s) }
