package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A queued job outlives the node: the journal has its request, and the next node places it
// again. Before the start of a job that is queued in the journal, the journal takes it as
// starting. From then on only the engine can say that it runs: a job that is starting in the
// journal and unknown to the engine is lost, never started again.

// requestOf returns the request of a fact's job if it is queued in the fact.
func (s *supervisor) requestOf(fact messages.Fact) Request {
	about, ok := fact.(messages.CommandFact)
	if !ok || !s.endsPersist() {
		return Request{}
	}
	job := about.Record()
	if e := s.jobs[job.ID]; e != nil && job.State == messages.Queued {
		return Request{Job: job.ID, UID: job.UID, Run: e.run, Env: e.env}
	}
	return Request{}
}

// toRecord returns the message that has the recorder write a fact.
func (s *supervisor) toRecord(fact messages.FactRecorded) record {
	return record{fact: fact, key: s.keyOf(fact.Fact), request: s.requestOf(fact.Fact)}
}

// noteStart records that a queued job is about to start. It returns false for a job that is not
// queued in the journal, which needs no record.
func (s *supervisor) noteStart(ctx actor.Context, e *jobEntry) bool {
	if e.job.State != messages.Queued || e.seq == 0 || e.run == nil || !s.endsPersist() {
		return false
	}
	e.startSeq = s.seq + 1
	s.record(ctx, e, messages.CommandChanged{})
	e.startSeq = e.seq
	return true
}

// startPending reports whether a job waits for the record of its start.
func (s *supervisor) startPending(e *jobEntry) bool {
	return e.startSeq > s.newest() && e.job.State == messages.Queued
}

// queueRecorded takes that a fact about a job is recorded. A queued one gets its start slot if it
// is about to start; else its clients may be answered.
func (s *supervisor) queueRecorded(ctx actor.Context, job messages.Record) {
	e := s.jobs[job.ID]
	switch {
	case e == nil || e.job.State != messages.Queued || s.jobsReleased():
	case e.startSeq == 0:
		s.replyQueued(e)
	case e.startSeq == job.Seq:
		s.send(ctx, s.jobAddress(e), slotGranted{job: job.ID}, nil)
	}
}

// queuedAgain records that a job waits again, although its start was recorded.
func (s *supervisor) queuedAgain(ctx actor.Context, e *jobEntry) {
	if e.startSeq > 0 {
		e.startSeq = 0
		s.record(ctx, e, messages.CommandChanged{})
	}
}

// restoreQueued places a queued job of the former node. Its client may return, as that of a
// running job.
func (s *supervisor) restoreQueued(ctx actor.Context, e *jobEntry) {
	s.admission.Readmit(e.job.ID, e.job.Scope)
	if !e.run.Mode.Background() {
		e.leftRunning, e.budget = e.job.Background, e.terms.promoteAfter
	}
	waits := !e.run.Mode.Background() && !e.leftRunning
	if waits {
		e.clientWaiting = true
		e.terms.promoteAfter = 0 // as in restoreJob
	}
	s.place(ctx, e)
	if waits {
		s.awaitClient(ctx, e)
	}
}
