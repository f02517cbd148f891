package http

import (
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
// accepts only processes of our own user. A few connections above the limit get an
// error reply; it closes the others.
type admission struct {
	net.Listener
	server      *Server
	token       bool  // requests on this listener need the token
	most        int   // maximal number of connections
	busyReplies int   // connections above most that get an error reply
	slots       slots // places for long requests

	mu      sync.Mutex
	open    int
	callers map[int]*callerLimits // by process; 0: all clients with the token
}

// clientConn is an accepted connection.
type clientConn struct {
	net.Conn
	gate          *admission
	caller        *callerLimits
	overLimit     bool // the connection is above the limit
	once          sync.Once
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

// gate returns the admission for a listener, or why it cannot be served.
func (s *Server) gate(l net.Listener) (*admission, error) {
	g := &admission{Listener: l, server: s, callers: map[int]*callerLimits{}}
	files := descriptors()
	if err := CheckListener(l); err != nil {
		return nil, err
	}
	switch l.Addr().(type) {
	case *net.UnixAddr:
		g.most = min(maxLocal, files/4)
	case *net.TCPAddr:
		if len(s.options.Token) < tokenLength {
			return nil, &messages.Error{Code: messages.Refused, Reason: "token", Message: "cannot serve TCP without a token", Hint: "make one (LoadToken)"}
		}
		g.token, g.most = true, min(maxConnections, files/16)
	}
	g.busyReplies = min(maxTurnedAway, files/16)
	g.slots = make(slots, g.most-g.most/roomShare)
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

// enter counts a connection. It returns nil if there is no room even for an error
// reply.
func (g *admission) enter(c net.Conn, pid int) *clientConn {
	g.mu.Lock()
	defer g.mu.Unlock()
	who := g.caller(pid)
	if g.open >= g.most+g.busyReplies || who.open >= maxConnections+g.busyReplies {
		return nil
	}
	g.open++
	who.open++
	g.server.open.Add(1)
	return &clientConn{Conn: c, gate: g, caller: who, overLimit: g.open > g.most || who.open > maxConnections}
}

// Close implements net.Conn.
func (d *clientConn) Close() error {
	d.once.Do(func() {
		d.gate.mu.Lock()
		d.gate.open--
		d.caller.open--
		d.gate.mu.Unlock()
		d.gate.server.open.Add(-1)
	})
	return d.Conn.Close()
}

// CloseWrite lets the client read the last reply before the connection closes.
func (d *clientConn) CloseWrite() error { return closeWrite(d.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// principal returns the owner of the daemon: no other user gets a connection.
func (d *clientConn) principal() messages.Principal { return owner }

var owner = messages.Principal("uid:" + strconv.Itoa(os.Geteuid()))
