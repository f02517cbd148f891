package client

import (
	"context"
	"io"
	"os"

	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// Attach implements host.Host. It takes the input lease, and has it again at the next daemon.
func (h daemonHost) Attach(ctx context.Context, id messages.JobID, size messages.Terminal) (io.ReadWriteCloser, error) {
	job, stream, err := host.Attachable(ctx, h, id, size)
	if err != nil {
		return nil, err
	}
	at, err := h.client.Attach(ctx, job, AttachOptions{Stream: stream.Stream, Offset: stream.Bytes, Lease: api.AttachTake})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(ctx, func() { _ = at.Close() })
	return &attachedJob{ctx: ctx, cancel: cancel, at: at}, nil
}

// attachedJob is an attachment as a stream of bytes.
type attachedJob struct {
	ctx    context.Context //nolint:containedctx // Read and Write take none
	cancel context.CancelCauseFunc
	at     *Attachment
	left   []byte // output that was received and not read
	over   bool   // the output has ended
}

// Read implements io.Reader. An input that the job has refused is an error once.
func (a *attachedJob) Read(p []byte) (int, error) {
	if a.over {
		return 0, io.EOF
	}
	for len(a.left) == 0 && a.ctx.Err() == nil {
		e, err := a.at.Next(a.ctx)
		switch {
		case err != nil:
			return 0, a.failed(err)
		case e.Said.Kind == api.AttachFailed && e.Said.Error != nil:
			return 0, e.Said.Error
		case e.Said.Kind == api.AttachEnded:
			a.over = true
			_ = a.Close()
			return 0, io.EOF
		}
		a.left = e.Data
	}
	if a.ctx.Err() != nil {
		return 0, context.Cause(a.ctx)
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// Write implements io.Writer.
func (a *attachedJob) Write(p []byte) (int, error) {
	if err := a.at.Write(a.ctx, p); err != nil {
		return 0, a.failed(err)
	}
	return len(p), nil
}

// failed returns why a call has failed: the end of the attachment, or err.
func (a *attachedJob) failed(err error) error {
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return err
}

// Close implements io.Closer. The job goes on.
func (a *attachedJob) Close() error {
	a.cancel(os.ErrClosed)
	return a.at.Close()
}
