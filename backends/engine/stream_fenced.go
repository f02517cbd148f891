package engine

import (
	"troupe/messages"
	"troupe/spill"
)

// A terminal has one output, whoever writes to it. What comes from that of a live shell
// while a command runs there is the command's, its part of the stream, as far as the
// fence that the shell writes behind it. All else is the shell's own.

// newPart is the stream of a command whose output s reads, with the fence that ends it.
func newPart(j *job, s *stream, log spill.Writer, nonce string) *stream {
	p := newStream(j, messages.Merged, -1, log)
	p.end.shut = true
	p.reader, p.moves = s, make(chan struct{}, 1)
	if f, ok := log.(spill.FencedWriter); ok {
		f.SetFence(nonce)
	}
	return p
}

// owner is whose log takes what comes. Called with mu.
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

// tell tells what was said of the stream; nil: nothing.
func (s *stream) tell() {
	if s != nil {
		s.job.tell()
	}
}

// grew counts what was moved into the log, and reports whether somebody is to be told.
func (s *stream) grew(n int64) bool {
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

// shown counts what may be seen of a part, and reports as grew does: its fence may not.
func (s *stream) shown() bool { return s.job.credits.reach(s.which, s.log.State().Size) }

// stuck reports whether the shell's own log has no room for what is its own.
func (s *stream) stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, is := s.log.(spill.StagingWriter)
	return s.blocked.Load() != nil || is && log.Held() > 0
}

// beginSection moves what the terminal holds into the shell's own log, since it is no command's,
// and has what comes from now on be one's. No more is moved than a terminal holds:
// somebody may go on writing.
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

// cut ends the part at its fence. It reports false if that is not there, or the store has
// no room for what is behind it.
func (s *stream) cut() (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cutPart()
}

// cutPart is called with mu.
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

// endPart ends the part at its fence, or where it is. It reports whether the fence was
// there. Called with mu.
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

// endSection ends a part at its fence, or where it is, whether or not it was begun.
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

// endLend seals the part, and has what comes be the shell's own again. Called with mu.
func (s *stream) endLend(p *stream) {
	s.current.Store(nil)
	p.unblock()
	p.seal()
	p.shown()
}
