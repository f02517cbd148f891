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

// admission lets connections in: on a unix socket only those of our own user, and
// never more than the bounds, which are each listener's own. A few above them are
// let in to be told so; the rest is closed.
type admission struct {
	net.Listener
	server      *Server
	token       bool  // the clients of this listener need one
	most        int   // connections
	busyReplies int   // of those above, that are told
	slots       slots // for requests that are held open

	mu      sync.Mutex
	open    int
	callers map[int]*callerLimits // by process; 0: whoever has the token
}

// clientConn is a connection that was let in.
type clientConn struct {
	net.Conn
	gate          *admission
	caller        *callerLimits
	overLimit     bool // it is one too many
	once          sync.Once
	writeDeadline atomic.Int64 // the deadline of a write, in Unix nanoseconds; 0: none

	readMu      sync.Mutex
	pipelined   bool   // something was sent behind a request
	onPipelined func() // what to do when it is; nil: nothing
}

// SetDeadline implements net.Conn.
func (d *clientConn) SetDeadline(t time.Time) error {
	d.writeDeadline.Store(0)
	return d.Conn.SetDeadline(t)
}

// SetWriteDeadline implements net.Conn. One that was set before serves as well, if it is
// sooner, but not by half: who sets one for each reply wakes, for each, the thread that
// waits for events, to tell it of the timer.
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

// connKey finds the door in the context of a request.
type connKey struct{}

// gate checks that a listener is one that may be served.
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
			return nil, &messages.Error{Code: messages.Refused, Reason: "token", Message: "without a token nothing is served on TCP", Hint: "make one (Token)"}
		}
		g.token, g.most = true, min(maxConnections, files/16)
	}
	g.busyReplies = min(maxTurnedAway, files/16)
	g.slots = make(slots, g.most-g.most/roomShare)
	return g, nil
}

// descriptors is how many this process may have.
func descriptors() int {
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(most.Cur)
}

// Accept implements net.Listener. The HTTP server backs off, up to a second,
// when there are no descriptors.
func (g *admission) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		who, err := g.check(c)
		if err != nil {
			g.server.log.Warn("a connection was turned away", "error", err)
			_ = c.Close()
			continue
		}
		if d := g.enter(c, who); d != nil {
			return d, nil
		}
		_ = c.Close()
	}
}

// check refuses who may not even speak: on a unix socket other users. On TCP each
// request is asked for its token. It tells which process speaks.
func (g *admission) check(c net.Conn) (pid int, err error) {
	if g.token {
		return 0, nil
	}
	local, ok := c.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("whose process is behind a %T cannot be found out", c)
	}
	return peer.Check(local)
}

// enter counts a connection; nil: it is too much even to be told that.
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

// CloseWrite lets the other end read what was said before the connection goes.
func (d *clientConn) CloseWrite() error { return closeWrite(d.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// principal is who speaks: the owner of the daemon, for only he gets in.
func (d *clientConn) principal() messages.Principal { return owner }

var owner = messages.Principal("uid:" + strconv.Itoa(os.Geteuid()))
