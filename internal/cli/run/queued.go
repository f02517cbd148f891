package run

import (
	"context"
	"time"

	"troupe/messages"
)

// queuedFor is how long a command waits for its turn without a word: most wait
// only for the start of those before them.
const queuedFor = time.Second

// warnQueued says once that the command waits for others of its session: with -b
// it would look as if the daemon did not answer. It waits until the function that
// it returns is called.
func (g *foreground) warnQueued(ctx context.Context) func() {
	h, ok := g.host.(*daemonHost)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		patience := time.NewTimer(queuedFor)
		defer patience.Stop()
		select {
		case <-ctx.Done():
			return
		case <-patience.C:
		}
		g.warnWaiting(ctx, h)
	}()
	return func() {
		cancel()
		<-done
	}
}

// warnWaiting says that the command waits for its turn, if it does: one that is queued may
// also wait for a keeper that does not answer, which is told elsewhere.
func (g *foreground) warnWaiting(ctx context.Context, h *daemonHost) {
	job, err := h.job(ctx, g.job)
	if err != nil || job.State != messages.Queued {
		return
	}
	switch in, is := h.session(ctx, job); {
	case !is || in.Running < in.Parallel:
	case g.request.Open != nil && g.request.Open.Live():
		g.screen.Notef("the command waits for its turn in session %s: its shell runs one at a time", job.Session)
	default:
		g.screen.Notef("the command waits for its turn in scope %s: as many run there as may at a time (limits.parallel); another --scope has turns of its own", job.Scope)
	}
}
