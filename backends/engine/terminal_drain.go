package engine

import "time"

// EIO from the master only means that no process has the terminal open. The job may open it
// again by name, and closing the master would hang it up. Only after the exit of the main
// process, which leads the terminal's process session, EIO is the end of the output.
//
// Even then the kernel checks for bytes before it checks for the end, and the job may have
// written and exited between. A second read finds those bytes, since no writer is left.

const (
	// hangupLook is the pause before a second read after an empty one, and hangupBound how
	// long a result waits for that: a kernel thread passes output on.
	hangupLook  = 5 * time.Millisecond
	hangupBound = 250 * time.Millisecond
	// hangupHeld is more than a terminal holds, in bytes: after so much nothing older is left.
	hangupHeld = 64 << 10
)

// mayReturn reports whether an end may not be final.
func (s *stream) mayReturn() bool {
	if !s.terminal || s.end.closed() {
		return false
	}
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return s.job.phase < phaseExited
}

// drainTerminal copies what the terminal held at the call, as drain does.
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
			looks = 0 // output came between
		}
		select {
		case <-bound.C:
			late = true
		default:
		}
	}
}

// await waits for d, and returns false if that was cut short.
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

// hangUp closes a terminal whose output has ended: it may get no more events.
func (s *stream) hangUp() {
	if s.terminal && s.sealed.Load() {
		s.detachShared()
		s.end.close()
	}
}
