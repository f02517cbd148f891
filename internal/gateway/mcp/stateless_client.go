package mcp

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/web"
)

// ClientHeader tells clients of a revision without sessions apart. Those that send none
// count as one client.
const ClientHeader = "Troupe-Client"

// Bounds of clients without sessions, whose end no message reports.
const (
	maxShared  = web.DefaultMaxSessions
	sharedIdle = web.DefaultIdleSession
	maxName    = 64
)

// statelessClient is a client without an MCP session. It ends after a period without
// requests.
type statelessClient struct {
	*client
	away *time.Timer
	open int // requests; Server.mu guards it
}

// choose returns the server for a request over HTTP: a new one for a session, otherwise
// that of the client named in the header. It returns nil if there are too many clients
// or the server is closing.
func (s *Server) choose(r *http.Request) *sdk.Server {
	if !web.Stateless(r) {
		return s.newClient().sdk
	}
	return s.named(r)
}

// named returns the server of the client that the header of a request names. The client stays for
// as long as one of its requests is open.
func (s *Server) named(r *http.Request) *sdk.Server {
	name := r.Header.Get(ClientHeader)
	if len(name) > maxName {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.shared[name]
	if c == nil {
		if s.closed || len(s.shared) >= maxShared {
			return nil
		}
		c = &statelessClient{client: s.newClient()}
		c.away = time.AfterFunc(sharedIdle, func() { s.idle(name) })
		s.shared[name] = c
	}
	c.open++
	c.away.Stop()
	context.AfterFunc(r.Context(), func() { // the request has ended
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.open--; c.open == 0 {
			c.away.Reset(sharedIdle)
		}
	})
	return c.sdk
}

// idle ends a client that has had no request open for a period.
func (s *Server) idle(name string) {
	s.mu.Lock()
	c := s.shared[name]
	if c == nil || c.open > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.shared, name)
	s.mu.Unlock()
	c.leave()
}
