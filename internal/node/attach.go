package node

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"troupe/host"
	"troupe/messages"
)

// Attach implements host.Host.
func (h nodeHost) Attach(ctx context.Context, id messages.JobID, size messages.Terminal) (io.ReadWriteCloser, error) {
	job, stream, err := host.Attachable(ctx, h, id, size)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	from, err := h.node.Output(ctx, job, stream.Stream, stream.Bytes)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	a := &attachment{ctx: ctx, cancel: cancel, from: from, host: h, job: job}
	a.release = sync.OnceValue(a.closeOutput)
	context.AfterFunc(ctx, func() { _ = a.release() })
	return a, nil
}

// attachment is the output of a job from a byte on, and its input.
type attachment struct {
	ctx     context.Context //nolint:containedctx // Read and Write take none
	cancel  context.CancelCauseFunc
	release func() error // closes the output once

	mu   sync.Mutex // guards from, which is for one goroutine, and over
	from *Follower
	over bool // the output has ended

	host nodeHost
	job  messages.JobID
}

// Read implements io.Reader.
func (a *attachment) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return 0, io.EOF
	case a.ctx.Err() != nil:
		return 0, context.Cause(a.ctx)
	}
	n, err := a.from.Read(p)
	if errors.Is(err, io.EOF) {
		a.over = true
		a.cancel(os.ErrClosed)
		return n, io.EOF
	}
	return n, a.failed(err)
}

// Write implements io.Writer. It returns when the kernel has the bytes.
func (a *attachment) Write(p []byte) (n int, err error) {
	for len(p) > n && err == nil {
		some := p[n:min(len(p), n+messages.MaxInput)]
		if _, err = host.Ask(a.ctx, a.host, messages.WriteInput{Job: a.job, Data: some}); err == nil {
			n += len(some)
		}
	}
	return n, a.failed(err)
}

// failed returns why a call has failed: the end of the attachment, or err.
func (a *attachment) failed(err error) error {
	if err != nil && a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return err
}

// Close implements io.Closer. It ends a Read that waits.
func (a *attachment) Close() error {
	a.cancel(os.ErrClosed)
	return a.release()
}

// closeOutput closes the output after the last Read.
func (a *attachment) closeOutput() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.from.Close()
}
