package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// journal hears the recorder and the channels.
func (s *supervisor) journal(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case recorderReady:
		s.ready(ctx, m)
	case messages.FactRecorded:
		s.recorded(ctx, m)
	case recordFailed:
		s.recordFailed(m)
	case readFacts:
		s.readFacts(ctx, m)
	case messages.Acknowledge:
		s.acknowledge(ctx, m)
	case flushed:
		s.flushed(ctx)
	}
}

// ready begins the node's work, or goes on with a recorder that was restarted:
// what it has not confirmed is given to it again under the same numbers.
func (s *supervisor) ready(ctx actor.Context, m recorderReady) {
	s.seq = max(s.seq, m.last)
	for _, fact := range s.unwritten {
		ctx.Send(s.recorder, record{fact: fact})
	}
	if s.phase != opening {
		return
	}
	s.phase = open
	for _, e := range s.early {
		ctx.RequestWithCustomSender(ctx.Self(), e.request, e.sender)
	}
	s.early = nil
}

// record numbers a fact about a job and gives it to the journal. The fact it
// returns carries its number in the record. That a job drains is only shown.
func (s *supervisor) record(ctx actor.Context, e *entry, fact messages.CommandFact) messages.CommandFact {
	if _, passing := fact.(messages.CommandDraining); passing {
		return fact
	}
	s.seq++
	e.job.Seq = s.seq
	fact = fact.With(e.job)
	s.write(ctx, fact.(messages.Fact))
	return fact
}

// note numbers a fact about a session or scope.
func (s *supervisor) note(ctx actor.Context, fact messages.Fact) {
	s.seq++
	s.write(ctx, fact)
}

// write keeps the fact until the journal has it.
func (s *supervisor) write(ctx actor.Context, fact messages.Fact) {
	r := messages.FactRecorded{Seq: s.seq, Fact: fact}
	s.unwritten = append(s.unwritten, r)
	if s.recorder != nil {
		ctx.Send(s.recorder, record{fact: r})
	}
}

// recorded tells the channels, and lets what has ended go.
func (s *supervisor) recorded(ctx actor.Context, m messages.FactRecorded) {
	if len(s.unwritten) == 0 || s.unwritten[0].Seq != m.Seq {
		return // confirmed before: the recorder was restarted
	}
	s.unwritten = s.unwritten[1:]
	s.channels.deliver(ctx, m)
	if fact, ok := m.Fact.(messages.CommandFact); ok {
		s.endRecorded(ctx, fact)
	}
	if s.phase == recordingRest && len(s.unwritten) == 0 {
		s.flushChannels(ctx)
	}
}

// endRecorded tells a command that the journal has its job's end.
func (s *supervisor) endRecorded(ctx actor.Context, fact messages.CommandFact) {
	e, ok := s.jobs[fact.Record().ID]
	if !ok || e.over {
		return
	}
	switch fact.(type) {
	case messages.CommandFinished:
		if e.job.State != messages.Retired {
			s.send(ctx, s.home(e), recorded{job: e.job.ID}, nil)
		}
	case messages.CommandRetired:
		s.send(ctx, s.home(e), recorded{job: e.job.ID, retired: true}, nil)
		s.retire(ctx, e)
	}
}

// recordAsked tells a command again that the journal has its job's end, if it has.
func (s *supervisor) recordAsked(ctx actor.Context, m recordAsked) {
	e, ok := s.jobs[m.at.Job]
	if !ok || e.over || e.job.State.Ended() && e.job.Seq <= s.written() {
		s.send(ctx, m.at, recorded{job: m.at.Job, retired: !ok || e.over || e.job.State == messages.Retired}, nil)
	}
}

// recordFailed stops new work while the journal takes no facts: what cannot be
// recorded must not begin.
func (s *supervisor) recordFailed(m recordFailed) {
	if m.err == nil {
		s.broken = nil
		return
	}
	s.broken = &messages.Error{
		Code: messages.ResourceExhausted, Reason: "journal",
		Message: "the journal cannot be written: " + m.err.Error(), Hint: "make room for it; it is tried again by itself",
	}
}

// recorderLost is the end of new work: the recorder failed too often.
func (s *supervisor) recorderLost(ctx actor.Context) {
	s.recorder = nil
	s.broken = &messages.Error{
		Code: messages.ResourceExhausted, Reason: "journal",
		Message: "the journal's writer failed too often, so no new work is taken", Hint: "look at the log and restart the node",
	}
	for _, e := range s.early {
		if r, ok := e.request.(messages.Refusable); ok && e.sender != nil {
			ctx.Send(e.sender, r.Refuse(s.broken))
		}
	}
	s.early = nil
	if s.phase == opening {
		s.phase = open
	}
	if s.phase == recordingRest {
		s.flushChannels(ctx)
	}
}

func (s *supervisor) readFacts(ctx actor.Context, m readFacts) {
	if s.recorder == nil {
		return
	}
	ctx.RequestWithCustomSender(s.recorder, m, ctx.Sender())
}
