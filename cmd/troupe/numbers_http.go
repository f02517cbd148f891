package main

import (
	"net"
	stdhttp "net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/gateways/http"
)

// Bounds of those who look at the numbers.
const (
	numbersPatience = 10 * time.Second // for one look
	maxLookers      = 16               // connections: anybody on the machine can open one, and each is a descriptor
)

// serve tells the numbers on a loopback address until close.
func (n *numbers) serve(l net.Listener, token string) {
	mux := stdhttp.NewServeMux()
	mux.Handle("GET /metrics", http.Guard(token, promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	server := &stdhttp.Server{Handler: mux, ReadTimeout: numbersPatience, WriteTimeout: numbersPatience, IdleTimeout: numbersPatience, MaxHeaderBytes: 16 << 10}
	go func() { _ = server.Serve(&fewDoors{l, make(chan struct{}, maxLookers)}) }()
	before := n.stop
	n.stop = func() {
		_ = server.Close()
		before()
	}
}

// fewDoors lets few connections in at a time, and closes the others at once.
type fewDoors struct {
	net.Listener
	inside chan struct{}
}

// Accept implements net.Listener.
func (f *fewDoors) Accept() (net.Conn, error) {
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
