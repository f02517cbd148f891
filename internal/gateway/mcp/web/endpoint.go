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
	// DefaultMaxSessions is far more than the agents of one user; a client that
	// forgets to end its sessions is refused before it is felt.
	DefaultMaxSessions = 256
	// DefaultIdleSession outlasts a pause for lunch: few clients begin a new
	// session by themselves when theirs is gone.
	DefaultIdleSession = 4 * time.Hour
	// DefaultMaxBody holds the longest command with room to spare.
	DefaultMaxBody = 4 << 20
	// DefaultMaxReplay is what all sessions together keep of what they said, for
	// clients that come back for it.
	DefaultMaxReplay = 8 << 20
)

// Options bound what clients may hold. Zero means the default of the same name.
type Options struct {
	MaxSessions int           // sessions at once, of revisions that have them
	IdleSession time.Duration // how long one may be without any request open
	MaxBody     int64         // of one request, in bytes
	MaxReplay   int           // kept messages of all sessions, in bytes
	Log         *slog.Logger  // nil: nothing is logged
}

// Endpoint is an http.Handler for one address at which MCP is spoken.
type Endpoint struct {
	server    func(*http.Request) *mcp.Server
	options   Options
	stateless http.Handler
	stateful  http.Handler
	sessions  *sessions
	open      context.Context
	shut      context.CancelFunc
}

// Handler serves the servers that server gives: it is asked once for each new
// session and once for each request of a revision without sessions, and may
// give the same server each time. Nil refuses the request with status 400.
//
// The caller ends all with Close.
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

// Close ends every session, hangs up on every request that is under way, and
// refuses further sessions. It waits for no call.
func (e *Endpoint) Close() {
	e.shut()
	e.sessions.close()
}

// ServeHTTP sends a request to the revision that it speaks.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.open, cancel)()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, e.options.MaxBody)

	said, err := look(r)
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

// Stateless says, to whoever is asked for the server of a request, whether it is of a
// revision without sessions.
func Stateless(r *http.Request) bool { return r.Context().Value(statelessKey{}) != nil }

// The SDK asks for the server of a request several times; it is chosen once.
type chosenKey struct{}

func choose(r *http.Request, s *mcp.Server) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), chosenKey{}, s))
}

func chosen(r *http.Request) *mcp.Server {
	s, _ := r.Context().Value(chosenKey{}).(*mcp.Server)
	return s
}
