package engine

import "sync/atomic"

// signal is a channel with room for one that is made when it is used: most streams are
// never paused, and nobody waits for their end. The zero signal is ready.
type signal struct{ made atomic.Pointer[chan struct{}] }

func (s *signal) channel() chan struct{} {
	if c := s.made.Load(); c != nil {
		return *c
	}
	c := make(chan struct{}, 1)
	s.made.CompareAndSwap(nil, &c)
	return *s.made.Load()
}
