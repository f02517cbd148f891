package http

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
)

// Bounds of the gateway, so that no client can take the daemon from the others. A client
// is a process, see caller.
const (
	maxConnections   = 64   // of one client; on TCP of all
	maxLocal         = 1024 // on a unix socket: each of many scripts waits for its job; at most a quarter of our descriptors
	maxTurnedAway    = 32   // connections that are told that there are too many
	maxSubscriptions = 32   // of one client
	requestRate      = 100  // a second, of one client
	requestBurst     = 500  // at once
	maxHeader        = 64 << 10
	patience         = 30 * time.Second // for a header, a body, the reading of a reply, and between two requests
	strangerPatience = 5 * time.Second  // for a header on TCP, where others may hold a connection before they show a token
	heartbeat        = 15 * time.Second // of a stream on which nothing happens
)

// Options say what the gateway serves.
type Options struct {
	// Node is what is served: Over(node).
	Node Node
	// Version is what GET /v1/version tells.
	Version string
	// State is the directory of the daemon, which it tells, too; "": there is none.
	State string
	// Token admits to a TCP listener; "": none is served. See Token.
	Token string
	// Shutdown ends the node, and later the server, when a client asks for it; nil:
	// it is refused with unsupported. It returns the processes that are left.
	Shutdown func(context.Context, messages.ShutdownNode) ([]messages.Survivor, error)
	// Keeper says why the keeper of the jobs does not answer; nil: it does, or there
	// is none.
	Keeper func() *messages.Error
	// Holder is the version of that keeper, "" if there is none; nil: there is none.
	Holder func() string
	// Journal says why nothing can be recorded; nil: it can, or there is no journal.
	Journal func() error
	// Log hears of connections that were turned away and of faults; nil: nobody.
	Log *slog.Logger
}

// Server answers requests for a node. It is safe for concurrent use.
type Server struct {
	node     Node
	options  Options
	log      *slog.Logger
	local    *http.Server // of unix sockets
	port     *http.Server // of TCP
	began    time.Time
	open     atomic.Int64  // connections
	large    chan struct{} // a place for each body above maxBody
	closing  context.Context
	close    context.CancelFunc
	attached sync.WaitGroup // what http.Server no longer knows of

	subscriptions atomic.Int64
	unsized       atomic.Int64 // lists that were answered before they had their sizes

	mu     sync.Mutex
	leases map[messages.UID]*lease
	held   map[messages.UID]*pausedJob

	tenancies map[messages.ScopePath]*scopeLease
	tenants   map[string]*leaseHolder // by the id of their lease
}

// New makes a server. Serve lets clients in, Close ends it.
func New(o Options) *Server {
	s := &Server{
		node: o.Node, options: o, log: o.Log, began: time.Now(),
		leases: map[messages.UID]*lease{}, held: map[messages.UID]*pausedJob{}, large: make(chan struct{}, maxLarge),
		tenancies: map[messages.ScopePath]*scopeLease{}, tenants: map[string]*leaseHolder{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.closing, s.close = context.WithCancel(context.Background())
	handler := s.guard(s.routes())
	s.local, s.port = s.over(handler, patience), s.over(handler, strangerPatience)
	return s
}

// over is the HTTP server of one kind of listeners, with its patience for a header.
func (s *Server) over(handler http.Handler, header time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: header, IdleTimeout: patience, MaxHeaderBytes: maxHeader,
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		DisableGeneralOptionsHandler: true, // it would answer before the guard
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// Serve lets clients in until Close: on a socket of Listen processes of our own
// user, on a loopback TCP address (ListenTCP) whoever has the token. It returns
// nil as soon as Close is called, whose return is the end; else why it cannot go
// on. It may serve several listeners.
func (s *Server) Serve(l net.Listener) error {
	gate, err := s.gate(l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	over := s.local
	if gate.token {
		over = s.port
	}
	if err := over.Serve(gate); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends the server: streams end at once, other requests when they are
// answered or when ctx ends. A run that is cut off then is stopped if the node
// still lives: shut that down first.
func (s *Server) Close(ctx context.Context) error {
	s.close()
	var all error
	for _, over := range []*http.Server{s.port, s.local} {
		if err := over.Shutdown(ctx); err != nil {
			all = errors.Join(all, err, over.Close())
		}
	}
	s.attached.Wait()
	return all
}
