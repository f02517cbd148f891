package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
)

// endsDue bounds how long a node that begins again answers nobody because of ends that
// its engine has and has not told: an engine tells what it keeps at once, ten thousand
// jobs take about a second of it, and a client gives a daemon that starts ten.
const endsDue = 5 * time.Second

// endsTimeout says that a node has waited for ends long enough.
type endsTimeout struct{ noDeadLetter }

// waitForEnds holds back what is asked until the node has heard the ends that its engine
// has and the journal has not. No reply waits for the journal (decision 012), so whoever
// was told of such an end by the node before would be told now that the job runs.
func (s *supervisor) waitForEnds(ctx actor.Context, held []backends.InventoryJob) {
	for _, h := range held {
		if e := s.byUID[h.ID]; h.Ended && e != nil && !e.job.State.Ended() {
			e.endPending = true
			s.endsPending++
		}
	}
	if s.endsPending > 0 {
		s.timers = append(s.timers, sendLater(ctx, endsDue, endsTimeout{}))
	}
}

// endReceived goes on when the last end has come that was waited for.
func (s *supervisor) endReceived(ctx actor.Context, e *jobEntry) {
	if !e.endPending || !e.job.State.Ended() {
		return
	}
	e.endPending = false
	if s.endsPending--; s.endsPending == 0 {
		s.replayDeferred(ctx)
	}
}

// endsTimeout answers with what is known.
func (s *supervisor) endsLate(ctx actor.Context) {
	if s.endsPending == 0 {
		return
	}
	s.deps.Log.Warn("the engine has not reported the end of some jobs; they are shown as running until it does", slog.Int("jobs", s.endsPending))
	for _, e := range s.jobs {
		e.endPending = false
	}
	s.endsPending = 0
	s.replayDeferred(ctx)
}

// replayDeferred takes what was asked too early, in its order.
func (s *supervisor) replayDeferred(ctx actor.Context) {
	for _, e := range s.deferred {
		ctx.RequestWithCustomSender(ctx.Self(), e.request, e.sender)
	}
	s.deferred = nil
}
