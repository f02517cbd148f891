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

	mu   sync.Mutex
	open bool // facts arrive
	full bool // facts of all kinds arrive
	stop context.CancelFunc
}

// covers reports whether the wanted facts arrive: all kinds if full, else ends.
func (e *jobEvents) covers(full bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open && (e.full || !full)
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
	e.mu.Lock()
	full = full || e.full
	before := e.stop
	on, stop := context.WithCancel(s.ctx)
	e.stop, e.full = stop, full
	e.mu.Unlock()
	begun, failed := make(chan struct{}), make(chan error, 1)
	s.work.Go(func() { failed <- s.follow(on, full, begun) })
	select {
	case <-begun:
	case err := <-failed:
		return err
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
	if before != nil {
		before()
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
func (s *Server) follow(ctx context.Context, full bool, begun chan struct{}) error {
	e := &s.events
	opened := sync.OnceFunc(func() {
		e.mu.Lock()
		e.open = true
		e.mu.Unlock()
		close(begun)
	})
	defer func() {
		if ctx.Err() == nil { // no later call has replaced this one
			e.mu.Lock()
			e.open = false
			e.mu.Unlock()
		}
	}()
	for fact, err := range s.options.Host.Events(ctx, messages.Filter{Scope: s.scopes(), Ends: !full}, opened) {
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
