package dialect

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// leaser is a host that is asked for leases, and nothing else.
type leaser struct {
	mu    sync.Mutex
	path  messages.ScopePath // of the last one
	asked int                // how often it was to be brought up
	away  int                // how often it is not there to give one again
	given *heldLease
	ended []*heldLease
}

// heldLease is one lease of it.
type heldLease struct {
	of     *leaser
	broken chan struct{}
}

// give gives a lease. The lock is held.
func (l *leaser) give() *heldLease {
	l.given = &heldLease{l, make(chan struct{})}
	return l.given
}

func (l *leaser) Lease(_ context.Context, path messages.ScopePath, _ messages.ScopeQuota) (Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	l.path = path
	return l.give(), nil
}

func (g *heldLease) Broken() <-chan struct{} { return g.broken }

func (g *heldLease) Again(context.Context) (Lease, error) {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.of.away > 0 {
		g.of.away--
		return nil, errors.New("nobody is there")
	}
	return g.of.give(), nil
}

func (g *heldLease) End(context.Context) error {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.of.ended = append(g.of.ended, g)
	return nil
}

func (l *leaser) last() *heldLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given
}

// A scope is held again when its host has come back, which is not brought up for that:
// somebody may have ended it. It ends by the lease that is held then.
func TestAScopeIsHeldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &leaser{}
		h := &ScopeHold{Host: host, Path: "mcp/a"}
		var work sync.WaitGroup
		require.NoError(t, h.Take(t.Context(), &work))
		require.NoError(t, h.Take(t.Context(), &work))
		first := host.last()
		host.away = 9
		close(first.broken)
		synctest.Wait()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Same(t, first, host.last(), "it is away for longer")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.NotSame(t, first, host.last())
		require.Equal(t, 1, host.asked)
		require.NoError(t, h.End())
		require.Equal(t, []*heldLease{host.last()}, host.ended)
		work.Wait()
	})
}
