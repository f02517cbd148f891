package actors

import (
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// An actor that crashes can lose a stop. If no client waits for it, the supervisor sends it
// again until the job is stopping. Otherwise the job of a client that has gone would run on.

// stopRetryDelay is the time before a stop is sent again.
const stopRetryDelay = time.Second

// stopRetryTick says that stops may have been lost.
type stopRetryTick struct{ noDeadLetter }

// stopWithRetry stops a job. No client waits for the answer.
func (s *supervisor) stopWithRetry(ctx actor.Context, r messages.StopCommand) {
	if s.stopRetries == nil {
		s.stopRetries = map[messages.JobID]messages.StopCommand{}
	}
	s.stopRetries[r.Job] = r
	ctx.Send(ctx.Self(), r)
	s.armStopRetry(ctx)
}

func (s *supervisor) armStopRetry(ctx actor.Context) {
	if s.stopRetryTimer == nil && len(s.stopRetries) > 0 {
		s.stopRetryTimer = sendLater(ctx, stopRetryDelay, stopRetryTick{})
	}
}

// onStopRetryTick sends the pending stops again.
func (s *supervisor) onStopRetryTick(ctx actor.Context) {
	for _, id := range slices.Sorted(maps.Keys(s.stopRetries)) {
		s.clearStopRetry(id)
		if r, still := s.stopRetries[id]; still {
			ctx.Send(ctx.Self(), r)
		}
	}
	if s.stopRetryTimer != nil {
		s.stopRetryTimer()
		s.stopRetryTimer = nil
	}
	s.armStopRetry(ctx)
}

// clearStopRetry removes a stop that has reached its job or is not needed any more.
func (s *supervisor) clearStopRetry(id messages.JobID) {
	if len(s.stopRetries) == 0 || s.stopPending(id) {
		return
	}
	if delete(s.stopRetries, id); len(s.stopRetries) == 0 {
		s.disarmStopRetry()
	}
}

// disarmStopRetry removes all stops and cancels the timer.
func (s *supervisor) disarmStopRetry() {
	clear(s.stopRetries)
	if s.stopRetryTimer != nil {
		s.stopRetryTimer()
		s.stopRetryTimer = nil
	}
}

// stopPending reports whether a job that is being replaced, or a foreground job without a
// client, has not been stopped.
func (s *supervisor) stopPending(id messages.JobID) bool {
	e := s.jobs[id]
	if e == nil || e.archived || e.sessionAbandoned || !s.isReplaced(id) && (len(e.replyTo) > 0 || e.job.Background) {
		return false
	}
	switch e.job.State {
	case messages.Queued, messages.Starting, messages.Running:
		return true
	}
	return false
}
