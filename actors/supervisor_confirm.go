package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A command is told that the journal has the end of its job, and leaves. A part
// of the tree that is being closed waits for that, so that what is told of it is
// recorded before it is gone, but for no longer than recordPatience, and not at
// all when nobody writes the journal any more. The engine keeps what is not recorded.

// recordPatience is how long an end waits for a journal that takes no facts: its
// writer has tried once more by then.
const recordPatience = recordRetryMost + time.Second

// confirmEnds says that ends may have waited long enough for the journal.
type confirmEnds struct{ noDeadLetter }

// confirm tells a command that nothing is left to record of the end of its job,
// or of its last word, with which the node answers for the job itself.
func (s *supervisor) confirm(ctx actor.Context, e *jobEntry, retired bool) {
	s.tellRecorded(ctx, e, recorded{job: e.job.ID, retired: retired})
}

// confirmUnwritten tells it that nobody waits for the journal any more.
func (s *supervisor) confirmUnwritten(ctx actor.Context, e *jobEntry) {
	s.tellRecorded(ctx, e, recorded{job: e.job.ID, retired: e.job.State == messages.Retired, unwritten: s.endsPersist()})
}

func (s *supervisor) tellRecorded(ctx actor.Context, e *jobEntry, m recorded) {
	s.send(ctx, s.jobAddress(e), m, nil)
	if m.retired {
		s.retire(ctx, e)
	}
}

// endRecorded hears that the journal has what was told of a job.
func (s *supervisor) endRecorded(ctx actor.Context, fact messages.CommandFact) {
	e, ok := s.jobs[fact.Record().ID]
	if !ok || e.archived {
		s.settleEnd(ctx, fact.Record().ID)
		return
	}
	switch fact.(type) {
	case messages.CommandFinished, messages.CommandNotified:
		if e.job.State != messages.Retired {
			s.confirm(ctx, e, false)
		}
	case messages.CommandRetired:
		s.confirm(ctx, e, true)
	}
}

// endUnrecorded hears of an end that no journal will have: nobody writes it.
func (s *supervisor) endUnrecorded(ctx actor.Context, e *jobEntry) {
	if s.unwritable() && e.job.State.Ended() && !e.archived {
		s.confirmUnwritten(ctx, e)
	}
}

// queryRecorded tells a command again that the journal has its job's end, if it has, or
// that nobody waits for that.
func (s *supervisor) recordAsked(ctx actor.Context, m queryRecorded) {
	e := s.entryFor(m.at.Job)
	over := e == nil || e.archived
	written := e == nil || e.seq <= s.newest()
	if over || e.job.State.Ended() && (s.unwritable() || written) {
		s.send(ctx, m.at, recorded{
			job: m.at.Job, retired: over || e.job.State == messages.Retired, unwritten: !written && s.endsPersist(),
		}, nil)
	}
}

// confirmLate confirms the last words that closings have waited for long enough,
// and comes back for the others.
func (s *supervisor) confirmLate(ctx actor.Context) {
	if len(s.unwritten) == 0 || len(s.closings) == 0 {
		return
	}
	next := time.Duration(0)
	for _, e := range s.sorted() {
		if e.archived || e.job.State != messages.Retired || s.isClosing(s.jobAddress(e)) == nil {
			continue
		}
		left := recordPatience - clock().Sub(e.retired)
		if left <= 0 {
			s.confirmUnwritten(ctx, e)
		} else if next == 0 || left < next {
			next = left
		}
	}
	if next > 0 {
		s.confirmSoon(ctx, next)
	}
}

// confirmSoon sees to it that what closings wait for is looked at.
func (s *supervisor) confirmSoon(ctx actor.Context, after time.Duration) {
	if s.confirmTimer == nil && len(s.closings) > 0 {
		s.confirmTimer = sendLater(ctx, after, confirmEnds{})
	}
}
