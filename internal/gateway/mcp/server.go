package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/events"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/internal/gateway/mcp/web"
	"troupe/messages"
)

// Bounds of one client; a zero option means the bound here.
const (
	defaultJobs     = 256 // live jobs
	defaultSessions = 64  // sessions
	maxCalls        = 32  // concurrent tools of one client
	maxReads        = 32  // concurrent requests of one client for events and resources
	maxTasks        = 256 // tasks, including finished ones
	maxLive         = 14  // running tasks: each takes two connections besides those of the calls
	maxListed       = 256 // jobs among the listed resources
	maxLine         = 2*messages.MaxText + 1<<20
)

// Options configure a Server.
type Options struct {
	Host    Host
	Version string
	Scope   messages.ScopePath // parent of the clients' scopes
	Quota   messages.ScopeQuota
	Around  core.RunEnv  // of each run; its Scope is set here
	Beside  []string     // tools that the host has besides ours
	Keep    bool         // jobs outlive their client
	Many    bool         // for many clients (Handler), not for one (Serve)
	Dialect *Dialect     // nil: the core tools
	Window  int          // bytes of output in a result of the core tools, if the call names none
	Log     *slog.Logger // nil: discarded
}

// Server serves clients. It is safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	ctx     context.Context //nolint:containedctx // of work outside calls
	end     context.CancelFunc
	relay   *events.Relay // of the streams of events

	mu      sync.Mutex
	events  jobEvents
	hold    *dialect.ScopeHold          // of a scope; nil: nothing has run yet
	base    messages.ScopePath          // parent of the clients' scopes
	clients map[string]*client          // by the last name of their scope
	shared  map[string]*statelessClient // of revisions without sessions, by ClientHeader
	closed  bool
	work    sync.WaitGroup
}

// New returns a server. Close ends it.
func New(o Options) *Server {
	o.Quota.Jobs = cmp.Or(o.Quota.Jobs, defaultJobs)
	o.Quota.Sessions = cmp.Or(o.Quota.Sessions, defaultSessions)
	o.Window = cmp.Or(o.Window, core.DefaultBytes)
	s := &Server{options: o, log: o.Log, base: o.Scope, relay: events.NewRelay(), clients: map[string]*client{}, shared: map[string]*statelessClient{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Many {
		s.base = messages.ScopePath(string(o.Scope) + "/http-" + chance())
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Serve serves one client over a pair of streams, until it closes its own or ctx ends.
// Its calls end with it.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	c := s.newClient()
	defer c.leave()
	defer context.AfterFunc(ctx, c.end)() // otherwise it would wait for calls without a reader
	t := newStdioTransport(in, out)
	defer t.finish()
	return c.sdk.Run(ctx, s.relay.Transport(tasks.Transport(t)))
}

// Handler serves clients over HTTP, until Close of the endpoint. Wrap it in
// http.RequireToken.
func (s *Server) Handler(o web.Options) (http.Handler, *web.Endpoint) {
	endpoint := web.Handler(s.choose, o)
	limit := cmp.Or(o.MaxBody, web.DefaultMaxBody)
	return skipMark(tasks.Handler(limit, s.relay.Handler(limit, endpoint))), endpoint
}

// Close ends every client and its jobs, unless they outlive it. It returns when they
// have ended.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	clients := s.all()
	for _, c := range s.shared { // including those that never made a call
		c.away.Stop()
		clients = append(clients, c.client)
	}
	clear(s.shared)
	s.mu.Unlock()
	var leaving sync.WaitGroup
	for _, c := range clients {
		leaving.Go(c.leave)
	}
	leaving.Wait()
	s.end()
	s.mu.Lock()
	held := s.hold
	s.mu.Unlock()
	if held != nil {
		if err := held.End(); err != nil {
			s.log.Warn("cannot end the scope of the clients", "scope", held.Path, "error", err)
		}
	}
	s.work.Wait()
}

// owner returns the client whose scope contains a job's scope.
func (s *Server) owner(scope messages.ScopePath) *client {
	rest, ok := strings.CutPrefix(string(scope), string(s.base)+"/")
	if !ok {
		return nil
	}
	name, _, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[name]
}

// all returns the clients. The caller holds mu.
func (s *Server) all() []*client {
	all := make([]*client, 0, len(s.clients))
	for _, c := range s.clients {
		all = append(all, c)
	}
	return all
}

// chance returns a random name.
func chance() string { return strings.ToLower(rand.Text()[:6]) }

func (s *Server) instructions() string {
	if d := s.options.Dialect; d != nil {
		return d.Instructions
	}
	return core.Instructions(s.options.Beside)
}

func (s *Server) describe() *sdk.Implementation {
	return &sdk.Implementation{Name: "troupe", Title: "troupe", Version: s.options.Version}
}

var errMany = &messages.Error{
	Code: messages.Busy, Reason: "calls", Message: fmt.Sprintf("limit of %d calls at a time reached", maxCalls),
	Hint: "wait for one of them, or run commands in the background",
}
