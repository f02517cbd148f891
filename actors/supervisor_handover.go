package actors

import (
	"cmp"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// handover is a hand-over that is on its way.
type handover struct {
	to      messages.ScopePath
	clients []*actor.PID
	early   []deferredRequest // what was asked of the job meanwhile
}

// wait keeps a request about a job that is on its way: it is passed on, in its
// turn, when the job has come.
func (m *handover) wait(ctx actor.Context, id messages.JobID, r any) {
	if len(m.early) >= maxEarly {
		refuse(ctx, r, isMoving(id))
		return
	}
	m.early = append(m.early, deferredRequest{r, ctx.Sender()})
}

func isMoving(id messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.Busy, Reason: "moving", Message: "job " + string(id) + " is being handed over", Hint: "ask again",
	}
}

// handOver moves a live job: its old place lets go, its new one adopts.
func (s *supervisor) handOver(ctx actor.Context, r messages.HandOver) {
	e, ok := s.find(r.Job)
	switch {
	case !ok:
		refuse(ctx, r, messages.NoSuchJob(r.Job))
		return
	case e.archived || e.job.State.Ended():
		s.answerFor(ctx, e, r)
		return
	}
	if err := cmp.Or(r.To.Check(), s.isClosing(messages.Address{Scope: r.To, Session: messages.DefaultSession})); err != nil {
		refuse(ctx, r, err)
		return
	}
	if e.sessionAbandoned {
		refuse(ctx, r, unsupervised(e.job.ID))
		return
	}
	m, moving := s.handovers[e.job.ID]
	if moving && m.to != r.To { // it goes there when it has come
		m.wait(ctx, e.job.ID, r)
		return
	}
	if !moving {
		m = &handover{to: r.To}
		s.handovers[e.job.ID] = m
		s.send(ctx, s.jobAddress(e), releaseJob{job: e.job.ID}, nil)
	}
	if ctx.Sender() != nil {
		m.clients = append(m.clients, ctx.Sender())
	}
}

// settled hears that nothing of a job is left to do: it is not handed over any
// more either.
func (s *supervisor) settled(ctx actor.Context, id messages.JobID) {
	if e, ok := s.jobs[id]; ok {
		e.settled, e.terms = true, nil
	}
	s.settledLate(id)
	s.failHandover(ctx, id)
}

// failHandover tells those who wait for a job to be handed over that it is over.
func (s *supervisor) failHandover(ctx actor.Context, id messages.JobID) {
	s.endHandover(ctx, id, lifecycle.JobFinished(id))
}

// endHandover tells those who wait for a job to be handed over why it does not move, and
// takes up what was asked of it meanwhile.
func (s *supervisor) endHandover(ctx actor.Context, id messages.JobID, err *messages.Error) {
	m, moving := s.handovers[id]
	if !moving {
		return
	}
	s.handoverDone(ctx, id)
	for _, client := range m.clients {
		ctx.Send(client, messages.RequestRejected{Err: *err})
	}
	for _, q := range m.early {
		ctx.RequestWithCustomSender(ctx.Self(), q.request, q.sender)
	}
}

func (s *supervisor) letGone(ctx actor.Context, m jobReleased) {
	e, ok := s.jobs[m.job]
	to, moving := s.handovers[m.job]
	if !ok || !moving {
		return
	}
	e.edit(func(job *messages.Job) { job.Scope, job.Session = to.to, messages.DefaultSession })
	if e.run != nil {
		run := *e.run // its former place has the other one
		run.Scope, run.Session, run.Open = e.job.Scope, e.job.Session, nil
		e.run = &run
	}
	terms := *e.terms
	terms.open = nil // that was the plan of the session it comes from
	e.terms = &terms
	e.slotOffered = false // by now it may have begun, whatever its new place has room for
	e.metaSaved = false
	if !e.job.State.Ended() { // before it is placed: by the number its engine is told who is right
		s.record(ctx, e, messages.CommandChanged{})
	}
	s.replace(ctx, e)
	s.handoverDone(ctx, m.job)
	for _, client := range to.clients {
		ctx.Send(client, messages.Acknowledged{})
	}
	for _, q := range to.early {
		if _, again := q.request.(messages.HandOver); again {
			ctx.RequestWithCustomSender(ctx.Self(), q.request, q.sender)
			continue
		}
		s.send(ctx, s.jobAddress(e), q.request, q.sender)
	}
}

// awaits says whether a job is being moved into a part of the tree. It is closed
// when the job has come: what is closing takes nothing in.
func (s *supervisor) awaits(at messages.Address) bool {
	for _, m := range s.handovers {
		if at.Session == "" && at.Scope.Contains(m.to) || at.Scope == m.to && at.Session == messages.DefaultSession {
			return true
		}
	}
	return false
}

// handoverDone ends a move, and begins the closings that waited for it.
func (s *supervisor) handoverDone(ctx actor.Context, id messages.JobID) {
	delete(s.handovers, id)
	for at, o := range s.closings {
		if o.awaitingHandover && !s.awaits(at) {
			o.awaitingHandover = false
			s.send(ctx, at, o.request, nil)
		}
	}
}
