package http

import (
	"container/list"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"troupe/messages"
)

const (
	// leastIdle is how long a connection must be idle before it makes room for another:
	// a client that was just answered may be sending its next request.
	leastIdle = time.Second
	// maxStrangers bounds the connections of a listener that have not shown its token.
	maxStrangers = 64
)

// places bounds the connections of one listener. A new connection to a unix socket
// waits for a place. A connection over TCP gets one when it shows the token; until then
// it is a stranger. One stranger too many closes the oldest one, and never a connection
// with a place.
type places struct {
	most, strangers int        // maximal numbers of connections with and without a place
	remedy          string     // how to have more of them
	open            *openCount // connections with and without a place, of all listeners of the server

	mu      sync.Mutex
	changed *sync.Cond // a place may be free, or the listener is closed
	taken   int        // places
	idle    list.List  // connections with a place and without a request, the longest idle first
	unknown list.List  // strangers, the oldest first
	timer   *time.Timer
	closed  bool
}

// newPlaces returns the places of a listener: most of them, and at most a share of the
// descriptors of this process. setting is the name of the limit.
func newPlaces(most, share int, setting string) *places {
	files := descriptors()
	p := &places{most: max(1, min(most, files/share)), strangers: max(1, min(maxStrangers, files/16)), remedy: "set " + setting + " higher", open: new(openCount)}
	if p.most < most {
		p.remedy = "raise the limit of open files (ulimit -n): it allows fewer connections than " + setting
	}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// full returns the refusal of one more connection, or of one more of what.
func (p *places) full(most int, what string) *messages.Error {
	return &messages.Error{
		Code: messages.ResourceExhausted, Reason: "connections",
		Message: fmt.Sprintf("limit of %d %s reached", most, what), Hint: "end some, then try again, or " + p.remedy,
	}
}

// placedConn is a connection of a listener with places. The lock of its places guards
// it.
type placedConn struct {
	net.Conn
	in     *places
	placed bool          // has a place
	left   bool          // was closed, by either side or to make room
	at     *list.Element // in in.idle or in.unknown; nil: a request is in progress
	since  time.Time     // when it became idle
}

// take waits for a place for a connection to a unix socket. It returns nil if the
// listener is closed first.
func (p *places) take(c net.Conn) *placedConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && !p.room() {
		p.changed.Wait()
	}
	if p.closed || !p.open.enter() {
		return nil
	}
	p.taken++
	return &placedConn{Conn: c, in: p, placed: true}
}

// room reports whether a place is free. It closes the connection that is idle for
// longest, or has changed signalled when that may be closed. The caller holds mu.
func (p *places) room() bool {
	if p.taken < p.most {
		return true
	}
	first := p.idle.Front()
	if first == nil {
		return false
	}
	d := first.Value.(*placedConn)
	if early := leastIdle - time.Since(d.since); early > 0 {
		if p.timer == nil {
			p.timer = time.AfterFunc(early, p.wake)
		}
		return false
	}
	d.leave()
	_ = d.Conn.Close()
	return true
}

func (p *places) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	p.changed.Broadcast()
}

// receive takes a connection over TCP, which has shown no token yet. It returns nil if the
// server accepts no more.
func (p *places) receive(c net.Conn) *placedConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open.enter() {
		return nil
	}
	if p.unknown.Len() >= p.strangers {
		oldest := p.unknown.Front().Value.(*placedConn)
		oldest.leave()
		_ = oldest.Conn.Close()
	}
	d := &placedConn{Conn: c, in: p}
	d.at = p.unknown.PushBack(d)
	return d
}

// close ends the wait for a place.
func (p *places) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
}

// admit gives a connection that has shown the token a place, or refuses that.
func (d *placedConn) admit() *messages.Error {
	p := d.in
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case d.left:
		panic(http.ErrAbortHandler) // it was closed to make room, and its client cannot be answered
	case d.placed:
		return nil
	case !p.room():
		return p.full(p.most, "connections")
	}
	p.unknown.Remove(d.at)
	d.at, d.placed = nil, true
	p.taken++
	return nil
}

// track follows the state of a connection with a place.
func (d *placedConn) track(state http.ConnState) {
	p := d.in
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case d.left || !d.placed:
	case state == http.StateActive && d.at != nil:
		p.idle.Remove(d.at)
		d.at = nil
	case (state == http.StateNew || state == http.StateIdle) && d.at == nil:
		d.since = time.Now()
		d.at = p.idle.PushBack(d)
		p.changed.Broadcast()
	}
}

// leave returns the place. The caller holds the lock.
func (d *placedConn) leave() {
	p := d.in
	switch {
	case d.left:
		return
	case !d.placed:
		p.unknown.Remove(d.at)
	default:
		p.taken--
		if d.at != nil {
			p.idle.Remove(d.at)
		}
	}
	d.at, d.left = nil, true
	p.open.leave()
	p.changed.Broadcast()
}

// Close implements net.Conn.
func (d *placedConn) Close() error {
	d.in.mu.Lock()
	d.leave()
	d.in.mu.Unlock()
	return d.Conn.Close()
}

// CloseWrite lets the client read the last reply before the connection closes.
func (d *placedConn) CloseWrite() error {
	if half, ok := d.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// trackState implements ConnState of a server whose connections have places.
func trackState(c net.Conn, state http.ConnState) {
	c.(interface{ track(http.ConnState) }).track(state)
}

// portListener is a listener of another server, on a loopback address.
type portListener struct {
	net.Listener
	places *places
}

// LimitConnections bounds the connections of another server, whose handler is that of
// RequireToken: at most so many that have shown the token, and a quarter of this
// process's descriptors. Connections without the token take no place of theirs.
func LimitConnections(server *http.Server, l net.Listener, most int) net.Listener {
	server.ConnContext, server.ConnState = withConn, trackState
	return &portListener{l, newPlaces(most, 4, portSetting)}
}

// Accept implements net.Listener.
func (f *portListener) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return f.places.receive(c), nil
}
