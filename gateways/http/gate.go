package http

import (
	"fmt"
	"net"
	"os"
	"sync"

	"troupe/gateways/http/peer"
	"troupe/messages"
)

// gate lets connections in: on a unix socket only those of our own user, and
// never more than the bound. A few above it are let in to be told so; the rest
// is closed.
type gate struct {
	net.Listener
	server *Server
	token  bool // the clients of this listener need one
}

// door is a connection that was let in.
type door struct {
	net.Conn
	gate *gate
	full bool // it is one too many
	once sync.Once
}

// doorKey finds the door in the context of a request.
type doorKey struct{}

// gate checks that a listener is one that may be served.
func (s *Server) gate(l net.Listener) (*gate, error) {
	switch at := l.Addr().(type) {
	case *net.UnixAddr:
		return &gate{Listener: l, server: s}, nil
	case *net.TCPAddr:
		if !at.IP.IsLoopback() {
			return nil, messages.Invalid("http", fmt.Sprintf("%s is no loopback address; use 127.0.0.1 or [::1]", at))
		}
		if len(s.options.Token) < tokenLength {
			return nil, &messages.Error{Code: messages.Refused, Reason: "token", Message: "without a token nothing is served on TCP", Hint: "make one (Token)"}
		}
		return &gate{Listener: l, server: s, token: true}, nil
	}
	return nil, fmt.Errorf("%s is no listener that can be served", l.Addr())
}

// Accept implements net.Listener. The HTTP server backs off, up to a second,
// when there are no descriptors.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := g.check(c); err != nil {
			g.server.log.Warn("a connection was turned away", "error", err)
			_ = c.Close()
			continue
		}
		n := g.server.open.Add(1)
		if n > maxConnections+maxTurnedAway {
			g.server.open.Add(-1)
			_ = c.Close()
			continue
		}
		return &door{Conn: c, gate: g, full: n > maxConnections}, nil
	}
}

// check refuses who may not even speak: on a unix socket other users. On TCP each
// request is asked for its token.
func (g *gate) check(c net.Conn) error {
	if g.token {
		return nil
	}
	unix, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("whose process is behind a %T cannot be found out", c)
	}
	return peer.Check(unix)
}

// Close implements net.Conn.
func (d *door) Close() error {
	d.once.Do(func() { d.gate.server.open.Add(-1) })
	return d.Conn.Close()
}

// CloseWrite lets the other end read what was said before the connection goes.
func (d *door) CloseWrite() error {
	if half, ok := d.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// principal is who speaks: the owner of the daemon, for only he gets in.
func (d *door) principal() messages.Principal {
	return messages.Principal(fmt.Sprintf("uid:%d", os.Geteuid()))
}
