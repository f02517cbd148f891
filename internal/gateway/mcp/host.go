package mcp

import (
	"context"

	"troupe/internal/dialect"
	"troupe/messages"
)

// Host is the node or daemon that the gateway needs. Its errors are *messages.Error or
// those of ctx.
type Host interface {
	dialect.Host
	// Lease opens a scope and holds it. If the lease breaks because its holder has
	// died, the scope ends. Detached and promoted jobs keep running.
	Lease(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) (Lease, error)
}

// Results of a host, as dialects have them.
type (
	Text  = dialect.Text
	Bytes = dialect.Bytes
)

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
