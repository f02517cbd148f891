package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
)

// endsDue bounds the wait for pending ends after a restart. The engine replays ten thousand
// jobs in about a second, and a client waits ten seconds for a starting daemon.
const endsDue = 5 * time.Second

// endsTimeout says that endsDue has elapsed.
type endsTimeout struct{ noDeadLetter }

// waitForEnds defers requests until the node has received the ends that the engine has and the
// journal has not. No reply waits for the journal (decision 012), so a client may know such an
// end already.
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

// endReceived handles the deferred requests after the last pending end.
func (s *supervisor) endReceived(ctx actor.Context, e *jobEntry) {
	if !e.endPending || !e.job.State.Ended() {
		return
	}
	e.endPending = false
	if s.endsPending--; s.endsPending == 0 {
		s.replayDeferred(ctx)
	}
}

// endsLate handles the deferred requests although ends are pending.
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

// replayDeferred handles the deferred requests, in order.
func (s *supervisor) replayDeferred(ctx actor.Context) {
	for _, e := range s.deferred {
		ctx.RequestWithCustomSender(ctx.Self(), e.request, e.sender)
	}
	s.deferred = nil
}
