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

	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// Bounds of the gateway, so that no client blocks the others.
const (
	maxHeader        = 64 << 10
	patience         = 30 * time.Second // for a header, a body, the reading of a reply, and between requests
	strangerPatience = 5 * time.Second  // for a header on TCP, where clients connect before they show a token
	heartbeat        = 15 * time.Second // of an idle stream
)

// Limits bound the clients of a server; 0: the default. Connections also have at most a
// share of the descriptors of this process: a quarter on a unix socket, a sixteenth on
// TCP.
type Limits struct {
	Connections     int // to a unix socket
	PortConnections int // over TCP, with the token
	PortRequests    int // over TCP, a second; five times as many at once
}

// portSetting is the setting for the connections to a loopback address.
const portSetting = "limits.http_connections"

// Options configure the gateway.
type Options struct {
	// Faults is the plan of faults that happen to the jobs of the node; "": none.
	Faults string
	// Node is the served node: AdaptNode(node).
	Node Node
	// Version is the reply of GET /v1/version.
	Version string
	// State is the daemon's directory in that reply; "": none.
	State string
	// Token admits clients of TCP listeners; zero: none is served. See LoadToken.
	Token Token
	// AllowConfined admits processes of a sandbox, although their commands leave it in
	// this process.
	AllowConfined bool
	// JobOf returns the job whose tree a process belongs to, and the scope in which that
	// was started; false if it belongs to none. A process of a job in a leased scope may use
	// that scope alone. nil: every process may use all scopes.
	JobOf func(pid int) (messages.UID, messages.ScopePath, bool)
	// Limits bound the clients.
	Limits Limits
	// Shutdown shuts down the node at a client's request and returns the survivors. The
	// server follows later. Without it the request fails with unsupported.
	Shutdown func(context.Context, messages.ShutdownNode) ([]messages.Survivor, error)
	// Keeper returns why the keeper does not answer, nil if it does. It is nil without
	// a keeper.
	Keeper func() *messages.Error
	// Holder returns the version of that keeper, "" if there is none. It is nil without
	// a keeper.
	Holder func() string
	// Journal returns why the journal cannot be written, nil if it can. It is nil
	// without a journal.
	Journal func() error
	// Log receives rejected connections and faults; nil discards them.
	Log *slog.Logger
}

// Server answers requests for a node. It is safe for concurrent use.
type Server struct {
	node     Node
	options  Options
	log      *slog.Logger
	local    *http.Server // for unix sockets
	port     *http.Server // for TCP
	began    time.Time
	open     openCount
	rights   peer.Rights   // of this process
	large    chan struct{} // one entry for each body above maxBody
	closing  context.Context
	close    context.CancelFunc
	attached sync.WaitGroup // connections that http.Server no longer tracks

	subscriptions atomic.Int64
	unsized       atomic.Int64 // lists that were answered before their sizes arrived

	mu     sync.Mutex
	leases map[messages.UID]*inputLease
	held   map[messages.UID]*pausedJob

	tenancies map[messages.ScopePath]*scopeLease
	tenants   map[string]*leaseHolder // by lease id
}

// New returns a server. Serve accepts clients, Close ends it.
func New(o Options) *Server {
	s := &Server{
		node: o.Node, options: o, log: o.Log, began: time.Now(),
		leases: map[messages.UID]*inputLease{}, held: map[messages.UID]*pausedJob{}, large: make(chan struct{}, maxLarge),
		tenancies: map[messages.ScopePath]*scopeLease{}, tenants: map[string]*leaseHolder{}, rights: peer.OwnRights(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.closing, s.close = context.WithCancel(context.Background())
	handler := s.guard(s.routes())
	s.local, s.port = s.over(handler, patience), s.over(handler, strangerPatience)
	return s
}

// over returns the HTTP server for one kind of listener, with its timeout for a header.
func (s *Server) over(handler http.Handler, header time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: header, IdleTimeout: patience, MaxHeaderBytes: maxHeader,
		ConnContext: withConn, ConnState: trackState,
		DisableGeneralOptionsHandler: true, // it would answer before the guard
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// Serve accepts clients until Close: processes of our own user on a socket of Listen,
// clients with the token on a loopback TCP address (ListenTCP). It returns nil as soon
// as Close is called; Close returns when all has ended. Any other return says why it
// cannot go on. A server may serve several listeners.
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

// Close ends the server: streams at once, other requests when they are answered or ctx
// ends. A run that is cut off is stopped if the node still lives: shut the node down
// first.
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
