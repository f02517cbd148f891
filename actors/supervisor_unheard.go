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

// unheardAgain is before a stop of which nothing was heard is asked for once more.
const unheardAgain = time.Second

// unheardLate says that stops may have been lost.
type unheardLate struct{ quiet }

// stopUnheard ends a job for which nobody waits.
func (s *supervisor) stopUnheard(ctx actor.Context, r messages.StopCommand) {
	if s.unheard == nil {
		s.unheard = map[messages.JobID]messages.StopCommand{}
	}
	s.unheard[r.Job] = r
	ctx.Send(ctx.Self(), r)
	s.lookUnheard(ctx)
}

func (s *supervisor) lookUnheard(ctx actor.Context) {
	if s.unhearing == nil && len(s.unheard) > 0 {
		s.unhearing = later(ctx, unheardAgain, unheardLate{})
	}
}

// unheardLate asks again for what was lost.
func (s *supervisor) unheardLate(ctx actor.Context) {
	for _, id := range slices.Sorted(maps.Keys(s.unheard)) {
		s.heardOf(id)
		if r, still := s.unheard[id]; still {
			ctx.Send(ctx.Self(), r)
		}
	}
	if s.unhearing != nil {
		s.unhearing()
		s.unhearing = nil
	}
	s.lookUnheard(ctx)
}

// heardOf forgets a stop that has come to its job, or is not to be made any more.
func (s *supervisor) heardOf(id messages.JobID) {
	if len(s.unheard) == 0 || s.stillUnheard(id) {
		return
	}
	if delete(s.unheard, id); len(s.unheard) == 0 {
		s.unhearNone()
	}
}

// unhearNone asks for nothing more.
func (s *supervisor) unhearNone() {
	clear(s.unheard)
	if s.unhearing != nil {
		s.unhearing()
		s.unhearing = nil
	}
}

// stillUnheard says whether a job that was to be stopped goes on, and is nobody's still.
func (s *supervisor) stillUnheard(id messages.JobID) bool {
	e := s.jobs[id]
	if e == nil || e.over || e.given || len(e.debts) > 0 || e.job.Background {
		return false
	}
	switch e.job.State {
	case messages.Queued, messages.Starting, messages.Running:
		return true
	}
	return false
}
