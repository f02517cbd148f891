package mcp

import (
	"context"
	"sync"

	"troupe/messages"
)

// jobEvents receives facts about the jobs of the server's clients. It starts with the
// first background job: a call that waits needs no events. It receives only ends until
// a client subscribes.
type jobEvents struct {
	turn sync.Mutex // held while the subscription starts

	mu      sync.Mutex
	full    bool          // facts of all kinds are wanted
	current *subscription // whose facts arrive; nil: none
}

// subscription is one subscription to facts: of all kinds if full, else to ends.
type subscription struct {
	full bool
	stop context.CancelFunc
}

// covers reports whether the wanted facts arrive: all kinds if full, else ends.
func (e *jobEvents) covers(full bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current != nil && (e.current.full || !full)
}

// wants remembers that facts of all kinds are wanted, and returns whether they are.
func (e *jobEvents) wants(full bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.full = e.full || full
	return e.full
}

// begun puts a subscription in the place of the one before, which ends.
func (e *jobEvents) begun(s *subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current != nil {
		e.current.stop()
	}
	e.current = s
}

// ended removes a subscription, unless another has replaced it.
func (e *jobEvents) ended(s *subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == s {
		e.current = nil
	}
}

// listen starts to receive facts and asks for earlier ends. It also restarts after the
// host was away for too long.
func (s *Server) listen(ctx context.Context, full bool) error {
	e := &s.events
	if e.covers(full) {
		return nil
	}
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.covers(full) {
		return nil
	}
	on, stop := context.WithCancel(s.ctx)
	next := &subscription{e.wants(full), stop}
	begun, failed := make(chan struct{}), make(chan error, 1)
	s.work.Go(func() { failed <- s.follow(on, next, begun) })
	select {
	case <-begun:
	case err := <-failed:
		return err
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
	s.mu.Lock()
	clients := s.all()
	s.mu.Unlock()
	for _, c := range clients {
		c.catchUp(ctx)
	}
	return nil
}

// follow gives each fact of a job to its client. It returns when ctx ends or the host
// stays away.
func (s *Server) follow(ctx context.Context, of *subscription, begun chan struct{}) error {
	defer func() {
		of.stop()
		if s.ctx.Err() == nil { // else no call may begin another
			s.events.ended(of)
		}
	}()
	opened := sync.OnceFunc(func() {
		s.events.begun(of)
		close(begun)
	})
	for fact, err := range s.options.Host.Events(ctx, messages.Filter{Scope: s.scopes(), Ends: !of.full}, opened) {
		if err != nil {
			return err
		}
		f, ok := fact.(messages.CommandFact)
		if !ok {
			continue
		}
		if c := s.owner(f.Record().Scope); c != nil {
			c.handle(f)
		}
	}
	return nil
}

// scopes returns the scope of all clients, or that of the only one.
func (s *Server) scopes() messages.ScopePath {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.options.Many {
		for _, c := range s.clients {
			return c.scope
		}
	}
	return s.base
}
