package mcp

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/web"
)

// ClientHeader tells clients of a revision without sessions apart, who come to one
// server: those that send none are one client.
const ClientHeader = "Troupe-Client"

// Bounds of clients without sessions. Nobody says when one of them leaves.
const (
	maxShared  = web.DefaultMaxSessions
	sharedIdle = web.DefaultIdleSession
	maxName    = 64
)

// statelessClient is a client that was not seen to come, and will not be seen to leave: it has
// left when it has asked nothing for long.
type statelessClient struct {
	*client
	away *time.Timer
}

// choose finds the server of a request over HTTP: each session has its own; who has
// none is known by what he calls himself. Nil: there are too many, or the server ends.
func (s *Server) choose(r *http.Request) *sdk.Server {
	if !web.Stateless(r) {
		return s.newClient().sdk
	}
	name := r.Header.Get(ClientHeader)
	if len(name) > maxName {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.shared[name]; c != nil {
		c.away.Reset(sharedIdle)
		return c.sdk
	}
	if s.closed || len(s.shared) >= maxShared {
		return nil
	}
	c := &statelessClient{client: s.newClient()}
	c.away = time.AfterFunc(sharedIdle, func() {
		s.mu.Lock()
		delete(s.shared, name)
		s.mu.Unlock()
		c.leave()
	})
	s.shared[name] = c
	return c.sdk
}
