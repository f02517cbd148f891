package dialect

import (
	"context"
	"sync"
	"time"

	"troupe/messages"
)

// Leaser opens scopes whose jobs end with the process that holds them.
type Leaser interface {
	// Lease opens a scope and holds it. If the lease breaks because its holder has
	// died, the scope ends. Detached and promoted jobs keep running.
	Lease(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) (Lease, error)
}

// Lease is a held scope.
type Lease interface {
	// Broken returns a channel that is closed when the lease breaks.
	Broken() <-chan struct{}
	// Again renews a broken lease if its host is back. It never reopens an ended scope:
	// another client may have ended it.
	Again(ctx context.Context) (Lease, error)
	// End ends the scope. It returns when only kept jobs are left.
	End(ctx context.Context) error
}

// LeavePatience bounds the end of a client's jobs: their grace, and the time that a
// loaded machine needs to kill them.
const LeavePatience = 2*messages.DefaultGrace + 20*time.Second

// Intervals between two attempts to lease a scope again.
const (
	leaseFirst = 50 * time.Millisecond
	leaseMost  = 2 * time.Second
)

// ScopeHold holds a scope so that its jobs end with this process. Over HTTP it holds
// one scope for all clients, since each lease takes a connection of the host; over
// stdio that of the one client.
type ScopeHold struct {
	Host  Leaser
	Path  messages.ScopePath
	Quota messages.ScopeQuota

	mu     sync.Mutex
	lease  Lease
	cancel context.CancelFunc
}

// Take takes the lease once.
func (h *ScopeHold) Take(ctx context.Context, work TaskGroup) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease != nil {
		return nil
	}
	lease, err := h.Host.Lease(ctx, h.Path, h.Quota)
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
func (h *ScopeHold) keep(ctx context.Context, lease Lease) {
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

// End ends the scope. It returns when only kept jobs are left.
func (h *ScopeHold) End() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease == nil {
		return nil
	}
	h.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), LeavePatience)
	defer cancel()
	return h.lease.End(ctx)
}
