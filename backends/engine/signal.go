package engine

import "sync/atomic"

// signal is a channel of capacity 1 that is made on first use: most streams are never
// paused, and no goroutine waits for their end. The zero value is ready.
type signal struct{ made atomic.Pointer[chan struct{}] }

func (s *signal) channel() chan struct{} {
	if c := s.made.Load(); c != nil {
		return *c
	}
	c := make(chan struct{}, 1)
	s.made.CompareAndSwap(nil, &c)
	return *s.made.Load()
}
