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
	dialect.Leaser
	// Facts returns the facts recorded by now that r asks for, oldest first, at most most of
	// them. messages.FactsDropped stands for those that are not held any more. With r.Now it
	// returns only the number of the newest.
	Facts(ctx context.Context, r messages.Subscribe, most int) (FactPage, error)
}

// Results of a host, as dialects have them.
type (
	Text     = dialect.Text
	Bytes    = dialect.Bytes
	FactPage = dialect.FactPage
	Lease    = dialect.Lease
)
