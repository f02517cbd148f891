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

// endsLate says that a node has waited for ends long enough.
type endsLate struct{ quiet }

// awaitEnds holds back what is asked until the node has heard the ends that its engine
// has and the journal has not. No reply waits for the journal (decision 012), so whoever
// was told of such an end by the node before would be told now that the job runs.
func (s *supervisor) awaitEnds(ctx actor.Context, held []backends.Held) {
	for _, h := range held {
		if e := s.byUID[h.ID]; h.Ended && e != nil && !e.job.State.Ended() {
			e.due = true
			s.due++
		}
	}
	if s.due > 0 {
		s.cancels = append(s.cancels, later(ctx, endsDue, endsLate{}))
	}
}

// endHeard goes on when the last end has come that was waited for.
func (s *supervisor) endHeard(ctx actor.Context, e *entry) {
	if !e.due || !e.job.State.Ended() {
		return
	}
	e.due = false
	if s.due--; s.due == 0 {
		s.answerEarly(ctx)
	}
}

// endsLate answers with what is known.
func (s *supervisor) endsLate(ctx actor.Context) {
	if s.due == 0 {
		return
	}
	s.deps.Log.Warn("the engine has ended jobs and does not tell of them: until it does they are shown as running", slog.Int("jobs", s.due))
	for _, e := range s.jobs {
		e.due = false
	}
	s.due = 0
	s.answerEarly(ctx)
}

// answerEarly takes what was asked too early, in its order.
func (s *supervisor) answerEarly(ctx actor.Context) {
	for _, e := range s.early {
		ctx.RequestWithCustomSender(ctx.Self(), e.request, e.sender)
	}
	s.early = nil
}
