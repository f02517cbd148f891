package engine

// drainQuickly empties the pipe in the reaper's goroutine, if that takes no time. It
// reports whether the pipe was empty or ended. A terminal may only seem empty.
func (s *stream) drainQuickly() (done bool) {
	v, _ := s.moveQuickly() // its facts are delivered with the result
	s.hangUp()
	return v == ended || v == empty && !s.terminal
}

// moveQuickly copies output in a goroutine that serves all jobs, as far as that takes
// no time. If more remains, the verdict is neither empty nor ended.
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

// slow reports whether copying into the log may take a while. The caller holds mu.
func (s *stream) slow() bool {
	return s.durable || s.total >= quickLogSize || s.blocked.Load() != nil
}

// drain copies what the pipe held at the call, which includes all that the main process
// wrote. It reports whether that was done before expired. The pump copies later output.
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
			s.step() // it shows whether a writer is left
			return true
		case v == blocked:
			if !s.await(pause, expired) {
				return false
			}
			pause = min(2*pause, retryLast)
		}
	}
}

// step makes one copy outside the pump.
func (s *stream) step() verdict {
	v := ended // a closed pipe has ended
	s.end.use(func(fd int) { v = s.move(fd, moveLimit) })
	return v
}

// target returns the total size after the pipe, as it is now, was copied.
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

// sync syncs the log to the disk.
func (s *stream) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed.Load() {
		return nil // Seal did it
	}
	return s.log.Sync()
}

// abandonIfHung seals a log that takes no more, by its policy or after a fault, when no
// writer is left. The rest of the pipe is lost.
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

// lastMove copies once and treats a panic as capped. The caller holds mu.
func (s *stream) lastMove(fd int) (v verdict) {
	v = capped
	defer s.job.guard()
	v, _ = s.splice(fd, smallPipe)
	return v
}
