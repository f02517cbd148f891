package mcp

import (
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
}

// choose returns the server for a request over HTTP: a new one for a session, otherwise
// that of the client named in the header. It returns nil if there are too many clients
// or the server is closing.
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
