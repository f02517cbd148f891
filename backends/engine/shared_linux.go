package engine

import "time"

// A stream with more events than this in the shared goroutine is not quiet, and gets its own
// goroutine. Sixty lines a second are quiet.
const (
	quietEvents = 4096
	quietSpan   = time.Minute
)

// begin starts copying output. Idle streams share one goroutine; a synced log gets its
// own.
func (s *stream) begin() {
	if s.reader == nil && !s.attachShared() {
		s.handOver()
	}
}

// attachShared gives the stream to the shared goroutine, if possible.
func (s *stream) attachShared() bool { return !s.durable && s.job.engine.host.pollset.attend(s) == nil }

// ready copies new output, in the shared goroutine. A fault affects this stream only.
func (s *stream) ready() {
	defer s.job.guard()
	s.carefully(s.moveShared)
}

// moveShared copies a little into a fast log. Otherwise the stream gets its own
// goroutine for good.
func (s *stream) moveShared() {
	v := held
	var grown *stream
	if s.isQuiet() && !s.held() || s.sealed.Load() {
		v, grown = s.moveQuickly()
	}
	switch {
	case v == empty:
	case !s.detachShared(): // another goroutine has taken it
	case v == ended:
		s.finish()
	default:
		s.job.engine.host.pollset.remove(&s.end)
		s.handOver()
	}
	grown.tell()
}

// isQuiet counts an event. It reads the clock only after many.
func (s *stream) isQuiet() bool {
	if part := s.current.Load(); part != s.seen { // the count starts again for each command
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

// detachShared takes the stream from the shared goroutine, and reports whether it did:
// that caller decides what follows.
func (s *stream) detachShared() bool { return s.job.engine.host.pollset.leave(s) }
