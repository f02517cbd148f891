package http

import (
	"net"
	"sync"
)

// limitListener bounds its open connections and closes the ones above.
type limitListener struct {
	net.Listener
	inside chan struct{}
}

// LimitListener bounds the connections of a listener that another server serves: at
// most so many, and a quarter of this process's descriptors. It closes further ones at
// once. Any process of the machine can open connections, and hold them without a token
// until a header is due.
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

// countedConn returns its place when it is closed.
type countedConn struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.left()
	return c.Conn.Close()
}

// CloseWrite lets the client read the last reply before the connection closes.
func (c *countedConn) CloseWrite() error { return closeWrite(c.Conn) }
