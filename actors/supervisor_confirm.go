package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A command ends after the confirmation that its end is recorded. A closing session or scope
// waits for that, at most recordPatience, and not at all if no fact will be recorded any
// more. The engine keeps ends that are not recorded.

// recordPatience is how long an end waits for a failing journal. The recorder has tried again
// by then.
const recordPatience = recordRetryMost + time.Second

// confirmEnds says that ends may have waited long enough for the journal.
type confirmEnds struct{ noDeadLetter }

// confirm tells a command that the end of its job is recorded, or with retired its last fact.
// From then on the supervisor answers for the job.
func (s *supervisor) confirm(ctx actor.Context, e *jobEntry, retired bool) {
	s.tellRecorded(ctx, e, recorded{job: e.job.ID, retired: retired})
}

// confirmUnwritten tells a command not to wait for the journal any more.
func (s *supervisor) confirmUnwritten(ctx actor.Context, e *jobEntry) {
	s.tellRecorded(ctx, e, recorded{job: e.job.ID, retired: e.job.State == messages.Retired, unwritten: s.endsPersist()})
}

func (s *supervisor) tellRecorded(ctx actor.Context, e *jobEntry, m recorded) {
	s.send(ctx, s.jobAddress(e), m, nil)
	if m.retired {
		s.retire(ctx, e)
	}
}

// endRecorded confirms a recorded end of a job.
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

// endUnrecorded confirms an end if it will never be recorded.
func (s *supervisor) endUnrecorded(ctx actor.Context, e *jobEntry) {
	if s.unwritable() && e.job.State.Ended() && !e.archived {
		s.confirmUnwritten(ctx, e)
	}
}

// recordAsked repeats the confirmation for a new command, if the end is recorded or not waited
// for.
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

// confirmLate confirms the last facts for which closes have waited long enough, and arms the
// timer for the others.
func (s *supervisor) confirmLate(ctx actor.Context) {
	if len(s.unwritten) == 0 || len(s.closings) == 0 {
		return
	}
	next := time.Duration(0)
	for _, e := range s.sorted() {
		if e.archived || e.job.State != messages.Retired || s.isClosing(s.jobAddress(e)) == nil {
			continue
		}
		left := recordPatience - time.Duration(clock().UnixNano()-e.retired)
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

// confirmSoon arms confirmEnds if closes are pending.
func (s *supervisor) confirmSoon(ctx actor.Context, after time.Duration) {
	if s.confirmTimer == nil && len(s.closings) > 0 {
		s.confirmTimer = sendLater(ctx, after, confirmEnds{})
	}
}
