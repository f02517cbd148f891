package mcp

import (
	"context"

	"troupe/internal/dialect"
	"troupe/messages"
)

// Host is what the gateway needs of a node, here or in a daemon. Its errors are
// *messages.Error, or those of ctx.
type Host interface {
	dialect.Host
	// For is a context in which the host is asked for one client of many: its bounds
	// are those of that client.
	For(ctx context.Context, client string) context.Context
	// Both is the end of what stdout and stderr of a job have behind a byte of each, in
	// the order in which it arrived, at most so many bytes of it.
	Both(ctx context.Context, id messages.JobID, behind [2]int64, most int) (messages.OutputPage, error)
	OpenScope(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) error
	// Lease opens a scope, and holds it open: when the lease breaks, because its
	// holder has died, the scope ends with what is in it, but for jobs that were
	// detached or that a person has promoted.
	Lease(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) (Lease, error)
	// Leave ends a scope in the same way, and returns when nothing else is left.
	Leave(ctx context.Context, path messages.ScopePath) error
}

// What a host answers, as dialects have it.
type (
	Text  = dialect.Text
	Bytes = dialect.Bytes
)

// Lease is a scope that is held.
type Lease interface {
	// Broken is closed when it is held no more.
	Broken() <-chan struct{}
	// Again takes a lease that has broken, if its host is there. It never brings one
	// back: somebody may have ended it.
	Again(ctx context.Context) (Lease, error)
	// End ends the scope, and returns when nothing is left of it but what is kept.
	End(ctx context.Context) error
}
