package http

import (
	"context"
	"maps"
	"time"

	"troupe/messages"
)

// The server can read a client's last requests after its lease has ended. They must not
// start anything in the scope that the client left: no client would stop it. They are
// refused. If one came together with the end, the scope is released again.

// stragglersFor bounds how long such requests can arrive: the server reads them within
// patience. It also bounds how long a new process with the same id is refused.
const stragglersFor = patience

// callerState is what a listener knows of one process at a unix socket, or of all
// clients of TCP. The lock of its admission guards it.
type callerState struct {
	pid        int
	open       int                              // connections
	leftScopes map[messages.ScopePath]time.Time // scopes whose lease has ended, and when
}

// maxCallers bounds the remembered processes without a connection.
const maxCallers = 4096

// caller returns the state of a process. The caller holds mu.
func (g *admission) caller(pid int) *callerState {
	who := g.callers[pid]
	if who == nil {
		who = &callerState{pid: pid}
		g.callers[pid] = who
	}
	return who
}

// leaves counts a closed connection. It forgets a process without connections, unless
// requests of that process may still come to a scope that it has left.
func (g *admission) leaves(who *callerState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if who.open--; who.open > 0 {
		return
	}
	if len(who.leftScopes) == 0 {
		delete(g.callers, who.pid)
	} else if len(g.callers) > maxCallers {
		maps.DeleteFunc(g.callers, func(_ int, c *callerState) bool { return c.open == 0 })
	}
}

// noteScopeLeft records that a client left a scope. TCP clients share one token, so
// they count as one caller and are not recorded.
func (d *clientConn) noteScopeLeft(path messages.ScopePath) {
	if d.gate.token {
		return
	}
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.caller.leftScopes, func(_ messages.ScopePath, at time.Time) bool { return now.Sub(at) > stragglersFor })
	if d.caller.leftScopes == nil {
		d.caller.leftScopes = map[messages.ScopePath]time.Time{}
	}
	d.caller.leftScopes[path] = now
}

// noteLeased records that a client leases a scope.
func (d *clientConn) noteLeased(path messages.ScopePath) {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	delete(d.caller.leftScopes, path)
}

// leftScope returns the scope at or above a path that its client has left.
func (d *clientConn) leftScope(path messages.ScopePath) (messages.ScopePath, bool) {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	if len(d.caller.leftScopes) == 0 {
		return "", false
	}
	for ; path != ""; path = path.Parent() {
		if at, left := d.caller.leftScopes[path]; left && time.Since(at) <= stragglersFor {
			return path, true
		}
	}
	return "", false
}

// hasLeft returns the scope at or above a path that the client of the request has left.
// A lease of that client between the two allows the path again.
func (c *request) hasLeft(path messages.ScopePath) (messages.ScopePath, bool) {
	d := c.door()
	root, left := d.leftScope(path)
	if !left {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tenants {
		if !t.ends && t.door.caller == d.caller && root.Contains(t.path) && t.path.Contains(path) {
			return "", false
		}
	}
	return root, true
}

// begin calls do, which starts something in a scope, unless its client has left the
// scope.
func (c *request) begin(path messages.ScopePath, do func() error) error {
	if path, left := c.hasLeft(path); left {
		return &messages.Error{
			Code: messages.SessionClosedCode, Reason: "lease", Message: "the lease of scope " + string(path) + " has ended", Hint: "lease it again first",
		}
	}
	err := do()
	if path, left := c.hasLeft(path); left {
		c.leavesAgain(path)
	}
	return err
}

// leavesAgain releases a scope in which a request started something while its lease
// ended, unless another client has leased it since. Clients that want the scope wait
// meanwhile.
func (c *request) leavesAgain(path messages.ScopePath) {
	h, err := c.tenancyOf(context.WithoutCancel(c.ctx), path)
	if err != nil {
		return
	}
	c.mu.Lock()
	h.opened = true
	c.mu.Unlock()
	t := &leaseHolder{path: path, door: c.door(), over: make(chan struct{})}
	c.releaseLease(t, messages.ReleaseScope{Path: path, Reason: clientGone})
	if t.error != nil {
		c.log.Warn("cannot release the scope of a disconnected client", "scope", path, "error", t.error)
	}
}
