package mcp

import (
	"context"
	"sync"
	"time"

	"troupe/host"
	"troupe/messages"
)

// leavePatience bounds the end of a client's jobs: their grace, and the time that a
// loaded machine needs to kill them.
const leavePatience = 2*messages.DefaultGrace + 20*time.Second

// Intervals between two attempts to lease a scope again.
const (
	leaseFirst = 50 * time.Millisecond
	leaseMost  = 2 * time.Second
)

// scopeHold holds a scope so that its jobs end with this process. Over HTTP it holds
// one scope for all clients, since each lease takes a connection of the host; over
// stdio that of the one client.
type scopeHold struct {
	host  Host
	path  messages.ScopePath
	quota messages.ScopeQuota

	mu     sync.Mutex
	lease  Lease
	cancel context.CancelFunc
}

// take takes the lease once.
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

// keep renews a broken lease. A host that was restarted has kept the jobs; without a
// lease they would outlive their client.
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

// end ends the scope. It returns when only kept jobs are left.
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

// begin opens the scope of a client. With Keep no lease holds it.
func (c *client) begin(ctx context.Context, scope messages.ScopePath) error {
	if !c.options.Keep {
		if err := c.holds(ctx, scope); err != nil {
			return err
		}
	}
	if c.options.Keep || c.options.Many {
		_, err := host.Ask(ctx, c.options.Host, messages.OpenScope{Path: scope, Quota: c.options.Quota})
		return err
	}
	return nil
}

// holds takes the lease of the scope, or over HTTP that of all clients.
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

// leave ends the client and stops its jobs, unless they outlive it. Over stdio the end
// of the server stops them.
func (c *client) leave() {
	c.left.Do(func() {
		c.end()
		c.tasks.Close()
		c.mu.Lock()
		name, scope, session := c.name, c.scope, c.dialect
		for _, f := range c.flights {
			f.cancel()
		}
		c.mu.Unlock()
		if name == "" {
			return
		}
		if session != nil {
			c.closes(session)
		}
		if c.options.Many && !c.options.Keep {
			ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
			defer cancel()
			if _, err := host.Ask(ctx, c.options.Host, messages.ReleaseScope{Path: scope, Reason: "its client has left"}); err != nil {
				c.log.Warn("cannot end the scope of a client", "scope", scope, "error", err)
			}
		}
		c.Server.mu.Lock()
		defer c.Server.mu.Unlock()
		delete(c.clients, name)
	})
}
