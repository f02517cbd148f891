package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
)

// While the journal fails a close may report an end that is not recorded (confirmLate). If
// engine and journal outlive the node, the engine keeps that end until it is recorded. After a
// crash the next node gets it from the engine; without it the job would be `lost`.

// unsettledEnd is an end that the engine keeps although the job is over here.
type unsettledEnd struct {
	proc backends.Process
	upTo uint64       // the engine's number of its last fact
	fact messages.Seq // to be recorded before it is settled
}

// endsPersist reports whether the next node finds reported ends that are not recorded.
func (s *supervisor) endsPersist() bool {
	return s.deps.lasts() && s.deps.Engine != nil && s.deps.Engine.CanKeep()
}

// unsettled takes over an end that the engine keeps, and settles it if it is recorded.
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

// entryFor returns the entry of a job, also of a removed one that is not settled.
func (s *supervisor) entryFor(id messages.JobID) *jobEntry {
	if e, ok := s.jobs[id]; ok {
		return e
	}
	return s.settling[id]
}

// settleEnd lets the engine forget a job if its end is recorded.
func (s *supervisor) settleEnd(ctx actor.Context, id messages.JobID) {
	if l, ok := s.unsettledEnds[id]; ok && l.fact <= s.newest() {
		delete(s.unsettledEnds, id)
		l.proc.Settle(l.upTo)
		s.settled(ctx, id)
	}
}

// endUnsettled reports whether a job waits only for the journal.
func (s *supervisor) endUnsettled(e *jobEntry) bool {
	_, is := s.unsettledEnds[e.job.ID]
	return is
}
