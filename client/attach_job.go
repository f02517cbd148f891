package client

import (
	"context"
	"io"
	"sync/atomic"

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
	ctx, cancel := context.WithCancel(ctx)
	return &attachedJob{ctx: ctx, cancel: cancel, at: at}, nil
}

// attachedJob is an attachment as a stream of bytes.
type attachedJob struct {
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	cancel context.CancelFunc
	at     *Attachment
	left   []byte // output that was received and not read
	over   bool   // the output has ended
	closed atomic.Bool
}

// Read implements io.Reader. An input that the job has refused is an error once.
func (a *attachedJob) Read(p []byte) (int, error) {
	for len(a.left) == 0 && !a.over {
		e, err := a.at.Next(a.ctx)
		switch {
		case err != nil && a.closed.Load():
			return 0, io.ErrClosedPipe
		case err != nil:
			return 0, err
		case e.Said.Kind == api.AttachFailed && e.Said.Error != nil:
			return 0, e.Said.Error
		}
		a.left, a.over = e.Data, e.Said.Kind == api.AttachEnded
	}
	if len(a.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// Write implements io.Writer.
func (a *attachedJob) Write(p []byte) (int, error) {
	if err := a.at.Write(a.ctx, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements io.Closer. The job goes on.
func (a *attachedJob) Close() error {
	a.closed.Store(true)
	a.cancel()
	return a.at.Close()
}
