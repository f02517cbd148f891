package engine

import "time"

// drainQuickly empties the pipe in the reaper's goroutine, if that takes no
// time. It reports whether the pipe was found empty or ended.
func (s *stream) drainQuickly() (done bool) {
	if s.sealed.Load() {
		return true
	}
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if s.total >= quickLogSize || s.blocked.Load() != nil {
		return false
	}
	err := s.conn.Control(func(fd uintptr) {
		for range quickMoves {
			if v, _ := s.splice(int(fd), smallPipe); v != more {
				done = v == empty || v == ended
				return
			}
		}
	})
	return err == nil && done // what it said is told with the result
}

// drain moves what the pipe held when it was called: no byte that the main
// process wrote is in it afterwards (I6). What other processes write then is
// the pump's. It reports whether that could be done before expired.
func (s *stream) drain(expired <-chan struct{}) bool {
	target := s.target()
	pause := retryFirst
	for {
		v := s.step()
		switch {
		case v == ended || v == empty:
			return true
		case v == capped:
			return false
		case v == more && s.reached(target):
			s.step() // it shows whether anybody is left to write
			return true
		case v == blocked:
			t := time.NewTimer(pause)
			pause = min(2*pause, retryLast)
			select {
			case <-t.C:
			case <-expired:
				t.Stop()
				return false
			case <-s.job.e.done:
				t.Stop()
				return false
			}
		}
	}
}

// step is one move by somebody who is not the pump.
func (s *stream) step() verdict {
	v := ended
	err := s.conn.Control(func(fd uintptr) { v = s.move(int(fd), moveLimit) })
	if err != nil {
		return ended // closed: the pump has seen the end
	}
	return v
}

// target is the size of what will have been moved when the pipe, as it is now,
// has been emptied.
func (s *stream) target() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.total
	_ = s.conn.Control(func(fd uintptr) {
		if n, err := s.job.e.opt.Sys.Unread(int(fd)); err == nil {
			target += int64(n)
		} else {
			target += largePipe // what a pipe can hold
		}
	})
	return target
}

func (s *stream) reached(target int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total >= target
}

// sync makes what was written safe from a crash of the machine.
func (s *stream) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed.Load() {
		return nil // Seal did it
	}
	return s.log.Sync()
}

// abandonIfHung ends a log that takes no more, by its policy, when nobody is
// left who writes to it: what is still in the pipe has no place.
func (s *stream) abandonIfHung() {
	if s.sealed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.Control(func(fd uintptr) {
		if v, _ := s.splice(int(fd), smallPipe); v != capped {
			return
		}
		if hung, err := s.job.e.opt.Sys.Hung(int(fd)); err == nil && hung {
			s.seal()
		}
	})
}
