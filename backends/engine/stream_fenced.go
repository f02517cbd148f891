package engine

import (
	"troupe/messages"
	"troupe/spill"
)

// A terminal has one output for all its writers. Output of a live shell's terminal during a
// command belongs to the command, up to the fence that the shell writes after it. All else is
// the shell's own.

// newFencedStream returns the stream of a command whose output s reads up to the fence
// nonce.
func newFencedStream(j *job, s *stream, log spill.Writer, nonce string) *stream {
	p := newStream(j, messages.Merged, -1, log)
	p.end.shut = true
	p.reader, p.moves = s, make(chan struct{}, 1)
	if f, ok := log.(spill.FencedWriter); ok {
		f.SetFence(nonce)
	}
	return p
}

// owner returns the stream whose log gets the output. The caller holds mu.
func (s *stream) owner() *stream {
	if p := s.current.Load(); p != nil {
		return p
	}
	return s
}

// held reports whether a control has paused the capture.
func (s *stream) held() bool {
	p := s.current.Load()
	return s.job.held() || p != nil && p.job.held()
}

// tell delivers the facts of the stream; nil: none.
func (s *stream) tell() {
	if s != nil {
		s.job.tell()
	}
}

// grew counts bytes copied into the log, and reports whether facts must be delivered.
func (s *stream) grew(n int64) bool {
	s.job.idle.note()
	if s.reader == nil {
		return s.job.credits.grow(s.which, n)
	}
	s.total += n
	select {
	case s.moves <- struct{}{}:
	default:
	}
	return s.shown()
}

// shown updates the readable size of a command's log, without its fence, and reports as
// grew does.
func (s *stream) shown() bool { return s.job.credits.reach(s.which, s.log.State().Size) }

// stuck reports whether the shell's own log is full.
func (s *stream) stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, is := s.log.(spill.StagingWriter)
	return s.blocked.Load() != nil || is && log.Held() > 0
}

// beginSection copies the terminal's earlier output into the shell's own log; later
// output belongs to p. It copies no more than a terminal holds, since writers may
// continue.
func (s *stream) beginSection(p *stream) {
	s.mu.Lock()
	target := s.total + hangupHeld
	var grown *stream
	s.end.use(func(fd int) {
		for v := more; v == more && s.total < target; {
			v, grown = s.splice(fd, smallPipe)
		}
	})
	if !s.sealed.Load() {
		s.current.Store(p)
	}
	s.mu.Unlock()
	grown.tell()
}

// cut ends the command's log at its fence. It returns false if the fence is missing, or
// the store has no room for the output after it.
func (s *stream) cut() (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cutPart()
}

// cutPart does the work of cut for a caller that holds mu.
func (s *stream) cutPart() (done bool, err error) {
	p := s.current.Load()
	if p == nil {
		return true, nil
	}
	log, ok := p.log.(spill.FencedWriter)
	if !ok {
		return false, nil
	}
	at, found, err := log.Fence()
	if err != nil || !found {
		return false, err
	}
	err = log.Cut(at, s.log)
	s.job.credits.reach(s.which, s.log.State().Size)
	if err != nil {
		if !log.State().Closed {
			return false, err
		}
		p.job.fault(err)
	}
	s.endLend(p)
	return true, nil
}

// endPart ends the command's log at its fence, or where it is, and reports which. The
// caller holds mu.
func (s *stream) endPart() (fenced bool) {
	p := s.current.Load()
	if p == nil {
		return true
	}
	if done, _ := s.cutPart(); done {
		return true
	}
	s.endLend(p)
	return false
}

// endSection ends a command's log at its fence or where it is, even if it was not
// begun.
func (s *stream) endSection(p *stream) (fenced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Load() == p {
		return s.endPart()
	}
	fenced = p.sealed.Load()
	p.seal()
	p.shown()
	return fenced
}

// endLend seals the command's log; later output is the shell's own. The caller holds
// mu.
func (s *stream) endLend(p *stream) {
	s.current.Store(nil)
	p.unblock()
	p.seal()
	p.shown()
}
