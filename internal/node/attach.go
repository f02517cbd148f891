package node

import (
	"context"
	"io"

	"troupe/host"
	"troupe/messages"
)

// Attach implements host.Host.
func (h nodeHost) Attach(ctx context.Context, id messages.JobID, size messages.Terminal) (io.ReadWriteCloser, error) {
	job, stream, err := host.Attachable(ctx, h, id, size)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	from, err := h.node.Output(ctx, job, stream.Stream, stream.Bytes)
	if err != nil {
		cancel()
		return nil, err
	}
	return &attachment{Follower: from, ctx: ctx, cancel: cancel, host: h, job: job}, nil
}

// attachment is the output of a job from a byte on, and its input.
type attachment struct {
	*Follower
	ctx    context.Context //nolint:containedctx // a writer's Write takes none
	cancel context.CancelFunc
	host   nodeHost
	job    messages.JobID
}

// Write implements io.Writer. It returns when the kernel has the bytes.
func (a *attachment) Write(p []byte) (n int, err error) {
	for len(p) > n && err == nil {
		some := p[n:min(len(p), n+messages.MaxInput)]
		if _, err = host.Ask(a.ctx, a.host, messages.WriteInput{Job: a.job, Data: some}); err == nil {
			n += len(some)
		}
	}
	return n, err
}

// Close implements io.Closer.
func (a *attachment) Close() error {
	a.cancel()
	return a.Follower.Close()
}
