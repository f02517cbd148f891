package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A session that crashes too often is opened without its executor. It adopts its jobs by the
// engine, marks them unsupervised and can only stop them. After twice as many crashes it is
// abandoned, as a scope is.

// sessionCrashLimit bounds the crashes of a session within crashWindow.
const sessionCrashLimit = 5

// countCrash counts a crash of a session or scope. bare says to open the session without its
// executor, given to abandon it.
func (s *supervisor) countCrash(lost subtreeLost) (bare, given bool) {
	at := messages.Address{Scope: lost.scope, Session: lost.session}
	c := s.crashCounts[at]
	if c == nil {
		c = &crashes{}
		s.crashCounts[at] = c
	}
	n := c.count(clock())
	return n > sessionCrashLimit && lost.session != "", n > 2*sessionCrashLimit
}

// holds reports whether an address is in the crashed session or scope.
func (o subtreeLost) holds(at messages.Address) bool {
	if o.session != "" {
		return at.Scope == o.scope && at.Session == o.session
	}
	return o.scope.Contains(at.Scope)
}

// giveUp abandons a session, or a scope with all below. Its running jobs run on until the node
// ends; its queued jobs end now.
func (s *supervisor) giveUp(ctx actor.Context, lost subtreeLost) {
	for at := range s.sessions {
		if lost.holds(at) {
			delete(s.sessions, at)
			delete(s.sessionSpecs, at)
			delete(s.shells.uses, at)
			s.leaveUnsettled(at)
		}
	}
	if lost.session == "" {
		for path := range s.scopeQuotas {
			if lost.scope.Contains(path) {
				delete(s.scopeQuotas, path)
				delete(s.scopesOpened, path)
			}
		}
	}
	for _, e := range s.sorted() {
		if !e.archived && lost.holds(messages.Address{Scope: e.job.Scope, Session: e.job.Session}) {
			s.giveUpJob(ctx, e, lost)
		}
	}
	for at, o := range s.closings {
		if !lost.holds(at) {
			continue
		}
		delete(s.closings, at)
		for _, client := range o.clients {
			ctx.Send(client, messages.RequestRejected{Err: *internalError()})
		}
	}
	if above := lost.above(); above != "" {
		s.send(ctx, messages.Address{Scope: above}, rebuilt{}, nil)
	}
	s.shutdownStep(ctx)
}

func (s *supervisor) giveUpJob(ctx actor.Context, e *jobEntry, lost subtreeLost) {
	if e.waits() { // it has not started and never will
		for _, path := range waysTo(e.job.Scope) {
			if !lost.holds(messages.Address{Scope: path}) {
				s.send(ctx, messages.Address{Scope: path}, quotaReleased{job: e.job.ID}, nil)
			}
		}
		s.unplaced(ctx, placeRejected{job: e.job.ID, err: *neverBegins(e.job.ID)})
		return
	}
	s.grantSlots(ctx, s.admission.Release(e.job.ID))
	e.sessionAbandoned = true
	s.endHandover(ctx, e.job.ID, unsupervised(e.job.ID))
	if !e.job.State.Ended() && !e.job.HasFlag(messages.FlagUnsupervised) {
		e.edit(func(job *messages.Record) { job.Flags = append(slices.Clip(job.Flags), messages.FlagUnsupervised) })
		s.record(ctx, e, messages.CommandChanged{})
	}
	s.queueReplies(e, messages.CommandRejected{Err: *unsupervised(e.job.ID)})
}

// neverBegins returns the error of a job that was queued in an abandoned session.
func neverBegins(id messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.Internal, Reason: "unsupervised",
		Message: "the session of job " + string(id) + " crashed too often before the job could start; nothing of it has run", Hint: "run it again, in another session",
	}
}

// unsupervised returns the refusal of a request to a job of an abandoned session.
func unsupervised(id messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.Internal, Reason: "unsupervised",
		Message: "the session of job " + string(id) + " crashed too often; the job runs on unsupervised", Hint: "shut the node down to end it",
	}
}
