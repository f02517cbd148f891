package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A session whose place, or whose jobs, make it fail every time would be made
// anew without end. When it has failed too often it is made without its place: it
// holds its jobs by their engine, marks them unsupervised and can only stop them.
// Should even that fail as often, nobody is put in its place, as nobody is in that of
// a scope that fails as often.

// sessionCrashLimit is how many failures of a session within crashWindow are made good.
const sessionCrashLimit = 5

// countCrash counts a failure of a session or scope: whether a session is to be made without
// its place, or nothing at all.
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

// holds says whether the dead actor held what is at an address.
func (o subtreeLost) holds(at messages.Address) bool {
	if o.session != "" {
		return at.Scope == o.scope && at.Session == o.session
	}
	return o.scope.Contains(at.Scope)
}

// giveUp leaves a session, or a scope with all in it, without an actor. What runs in it
// runs on, and ends with the node; what waits in it ends now.
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
	if e.waits() { // nothing of it runs, and nobody is left to let it begin
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
		e.edit(func(job *messages.Job) { job.Flags = append(slices.Clip(job.Flags), messages.FlagUnsupervised) })
		s.record(ctx, e, messages.CommandChanged{})
	}
	s.queueReplies(e, messages.CommandRejected{Err: *unsupervised(e.job.ID)})
}

// neverBegins is why a job has ended that waited in a session which was given up.
func neverBegins(id messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.Internal, Reason: "unsupervised",
		Message: "the session of job " + string(id) + " crashed too often before the job could start; nothing of it has run", Hint: "run it again, in another session",
	}
}

// unsupervised refuses what nobody is left to do for a job.
func unsupervised(id messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.Internal, Reason: "unsupervised",
		Message: "the session of job " + string(id) + " crashed too often; the job runs on unsupervised", Hint: "shut the node down to end it",
	}
}
