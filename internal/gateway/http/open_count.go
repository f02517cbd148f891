package http

import (
	"sync"
	"time"
)

// openCount counts the open connections of a server, on all its listeners.
type openCount struct {
	mu     sync.Mutex
	n      int
	last   time.Time // when the last one was closed; zero: none was
	closed bool      // no more are accepted
}

// enter counts one more. It returns false if no more are accepted.
func (c *openCount) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.n++
	}
	return !c.closed
}

func (c *openCount) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	c.last = time.Now()
}

func (c *openCount) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Unused returns when the last connection was closed, and whether none is open. Without a
// connection so far the time is zero.
func (s *Server) Unused() (since time.Time, unused bool) {
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	return s.open.last, s.open.n == 0
}

// CloseUnused accepts no more connections, if none has been open since a time that Unused
// returned. A client that connects later has its connection closed before it is read, and may
// look for the next daemon.
func (s *Server) CloseUnused(since time.Time) bool {
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	if s.open.n > 0 || !s.open.last.Equal(since) {
		return false
	}
	s.open.closed = true
	return true
}
