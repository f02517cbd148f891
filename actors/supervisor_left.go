package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
)

// An end may be told that the journal does not have: it fails, and what is being closed
// waits for it no longer (confirmLate). Where engine and journal outlive the node, the
// engine then keeps the end until the journal has it. If the node dies before, the next
// one hears it from the engine and says the same; without it, it would say `lost`.

// left is what a job that is over here has left with its engine.
type left struct {
	proc backends.Process
	upTo uint64       // the engine's number of its last fact
	fact messages.Seq // that must be recorded before it is settled
}

// keepsEnds says whether what is told and not recorded is found again by the next node.
func (s *supervisor) keepsEnds() bool {
	return s.deps.lasts() && s.deps.Engine != nil && s.deps.Engine.CanKeep()
}

// unsettled takes over what a command leaves with the engine, and settles it if the
// journal has it by now.
func (s *supervisor) unsettled(ctx actor.Context, m unsettled) {
	e := s.heldBy(m.job)
	if e == nil {
		return
	}
	if s.left == nil {
		s.left = map[messages.JobID]left{}
	}
	s.left[m.job] = left{proc: m.proc, upTo: m.seq, fact: e.seq}
	s.movesNoMore(ctx, m.job)
	s.settleLeft(ctx, m.job)
}

// heldBy is the entry of a job that the node knows, or has forgotten but for its engine.
func (s *supervisor) heldBy(id messages.JobID) *entry {
	if e, ok := s.jobs[id]; ok {
		return e
	}
	return s.leaving[id]
}

// settleLeft lets the engine forget a job when the journal has its end.
func (s *supervisor) settleLeft(ctx actor.Context, id messages.JobID) {
	if l, ok := s.left[id]; ok && l.fact <= s.newest() {
		delete(s.left, id)
		l.proc.Settle(l.upTo)
		s.settled(ctx, id)
	}
}

// isLeft says whether a job waits for nothing but the journal.
func (s *supervisor) isLeft(e *entry) bool {
	_, is := s.left[e.job.ID]
	return is
}
