package engine

// drainQuickly empties the pipe in the reaper's goroutine, if that takes no
// time. It reports whether the pipe was found empty or ended. A terminal that seems
// to be empty may not be.
func (s *stream) drainQuickly() (done bool) {
	v, _ := s.moveQuickly() // what it said is told with the result
	s.hangUp()
	return v == ended || v == empty && !s.terminal
}

// moveQuickly moves what is in the pipe in a goroutine that serves all jobs: as
// far as that takes no time. If more is to be done than that, the verdict is
// neither empty nor ended.
func (s *stream) moveQuickly() (v verdict, grown *stream) {
	if s.sealed.Load() {
		return ended, nil
	}
	if s.durable || !s.mu.TryLock() {
		return more, nil
	}
	defer s.mu.Unlock()
	if to := s.owner(); to.slow() {
		return more, nil
	}
	s.end.use(func(fd int) {
		for range quickMoves {
			var said *stream
			if v, said = s.splice(fd, smallPipe); said != nil {
				grown = said
			}
			if v != more {
				return
			}
		}
	})
	return v, grown
}

// slow reports whether it may take a while to move something into the log. Called with mu.
func (s *stream) slow() bool {
	return s.durable || s.total >= quickLogSize || s.blocked.Load() != nil
}

// drain moves what the pipe held when it was called: no byte that the main
// process wrote is in it afterwards. What other processes write then is
// the pump's. It reports whether that could be done before expired.
func (s *stream) drain(expired <-chan struct{}) bool {
	if s.terminal {
		return s.drainTerminal(expired)
	}
	target := s.target()
	pause := retryFirst
	for {
		v := s.step()
		switch {
		case v == ended || v == empty:
			return true
		case v == capped:
			return false
		case v == more && s.moved() >= target:
			s.step() // it shows whether anybody is left to write
			return true
		case v == blocked:
			if !s.await(pause, expired) {
				return false
			}
			pause = min(2*pause, retryLast)
		}
	}
}

// step is one move by somebody who is not the pump.
func (s *stream) step() verdict {
	v := ended // if it is closed its end was seen
	s.end.use(func(fd int) { v = s.move(fd, moveLimit) })
	return v
}

// target is the size of what will have been moved when the pipe, as it is now,
// has been emptied.
func (s *stream) target() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.total
	s.end.use(func(fd int) {
		if n, err := s.job.engine.opt.Sys.BytesReadable(fd); err == nil {
			target += int64(n)
		} else {
			target += largePipe // what a pipe can hold
		}
	})
	return target
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

// abandonIfHung ends a log that takes no more, by its policy or for a fault of its
// own, when nobody is left who writes to it: what is still in the pipe has no
// place.
func (s *stream) abandonIfHung() {
	if s.sealed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end.use(func(fd int) {
		if s.lastMove(fd) != capped {
			return
		}
		if hung, err := s.job.engine.opt.Sys.HungUp(fd); err == nil && hung {
			s.seal()
		}
	})
}

// lastMove is a move that may fail in any way. Called with mu.
func (s *stream) lastMove(fd int) (v verdict) {
	v = capped
	defer s.job.guard()
	v, _ = s.splice(fd, smallPipe)
	return v
}
