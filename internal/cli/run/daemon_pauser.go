package run

import (
	"context"
	"errors"
	"io"
	"time"

	"troupe/client"
	"troupe/internal/cli/connect"
	"troupe/messages"
)

// slowAfter is how long our reader may block us, in all, before we watch the job for
// backpressure. That takes a connection, which most runs do not need.
const slowAfter = 20 * time.Millisecond

// daemonPauser reads the size of a job's log from the daemon, and pauses the job there.
type daemonPauser struct {
	*jobHost
	release func() // guarded by the outputPauser
}

// AskAgain implements asker.
func (h *daemonPauser) AskAgain(ctx context.Context, request func() messages.Refusable) (any, error) {
	if err := h.await(ctx); err != nil {
		return nil, err
	}
	switch r := request().(type) {
	case messages.FollowOutput:
		return h.grew(ctx, r)
	case messages.PauseOutput:
		return messages.Acknowledged{}, h.hold(ctx, r)
	}
	return nil, errors.ErrUnsupported
}

// grew waits for a byte at r.From, and returns the size of the log.
func (h *daemonPauser) grew(ctx context.Context, r messages.FollowOutput) (any, error) {
	next, _, err := h.look(ctx, client.Range{Stream: r.Stream, Offset: r.From, Limit: 1, Follow: true})
	if err != nil {
		return nil, err
	}
	_, size, err := h.look(ctx, client.Range{Stream: r.Stream, Offset: r.From, Limit: 1})
	if next <= r.From {
		return messages.OutputEnded{Size: size}, err
	}
	return messages.OutputGrew{Size: size}, err
}

// look reads at most one byte, and returns the next offset and the size of the log.
func (h *daemonPauser) look(ctx context.Context, what client.Range) (next, size int64, err error) {
	out, err := connect.RetryBusy(ctx, h.again, func() (*client.Output, error) { return h.daemon.Output(ctx, h.name(), what) })
	if err != nil {
		return 0, 0, err
	}
	defer out.Close()
	if _, err := io.Copy(io.Discard, out); err != nil {
		return 0, 0, err
	}
	next, err = out.Next()
	return next, out.Size, err
}

// hold pauses the job. The daemon resumes it on release, or when our connection ends.
func (h *daemonPauser) hold(ctx context.Context, r messages.PauseOutput) error {
	if !r.Hold {
		if h.release != nil {
			h.release()
			h.release = nil
		}
		return nil
	}
	release, err := connect.RetryBusy(ctx, connect.WasRejected, func() (func(), error) {
		return h.daemon.Hold(context.WithoutCancel(ctx), h.name())
	})
	if err == nil {
		h.release = release
	}
	return err
}
