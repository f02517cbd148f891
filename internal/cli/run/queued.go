package run

import (
	"context"
	"time"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// queuedFor delays the note that a command is queued: most wait only for the start of
// those before them.
const queuedFor = time.Second

// warnQueued reports once that a command in the foreground is queued. The returned function
// ends it. A background command is answered in the queue, see foreground.run.
func (g *foreground) warnQueued(ctx context.Context) func() {
	if g.request.Mode.Background() {
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
		g.warnWaiting(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// warnWaiting reports that the command waits for a start slot. A queued command may
// instead wait for an unresponsive keeper, which another message reports.
func (g *foreground) warnWaiting(ctx context.Context) {
	job, err := g.host.job(ctx)
	if err != nil || job.State != messages.Queued {
		return
	}
	if len(job.WaitsFor) > 0 {
		g.screen.Notef("the command waits for %s", out.WaitsText(job.WaitsFor))
		return
	}
	switch in, is := g.host.session(ctx, job); {
	case !is || in.Running < in.Parallel:
	case g.request.Open != nil && g.request.Open.Live():
		g.screen.Notef("the command is queued in session %s, whose shell runs one command at a time", job.Session)
	default:
		g.screen.Notef("the command is queued in scope %s: as many commands run there as limits.parallel allows; another --scope has a limit of its own", job.Scope)
	}
}
