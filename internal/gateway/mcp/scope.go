package mcp

import (
	"context"
	"sync"
	"time"

	"troupe/messages"
)

// leavePatience is how long a client's jobs may take to end: their grace, and what a
// loaded machine needs to kill them.
const leavePatience = 2*messages.DefaultGrace + 20*time.Second

// Between two tries to hold a scope again whose host has gone.
const (
	leaseFirst = 50 * time.Millisecond
	leaseMost  = 2 * time.Second
)

// scopeHold is a scope that is held: its jobs end when we die. Over HTTP all clients have
// one, since a hold is a connection of the host; over stdio the one client has it.
type scopeHold struct {
	host  Host
	path  messages.ScopePath
	quota messages.ScopeQuota

	mu     sync.Mutex
	lease  Lease
	cancel context.CancelFunc
}

// take takes the lease, if it is not taken.
func (h *scopeHold) take(ctx context.Context, work *sync.WaitGroup) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease != nil {
		return nil
	}
	lease, err := h.host.Lease(ctx, h.path, h.quota)
	if err != nil {
		return err
	}
	on, gone := context.WithCancel(context.Background())
	h.lease, h.cancel = lease, gone
	work.Go(func() { h.keep(on, lease) })
	return nil
}

// keep takes the lease again when it breaks: a host that has come back keeps jobs, and
// would keep them for ever if their client died then.
func (h *scopeHold) keep(ctx context.Context, lease Lease) {
	for {
		select {
		case <-lease.Broken():
		case <-ctx.Done():
			return
		}
		for wait := leaseFirst; ; wait = min(2*wait, leaseMost) {
			again, err := lease.Again(ctx)
			if err == nil {
				lease = again
				break
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		h.mu.Lock()
		h.lease = lease
		h.mu.Unlock()
	}
}

// end ends the scope, and returns when nothing of it is left but what is kept.
func (h *scopeHold) end() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease == nil {
		return nil
	}
	h.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	return h.lease.End(ctx)
}

// begin opens the scope of a client. Jobs that outlive their client are in a scope that
// nobody holds.
func (c *client) begin(ctx context.Context, scope messages.ScopePath) error {
	if !c.options.Keep {
		if err := c.holds(ctx, scope); err != nil {
			return err
		}
	}
	if c.options.Keep || c.options.Many {
		return c.options.Host.OpenScope(ctx, scope, c.options.Quota)
	}
	return nil
}

// holds holds the scope, or over HTTP that of all clients.
func (c *client) holds(ctx context.Context, scope messages.ScopePath) error {
	c.Server.mu.Lock()
	if c.hold == nil {
		c.hold = &scopeHold{host: c.options.Host, path: scope, quota: c.options.Quota}
		if c.options.Many {
			c.hold.path, c.hold.quota = c.base, messages.ScopeQuota{}
		}
	}
	h := c.hold
	c.Server.mu.Unlock()
	return h.take(ctx, &c.work)
}

// leave ends the client: its jobs end, unless they outlive it. Over stdio the end of
// the server does that.
func (c *client) leave() {
	c.left.Do(func() {
		c.end()
		c.tasks.Close()
		c.mu.Lock()
		name, scope, tongue := c.name, c.scope, c.dialect
		for _, f := range c.flights {
			f.cancel()
		}
		c.mu.Unlock()
		if name == "" {
			return
		}
		if tongue != nil {
			c.closes(tongue)
		}
		if c.options.Many && !c.options.Keep {
			ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
			defer cancel()
			if err := c.options.Host.Leave(ctx, scope); err != nil {
				c.log.Warn("the scope of a client has not ended", "scope", scope, "error", err)
			}
		}
		c.Server.mu.Lock()
		defer c.Server.mu.Unlock()
		delete(c.clients, name)
	})
}
