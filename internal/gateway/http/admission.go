package http

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// admission accepts connections within the limits of one listener. On a unix socket it
// accepts only processes of our own user.
type admission struct {
	net.Listener
	server *Server
	token  bool // requests on this listener need the token
	places *places
	slots  chan struct{} // one entry for each long request, see holdSlot

	mu      sync.Mutex
	bucket  tokenBucket          // of the requests over TCP
	callers map[int]*callerState // by process; 0: all clients with the token
}

// clientConn is an accepted connection.
type clientConn struct {
	*placedConn
	gate          *admission
	caller        *callerState
	once          sync.Once
	confined      string // how the client is confined and we are not; "": it is not, or may be
	origin        func() jobOrigin
	writeDeadline atomic.Int64 // deadline of writes in Unix nanoseconds; 0: none

	readMu      sync.Mutex
	pipelined   bool   // bytes arrived after a request, before its reply
	onPipelined func() // called when such bytes arrive; nil: nothing to do
}

// SetDeadline implements net.Conn.
func (d *clientConn) SetDeadline(t time.Time) error {
	d.writeDeadline.Store(0)
	return d.Conn.SetDeadline(t)
}

// SetWriteDeadline implements net.Conn. It keeps an earlier deadline that is more than
// half of the new time away: each change wakes the runtime's poller thread.
func (d *clientConn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		d.writeDeadline.Store(0)
		return d.Conn.SetWriteDeadline(t)
	}
	now, until := time.Now(), time.Unix(0, d.writeDeadline.Load())
	if !until.After(t) && until.Sub(now) > t.Sub(now)/2 {
		return nil
	}
	d.writeDeadline.Store(t.UnixNano())
	return d.Conn.SetWriteDeadline(t)
}

// connKey is the context key for the connection of a request.
type connKey struct{}

// withConn implements ConnContext of a server.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// gate returns the admission for a listener, or why it cannot be served.
func (s *Server) gate(l net.Listener) (*admission, error) {
	g := &admission{Listener: l, server: s, callers: map[int]*callerState{}}
	if err := CheckListener(l); err != nil {
		return nil, err
	}
	limits := s.options.Limits
	switch l.Addr().(type) {
	case *net.UnixAddr:
		g.places = newPlaces(cmp.Or(limits.Connections, DefaultConnections), 4, "limits.connections")
	case *net.TCPAddr:
		if len(s.options.Token.Secret) < tokenLength {
			return nil, &messages.Error{Code: messages.Refused, Reason: "token", Message: "cannot serve TCP without a token", Hint: "make one (LoadToken)"}
		}
		g.token, g.places = true, newPlaces(cmp.Or(limits.PortConnections, DefaultPortConnections), 16, portSetting)
		g.bucket = newBucket(cmp.Or(limits.PortRequests, DefaultPortRequests))
	}
	g.places.open = &s.open
	g.slots = make(chan struct{}, g.places.most-g.places.most/slotShare)
	return g, nil
}

// descriptors returns the limit of open files for this process.
func descriptors() int {
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(most.Cur)
}

// Accept implements net.Listener. The HTTP server retries with a backoff of up to a
// second when no descriptors are left.
func (g *admission) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		who, err := g.check(c)
		if err != nil {
			g.server.log.Warn("connection rejected", "error", err)
			_ = c.Close()
			continue
		}
		if d := g.enter(c, who); d != nil {
			return d, nil
		}
		_ = c.Close()
	}
}

// check returns the process of a client and refuses other users on a unix socket. On
// TCP every request shows the token instead.
func (g *admission) check(c net.Conn) (pid int, err error) {
	if g.token {
		return 0, nil
	}
	local, ok := c.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("cannot determine the peer process of a %T", c)
	}
	return peer.Check(local)
}

// enter gives a connection to a unix socket a place, and takes one over TCP without. It
// returns nil if the listener is closed before there is a place, or the server accepts no more.
func (g *admission) enter(c net.Conn, pid int) *clientConn {
	var place *placedConn
	if g.token {
		place = g.places.receive(c)
	} else {
		place = g.places.take(c)
	}
	if place == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	who := g.caller(pid)
	who.open++
	return &clientConn{placedConn: place, gate: g, caller: who, confined: g.confinement(pid), origin: sync.OnceValue(func() jobOrigin { return g.origin(pid) })}
}

// confinement returns how a client is confined and this process is not, unless the options
// allow that. Over TCP the token decides.
func (g *admission) confinement(pid int) string {
	if g.token || g.server.options.AllowConfined {
		return ""
	}
	return g.server.rights.Confinement(pid)
}

// allowed returns why a confined client may not use this server.
func (d *clientConn) allowed() *messages.Error {
	if d.confined == "" {
		return nil
	}
	return &messages.Error{
		Code: messages.Refused, Reason: "confined", Message: "this process is confined and the daemon is not: " + d.confined,
		Hint: "use troupe run or troupe mcp, which need no daemon, or set allow_confined = true in the daemon's configuration",
	}
}

// Close implements net.Listener.
func (g *admission) Close() error {
	g.places.close()
	return g.Listener.Close()
}

// Close implements net.Conn.
func (d *clientConn) Close() error {
	d.once.Do(func() { d.gate.leaves(d.caller) })
	return d.placedConn.Close()
}

// principal returns the owner of the daemon: no other user gets a connection.
func (d *clientConn) principal() messages.Principal { return owner }

var owner = messages.Principal("uid:" + strconv.Itoa(os.Geteuid()))
