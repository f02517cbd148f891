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

// unsettledEnd is what a job that is over here has left with its engine.
type unsettledEnd struct {
	proc backends.Process
	upTo uint64       // the engine's number of its last fact
	fact messages.Seq // that must be recorded before it is settled
}

// endsPersist says whether what is told and not recorded is found again by the next node.
func (s *supervisor) endsPersist() bool {
	return s.deps.lasts() && s.deps.Engine != nil && s.deps.Engine.CanKeep()
}

// unsettled takes over what a command leaves with the engine, and settles it if the
// journal has it by now.
func (s *supervisor) unsettled(ctx actor.Context, m unsettled) {
	e := s.entryFor(m.job)
	if e == nil {
		return
	}
	if s.unsettledEnds == nil {
		s.unsettledEnds = map[messages.JobID]unsettledEnd{}
	}
	s.unsettledEnds[m.job] = unsettledEnd{proc: m.proc, upTo: m.seq, fact: e.seq}
	s.failHandover(ctx, m.job)
	s.settleEnd(ctx, m.job)
}

// entryFor is the entry of a job that the node knows, or has forgotten but for its engine.
func (s *supervisor) entryFor(id messages.JobID) *jobEntry {
	if e, ok := s.jobs[id]; ok {
		return e
	}
	return s.settling[id]
}

// settleEnd lets the engine forget a job when the journal has its end.
func (s *supervisor) settleEnd(ctx actor.Context, id messages.JobID) {
	if l, ok := s.unsettledEnds[id]; ok && l.fact <= s.newest() {
		delete(s.unsettledEnds, id)
		l.proc.Settle(l.upTo)
		s.settled(ctx, id)
	}
}

// endUnsettled says whether a job waits for nothing but the journal.
func (s *supervisor) endUnsettled(e *jobEntry) bool {
	_, is := s.unsettledEnds[e.job.ID]
	return is
}
