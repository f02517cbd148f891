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

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/internal/gateway/mcp/web"
	"troupe/messages"
)

// Bounds of one client; 0 of an option is the bound here.
const (
	defaultJobs     = 256 // live ones
	defaultSessions = 64  // places to run
	maxCalls        = 32  // tools at work at a time: half the connections that a host gives one process
	maxTasks        = 256 // of one client, those that are kept for a while included
	maxLive         = 14  // of them at work: each takes two connections of what is left beside the calls
	maxListed       = 256 // jobs among the resources that are listed
	maxLine         = 2*messages.MaxText + 1<<20
)

// Options say what is served.
type Options struct {
	Host    Host
	Version string
	Scope   messages.ScopePath // below which each client has its own
	Quota   messages.ScopeQuota
	Around  core.RunEnv  // of each run; its Scope is set here
	Beside  []string     // tools that the host has beside ours
	Keep    bool         // jobs outlive their client
	Many    bool         // it is for many clients (Handler), and not for one (Serve)
	Dialect *Dialect     // nil: the core's
	Log     *slog.Logger // nil: nothing is logged
}

// Server serves clients. It is safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	ctx     context.Context //nolint:containedctx // of all that is done for no call
	end     context.CancelFunc

	mu      sync.Mutex
	ear     jobEvents
	hold    *scopeHold                  // of a scope; nil: nothing was run yet
	base    messages.ScopePath          // below which each client has its scope
	clients map[string]*client          // by the last name of their scope
	shared  map[string]*statelessClient // of revisions without sessions, by what they call themselves
	closed  bool
	work    sync.WaitGroup
}

// New makes a server. Close ends it.
func New(o Options) *Server {
	o.Quota.Jobs = cmp.Or(o.Quota.Jobs, defaultJobs)
	o.Quota.Sessions = cmp.Or(o.Quota.Sessions, defaultSessions)
	s := &Server{options: o, log: o.Log, base: o.Scope, clients: map[string]*client{}, shared: map[string]*statelessClient{}}
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
	defer context.AfterFunc(ctx, c.end)() // or it would wait for calls that nobody reads
	return c.sdk.Run(ctx, tasks.Transport(&stdioTransport{in, out}))
}

// Handler serves clients over HTTP, until Close of the endpoint. Stand it behind
// http.Guard.
func (s *Server) Handler(o web.Options) (http.Handler, *web.Endpoint) {
	endpoint := web.Handler(s.choose, o)
	return tasks.Handler(cmp.Or(o.MaxBody, web.DefaultMaxBody), endpoint), endpoint
}

// Close ends what is served: the jobs of every client, if they do not outlive it. It
// returns when nothing of them is left.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	clients := s.all()
	for _, c := range s.shared { // also those that never entered
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
		if err := held.end(); err != nil {
			s.log.Warn("the scope of the clients has not ended", "scope", held.path, "error", err)
		}
	}
	s.work.Wait()
}

// owner is the client whose scope has a job.
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

// all are the clients. The lock is held.
func (s *Server) all() []*client {
	all := make([]*client, 0, len(s.clients))
	for _, c := range s.clients {
		all = append(all, c)
	}
	return all
}

// chance makes names that do not repeat.
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
	Code: messages.Busy, Reason: "calls", Message: fmt.Sprintf("%d calls of this client are at work, which is all that may be", maxCalls),
	Hint: "wait for one of them, or run commands in the background",
}
