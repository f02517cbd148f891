package mcp

import (
	"context"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

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
		c.hold = &dialect.ScopeHold{Host: c.options.Host, Path: scope, Quota: c.options.Quota}
		if c.options.Many {
			c.hold.Path, c.hold.Quota = c.base, messages.ScopeQuota{}
		}
	}
	h := c.hold
	c.Server.mu.Unlock()
	return h.Take(ctx, &c.work)
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
			ctx, cancel := context.WithTimeout(context.Background(), dialect.LeavePatience)
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
