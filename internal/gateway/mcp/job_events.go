package mcp

import (
	"context"
	"sync"

	"troupe/messages"
)

// jobEvents is how a server hears of what happens to the jobs of its clients. It listens from
// the first job on that goes on without its call, since a command whose result is its
// end needs none; only to ends, as long as nobody has subscribed to anything.
type jobEvents struct {
	turn sync.Mutex // held by whoever begins to listen

	mu   sync.Mutex
	open bool // facts come
	full bool // … of all kinds
	stop context.CancelFunc
}

// hears says whether facts come, and all that are wanted.
func (e *jobEvents) hears(full bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open && (e.full || !full)
}

// listen hears from now on what happens, and asks for what has happened before: also
// when the host had gone for so long that it was given up.
func (s *Server) listen(ctx context.Context, full bool) error {
	e := &s.ear
	if e.hears(full) {
		return nil
	}
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.hears(full) {
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

// follow gives each fact of a job to its client, until ctx ends or the host does not
// come back.
func (s *Server) follow(ctx context.Context, full bool, begun chan struct{}) error {
	e := &s.ear
	opened := sync.OnceFunc(func() {
		e.mu.Lock()
		e.open = true
		e.mu.Unlock()
		close(begun)
	})
	defer func() {
		if ctx.Err() == nil { // nobody has taken over
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
			c.hear(f)
		}
	}
	return nil
}

// scopes is the scope of all clients, or that of the only one.
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
