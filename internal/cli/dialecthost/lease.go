package dialecthost

import (
	"context"
	"errors"

	"troupe/client"
	"troupe/internal/dialect"
	"troupe/messages"
)

// Lease implements dialect.Host.
func (h *Host) Lease(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) (dialect.Lease, error) {
	l, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (*client.Lease, error) { return lease(ctx, c, path, quota) })
	if err != nil {
		return nil, err
	}
	return h.holding(l, path, quota), nil
}

func lease(ctx context.Context, c *client.Client, path messages.ScopePath, quota messages.ScopeQuota) (*client.Lease, error) {
	return c.Lease(context.WithoutCancel(ctx), messages.OpenScope{Path: path, Quota: quota}) // the lease outlives the request that opens it
}

// leasedScope is a scope with a lease of this process.
type leasedScope struct {
	host   *Host
	path   messages.ScopePath
	quota  messages.ScopeQuota
	lease  *client.Lease
	broken chan struct{}
}

func (h *Host) holding(l *client.Lease, path messages.ScopePath, quota messages.ScopeQuota) *leasedScope {
	leased := &leasedScope{host: h, path: path, quota: quota, lease: l, broken: make(chan struct{})}
	go func() {
		_ = l.Wait()
		close(leased.broken)
	}()
	return leased
}

// Broken implements dialect.Lease.
func (s *leasedScope) Broken() <-chan struct{} { return s.broken }

// Again implements dialect.Lease.
func (s *leasedScope) Again(ctx context.Context) (dialect.Lease, error) {
	l, err := s.again(ctx)
	if err != nil {
		return nil, err
	}
	return s.host.holding(l, s.path, s.quota), nil
}

// again takes the lease from the daemon that runs now.
func (s *leasedScope) again(ctx context.Context) (*client.Lease, error) {
	c, err := s.host.dial(false)
	if err != nil {
		return nil, err
	}
	return lease(ctx, c, s.path, s.quota)
}

// End implements dialect.Lease. If the daemon is gone but a keeper may hold jobs, End starts
// another daemon to close the scope.
func (s *leasedScope) End(ctx context.Context) error {
	r := clientLeft(s.path)
	select {
	case <-s.broken:
	default:
		if _, err := s.lease.End(ctx, r); err == nil || ctx.Err() != nil || !broke(err) {
			return err
		}
	}
	l, err := s.again(ctx)
	if errors.Is(err, client.ErrNoDaemon) {
		if !s.host.Kept() {
			return nil
		}
		l, err = askDaemon(ctx, s.host, retrySafe, func(c *client.Client) (*client.Lease, error) { return lease(ctx, c, s.path, s.quota) })
	}
	if err != nil {
		return err
	}
	_, err = l.End(ctx, r)
	return err
}
