package actors

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// journal takes messages of the recorder and the channels.
func (s *supervisor) journal(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case recorderReady:
		s.ready(ctx, m)
	case messages.FactRecorded:
		s.recorded(ctx, m)
	case recordFailed:
		s.recordFailed(ctx, m)
	case recordAgain:
		s.recordAgain(ctx)
	case readFacts:
		s.readFacts(ctx, m)
	case messages.Acknowledge:
		if c := s.channels.byID[m.Channel]; c != nil && c.notice == nil {
			s.acknowledge(ctx, m)
		}
	case flushed:
		s.flushed(ctx)
	}
}

// unwritable reports whether no fact will be recorded any more.
func (s *supervisor) unwritable() bool {
	return s.inlineJournal == nil && (s.recorder == nil || s.journalDead)
}

// ready opens the node after the start of the recorder. A restarted recorder gets the
// unconfirmed facts again under the same numbers.
func (s *supervisor) ready(ctx actor.Context, m recorderReady) {
	s.seq = max(s.seq, m.last)
	if s.recorder != nil {
		for _, fact := range s.unwritten {
			ctx.Send(s.recorder, s.toRecord(fact))
		}
	}
	s.recordFailed(ctx, recordFailed{}) // clears an error of the former recorder
	if s.phase != opening {
		return
	}
	s.phase = open
	s.restore(ctx)
	if s.endsPending == 0 {
		s.replayDeferred(ctx)
	}
}

// record numbers a fact about a job and gives it to the journal. It returns the fact with the
// record. CommandDraining is only shown, not recorded.
func (s *supervisor) record(ctx actor.Context, e *jobEntry, fact messages.CommandFact) messages.CommandFact {
	switch fact.(type) {
	case messages.CommandDraining:
		return fact
	case messages.CommandChanged:
		if s.journalErr != nil && s.changeWaits(e.job.ID) {
			return fact
		}
	}
	s.seq++
	e.seq = s.seq
	return s.write(ctx, fact.With(e.journaled()).(messages.Fact)).(messages.CommandFact)
}

// note numbers a fact about a session or scope.
func (s *supervisor) note(ctx actor.Context, fact messages.Fact) {
	s.seq++
	s.write(ctx, fact)
}

// changeWaits reports whether a change of a job waits for the journal already. While the
// journal fails later changes are merged into one (tellChanges), so that a job with many
// changes does not fill the memory.
func (s *supervisor) changeWaits(id messages.JobID) bool {
	return slices.ContainsFunc(s.unwritten, func(r messages.FactRecorded) bool {
		changed, ok := r.Fact.(messages.CommandChanged)
		return ok && changed.Job.ID == id
	})
}

// tellChanges records the jobs that have changed since their last waiting fact.
func (s *supervisor) tellChanges(ctx actor.Context) {
	last := map[messages.JobID]messages.Record{}
	for _, r := range s.unwritten {
		if fact, ok := r.Fact.(messages.CommandFact); ok {
			last[fact.Record().ID] = fact.Record()
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		if e, ok := s.jobs[id]; ok && !e.archived && !e.job.State.Ended() && !reflect.DeepEqual(e.record(), last[id]) {
			s.record(ctx, e, messages.CommandChanged{})
		}
	}
}

// write keeps a fact until the journal has it, and returns it with its time. If no fact will be
// recorded any more, the first missing one is enough.
func (s *supervisor) write(ctx actor.Context, fact messages.Fact) messages.Fact {
	fact = messages.Dated(fact, clock())
	if s.unwritable() && len(s.unwritten) > 0 {
		return fact
	}
	r := messages.FactRecorded{Seq: s.seq, Fact: fact}
	s.unwritten = append(s.unwritten, r)
	if s.recorder != nil {
		ctx.Send(s.recorder, s.toRecord(r))
	}
	return fact
}

// recorded takes that the recorder has written the next fact.
func (s *supervisor) recorded(ctx actor.Context, m messages.FactRecorded) {
	if len(s.unwritten) == 0 || s.unwritten[0].Seq != m.Seq {
		return // confirmed before a restart of the recorder
	}
	if len(s.unwritten) > 1 {
		s.unwritten = s.unwritten[1:]
	} else {
		s.unwritten[0] = messages.FactRecorded{} // reuse the array
		s.unwritten = s.unwritten[:0]
	}
	s.written(ctx, []messages.FactRecorded{m})
}

// written delivers recorded facts to the channels and confirms recorded ends.
func (s *supervisor) written(ctx actor.Context, facts []messages.FactRecorded) {
	s.channels.deliver(ctx, facts)
	for _, m := range facts {
		if fact, ok := m.Fact.(messages.CommandFact); ok {
			s.endRecorded(ctx, fact)
			s.queueRecorded(ctx, fact.Record())
		}
	}
	if s.phase == recordingRest && len(s.unwritten) == 0 {
		s.flushChannels(ctx)
	}
}

// recordFailed refuses new work and pauses admission while the journal takes no facts: a start
// that cannot be recorded must not happen.
func (s *supervisor) recordFailed(ctx actor.Context, m recordFailed) {
	if m.err == nil {
		if s.journalErr != nil && !s.journalDead {
			s.journalErr = nil
			s.deps.Log.Info("the journal can be written again")
			s.tellChanges(ctx)
			s.grantSlots(ctx, s.admission.Pause(false))
		}
		return
	}
	s.admission.Pause(true)
	broken := &messages.Error{
		Code: messages.ResourceExhausted, Reason: "journal",
		Message: "cannot write the journal: " + m.err.Error(), Hint: "free disk space, troupe retries by itself",
	}
	if coded := lastWord(m.err); coded != nil {
		broken.Message, broken.Hint = "cannot write the journal: "+coded.Message, coded.Hint+"; then restart the node"
	}
	if s.journalErr == nil {
		s.deps.Log.Error("no new work is taken", slog.String("error", broken.Error()))
		s.channels.lowerNewest(ctx, s.newest())
	}
	s.journalErr = broken
	s.removeAgain(ctx, func(messages.JobID) bool { return true })
	if m.never {
		s.journalDead = true
		s.nothingRecorded(ctx)
	}
}

// recorderLost takes that the recorder has crashed too often.
func (s *supervisor) recorderLost(ctx actor.Context) {
	s.recorder = nil
	s.channels.lowerNewest(ctx, s.newest())
	s.journalErr = &messages.Error{
		Code: messages.ResourceExhausted, Reason: "journal",
		Message: "the journal's writer crashed too often, so no new work is taken", Hint: "look at the log and restart the node",
	}
	s.deps.Log.Error("no new work is taken", slog.String("error", s.journalErr.Message))
	s.nothingRecorded(ctx)
}

// nothingRecorded ends new work: the journal never takes facts again. It ends queued jobs and
// confirms ended ones.
func (s *supervisor) nothingRecorded(ctx actor.Context) {
	s.admission.Pause(true)
	s.unwritten = slices.Clone(s.unwritten[:min(1, len(s.unwritten))])
	for _, e := range s.deferred {
		if r, ok := e.request.(messages.Refusable); ok && e.sender != nil {
			ctx.Send(e.sender, r.Refuse(s.journalErr))
		}
	}
	s.deferred = nil
	if s.phase == opening {
		s.phase = open
	}
	for _, e := range s.sorted() {
		s.endUnrecorded(ctx, e)
		s.neverStarts(ctx, e)
	}
	if s.phase == recordingRest {
		s.flushChannels(ctx)
	}
}

// neverStarts stops a queued job if no slot will ever be granted.
func (s *supervisor) neverStarts(ctx actor.Context, e *jobEntry) {
	if s.unwritable() && e.job.State == messages.Queued && (!e.slotGranted || s.startPending(e)) {
		ctx.Send(ctx.Self(), messages.StopCommand{Job: e.job.ID, By: messages.BySystem, Reason: s.journalErr.Message})
	}
}

func (s *supervisor) readFacts(ctx actor.Context, m readFacts) {
	switch {
	case s.inlineJournal != nil:
		answerRead(ctx, s.inlineJournal, m, s.newest())
	case s.recorder != nil:
		ctx.RequestWithCustomSender(s.recorder, m, ctx.Sender())
	default:
		refuseRead(ctx, m, errRecorderLost)
	}
}

// errRecorderLost is the error of reads after recorderLost.
var errRecorderLost = &messages.Error{
	Code: messages.ResourceExhausted, Reason: "journal", Message: "its recorder crashed too often", Hint: "look at the log",
}
