package http

import (
	"context"
	"maps"
	"time"

	"troupe/messages"
)

// What a client had sent when it died may be read after the end of its lease. It must
// begin nothing in the scope that it has left, where nobody would end it: it is refused,
// or, if it came with the end, the scope is left once more.

// stragglersFor is how long that may take: what is sent is read within patience. It
// bounds how long a process with a number of a dead one is refused, too.
const stragglersFor = patience

// noteScopeLeft says that a client has left a scope. Those of a port are one caller, and
// cannot be told apart.
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

// noteLeased says that a client leases a scope.
func (d *clientConn) noteLeased(path messages.ScopePath) {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	delete(d.caller.leftScopes, path)
}

// leftScope finds the scope on the way to a path that its client has left.
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

// leftScope finds the scope on the way to a path that the client of the request has left,
// unless it leases one below that, on the same way.
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

// begin does what begins something in a scope, unless its client has left that.
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

// leavesAgain leaves a scope in which something has begun with the end of its lease, as
// the end of a lease does: unless somebody has it again, and whoever wants it waits.
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
		c.log.Warn("a scope has not ended whose client has gone", "scope", path, "error", t.error)
	}
}
