package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// DefaultMaxSessions is far above the agents of one user. It stops a client that
	// does not end its sessions.
	DefaultMaxSessions = 256
	// DefaultIdleSession is longer than a lunch break: few clients start a new session
	// by themselves when theirs has ended.
	DefaultIdleSession = 4 * time.Hour
	// DefaultMaxBody is above the size of the longest command.
	DefaultMaxBody = 4 << 20
	// DefaultMaxReplay bounds the messages that all sessions keep for clients that
	// reconnect.
	DefaultMaxReplay = 8 << 20
)

// Options bound what clients may use. Zero means the default of the same name.
type Options struct {
	MaxSessions int           // concurrent sessions, of revisions that have them
	IdleSession time.Duration // duration without an open request after which a session ends
	MaxBody     int64         // of one request, in bytes
	MaxReplay   int           // kept messages of all sessions, in bytes
	Log         *slog.Logger  // nil: discarded
}

// Endpoint is an http.Handler that serves MCP at one address.
type Endpoint struct {
	server    func(*http.Request) *mcp.Server
	options   Options
	stateless http.Handler
	stateful  http.Handler
	sessions  *sessions
	open      context.Context
	shut      context.CancelFunc
}

// Handler serves the servers that server returns. It calls server once for each new
// session and once for each request of a revision without sessions. The same server may
// be returned each time. A nil server refuses the request with status 400.
//
// The caller ends everything with Close.
func Handler(server func(*http.Request) *mcp.Server, o Options) *Endpoint {
	o.MaxSessions = cmp.Or(o.MaxSessions, DefaultMaxSessions)
	o.IdleSession = cmp.Or(o.IdleSession, DefaultIdleSession)
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.MaxReplay = cmp.Or(o.MaxReplay, DefaultMaxReplay)
	replay := mcp.NewMemoryEventStore(nil)
	replay.SetMaxBytes(o.MaxReplay)
	e := &Endpoint{
		server: server, options: o, sessions: newSessions(o.MaxSessions, o.IdleSession),
		stateless: mcp.NewStreamableHTTPHandler(chosen, &mcp.StreamableHTTPOptions{
			Stateless: true, Logger: o.Log, MaxRequestBodyBytes: o.MaxBody, PropagateRequestCancellation: true,
		}),
		stateful: mcp.NewStreamableHTTPHandler(chosen, &mcp.StreamableHTTPOptions{
			Logger: o.Log, MaxRequestBodyBytes: o.MaxBody, EventStore: replay,
		}),
	}
	e.open, e.shut = context.WithCancel(context.Background())
	return e
}

// Close ends every session, cancels every pending request and refuses new sessions. It
// does not wait for calls.
func (e *Endpoint) Close() {
	e.shut()
	e.sessions.close()
}

// ServeHTTP passes a request to the handler of its revision.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.open, cancel)()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, e.options.MaxBody)

	said, err := inspect(r)
	switch {
	case err != nil:
		refuseBody(w, err)
	case said.inexact != nil:
		refuse(w, http.StatusBadRequest, codeInvalid, said.inexact, Inexact(said.inexact))
	case said.stateless():
		r = r.WithContext(context.WithValue(r.Context(), statelessKey{}, true))
		e.stateless.ServeHTTP(w, choose(r, e.server(r)))
	case said.session != "":
		e.sessions.serve(w, r, said.session, e.stateful)
	case said.opens():
		e.sessions.begin(w, r, said, e.server, e.stateful)
	default:
		e.stateful.ServeHTTP(w, choose(r, e.server(r)))
	}
}

type statelessKey struct{}

// Stateless reports whether a request is of a revision without sessions.
func Stateless(r *http.Request) bool { return r.Context().Value(statelessKey{}) != nil }

// chosenKey is the context key of the server of a request. The SDK asks for that
// several times.
type chosenKey struct{}

func choose(r *http.Request, s *mcp.Server) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), chosenKey{}, s))
}

func chosen(r *http.Request) *mcp.Server {
	s, _ := r.Context().Value(chosenKey{}).(*mcp.Server)
	return s
}
