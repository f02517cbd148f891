package mcp

import (
	"context"

	"troupe/internal/dialect"
	"troupe/messages"
)

// closingHost is the host of a client's session in a dialect. When the client leaves,
// the session ends without its jobs. The scope stops those, except promoted ones and
// all with Keep. A dialect whose host belongs to one client would stop every job by
// name.
type closingHost struct {
	dialect.Host
	over context.Context //nolint:containedctx // the client's life
}

// Do implements dialect.Host. A wait ends with the client, for jobs that may outlive it.
func (p *closingHost) Do(ctx context.Context, request messages.Refusable) (any, error) {
	gone := p.over.Err() != nil
	switch request.(type) {
	case messages.StopCommand:
		if gone {
			return messages.CommandStopped{}, nil
		}
	case messages.CloseSession:
		if gone {
			return messages.SessionClosed{}, nil
		}
	case messages.WaitJobs:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.over, cancel)()
		end, err := p.Host.Do(ctx, request)
		if p.over.Err() != nil && err != nil {
			return end, errLeft
		}
		return end, err
	}
	return p.Host.Do(ctx, request)
}

// Run implements dialect.Host.
func (p *closingHost) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if p.over.Err() != nil {
		return messages.Record{}, dialect.Text{}, errLeft
	}
	return p.Host.Run(ctx, r, most, known)
}
