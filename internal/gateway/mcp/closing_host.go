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

// Stop implements dialect.Host.
func (p *closingHost) Stop(ctx context.Context, r messages.StopCommand) (messages.CommandStopped, error) {
	if p.over.Err() != nil {
		return messages.CommandStopped{}, nil
	}
	return p.Host.Stop(ctx, r)
}

// CloseSession implements dialect.Host.
func (p *closingHost) CloseSession(ctx context.Context, r messages.CloseSession) (messages.SessionClosed, error) {
	if p.over.Err() != nil {
		return messages.SessionClosed{}, nil
	}
	return p.Host.CloseSession(ctx, r)
}

// Run implements dialect.Host.
func (p *closingHost) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if p.over.Err() != nil {
		return messages.Record{}, dialect.Text{}, errLeft
	}
	return p.Host.Run(ctx, r, most, known)
}

// Await implements dialect.Host. It ends with the client, for jobs that may outlive it.
func (p *closingHost) Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.over, cancel)()
	end, err := p.Host.Await(ctx, r)
	if p.over.Err() != nil && err != nil {
		return end, errLeft
	}
	return end, err
}
