package http

import (
	"net"
	"sync"
)

// limitListener lets few connections in at a time, and closes the others at once.
type limitListener struct {
	net.Listener
	inside chan struct{}
}

// LimitListener bounds the connections of a listener that somebody else serves: at most so many
// at a time, and a quarter of the descriptors of this process. Whoever comes above them
// is hung up on, until one has left: anybody on the machine can open connections, and
// hold them without a token for as long as a header may take.
func LimitListener(l net.Listener, most int) net.Listener {
	return &limitListener{l, make(chan struct{}, max(1, min(most, descriptors()/4)))}
}

// Accept implements net.Listener.
func (f *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case f.inside <- struct{}{}:
			return &countedConn{Conn: c, left: sync.OnceFunc(func() { <-f.inside })}, nil
		default:
			_ = c.Close()
		}
	}
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.left()
	return c.Conn.Close()
}

// CloseWrite lets the other end read what was said before the connection goes.
func (c *countedConn) CloseWrite() error { return closeWrite(c.Conn) }
