package engine

import "time"

// The end of what is read from a terminal (EIO) is no more than that nobody has it
// open: the job may open it again, by its name, and closing the master would hang up on
// it. Only behind the exit of the main process, whose session the terminal is, it is
// the end of the output. Even there the read that meets it may have found nothing,
// then been held up while the job wrote its last and exited: the kernel looks for
// bytes first, and for the end then. The next read finds them, for nobody is left who
// writes.

const (
	// hangupLook is how long after a look that found nothing there is another, and
	// hangupBound for how long a result waits for that: the kernel hands on what
	// was written in a thread of its own.
	hangupLook  = 5 * time.Millisecond
	hangupBound = 250 * time.Millisecond
	// hangupHeld is more than a terminal holds: behind so much nothing is left of what
	// it held before, whoever goes on writing.
	hangupHeld = 64 << 10
)

// mayReturn reports whether an end may be none.
func (s *stream) mayReturn() bool {
	if !s.terminal || s.end.closed() {
		return false
	}
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return s.job.phase < phaseExited
}

// drainTerminal moves what the terminal held when it was called, as drain does.
func (s *stream) drainTerminal(expired <-chan struct{}) (drained bool) {
	defer s.hangUp()
	target := s.moved() + hangupHeld
	bound := time.NewTimer(hangupBound)
	defer bound.Stop()
	looks, late := 0, false
	for pause := retryFirst; ; {
		switch v := s.step(); {
		case v == ended:
			return true
		case v == capped:
			return false
		case v == blocked:
			if !s.await(pause, expired) {
				return false
			}
			pause = min(2*pause, retryLast)
			continue
		case s.moved() >= target:
			return true
		case v == empty:
			if looks++; looks == 2 || late {
				return true
			}
			if !s.await(hangupLook, expired) {
				late = true
			}
		default:
			looks = 0 // something came between
		}
		select {
		case <-bound.C:
			late = true
		default:
		}
	}
}

// await waits for a while, and reports false if that was cut short.
func (s *stream) await(d time.Duration, expired <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-expired:
	case <-s.job.engine.done:
	}
	return false
}

// hangUp closes a terminal whose output has ended: no event may tell of that any more.
func (s *stream) hangUp() {
	if s.terminal && s.sealed.Load() {
		s.detachShared()
		s.end.close()
	}
}
