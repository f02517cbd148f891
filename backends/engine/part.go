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
	p.of, p.moves = s, make(chan struct{}, 1)
	if f, ok := log.(spill.Fenced); ok {
		f.SetFence(nonce)
	}
	return p
}

// owner is whose log takes what comes. Called with mu.
func (s *stream) owner() *stream {
	if p := s.part.Load(); p != nil {
		return p
	}
	return s
}

// held reports whether a control has paused the capture.
func (s *stream) held() bool {
	p := s.part.Load()
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
	if s.of == nil {
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

// clear moves what the terminal holds into the shell's own log: it is no command's.
// Blocked says that this has no room for it now.
func (s *stream) clear() verdict {
	s.mu.Lock()
	v, grown := s.own()
	s.mu.Unlock()
	grown.tell()
	return v
}

// lend does that, and has what comes from now on be a command's.
func (s *stream) lend(p *stream) {
	s.mu.Lock()
	_, grown := s.own()
	if !s.sealed.Load() {
		s.part.Store(p)
	}
	s.mu.Unlock()
	grown.tell()
}

// own is clear with mu held. No more is moved than a terminal holds: somebody may go on
// writing.
func (s *stream) own() (v verdict, grown *stream) {
	v = ended
	target := s.total + hangupHeld
	s.end.use(func(fd int) {
		for v = more; v == more && s.total < target; {
			var said *stream
			if v, said = s.splice(fd, smallPipe); said != nil {
				grown = said
			}
		}
	})
	if log, is := s.log.(spill.Holder); is && v == empty && log.Held() > 0 {
		v = blocked
	}
	return v, grown
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
	p := s.part.Load()
	if p == nil {
		return true, nil
	}
	log, ok := p.log.(spill.Fenced)
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
	s.takeBack(p)
	return true, nil
}

// endPart ends the part at its fence, or where it is. It reports whether the fence was
// there. Called with mu.
func (s *stream) endPart() (fenced bool) {
	p := s.part.Load()
	if p == nil {
		return true
	}
	if done, _ := s.cutPart(); done {
		return true
	}
	s.takeBack(p)
	return false
}

// takeBack seals the part, and has what comes be the shell's own again. Called with mu.
func (s *stream) takeBack(p *stream) {
	s.part.Store(nil)
	p.unblock()
	p.seal()
	p.shown()
}
