package actors

import (
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A stop that nobody waits for may be lost with an actor on its way down the tree, and
// nobody would ask for it again: the job of a caller who has gone would run on. The
// node asks until the job is being ended.

// stopRetryDelay is before a stop of which nothing was heard is asked for once more.
const stopRetryDelay = time.Second

// stopRetryTick says that stops may have been lost.
type stopRetryTick struct{ noDeadLetter }

// stopWithRetry ends a job for which nobody waits.
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

// onStopRetryTick asks again for what was lost.
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

// clearStopRetry forgets a stop that has come to its job, or is not to be made any more.
func (s *supervisor) clearStopRetry(id messages.JobID) {
	if len(s.stopRetries) == 0 || s.stopPending(id) {
		return
	}
	if delete(s.stopRetries, id); len(s.stopRetries) == 0 {
		s.disarmStopRetry()
	}
}

// disarmStopRetry asks for nothing more.
func (s *supervisor) disarmStopRetry() {
	clear(s.stopRetries)
	if s.stopRetryTimer != nil {
		s.stopRetryTimer()
		s.stopRetryTimer = nil
	}
}

// stopPending says whether a job that was to be stopped goes on, and is nobody's still.
func (s *supervisor) stopPending(id messages.JobID) bool {
	e := s.jobs[id]
	if e == nil || e.archived || e.sessionAbandoned || len(e.replyTo) > 0 || e.job.Background {
		return false
	}
	switch e.job.State {
	case messages.Queued, messages.Starting, messages.Running:
		return true
	}
	return false
}
