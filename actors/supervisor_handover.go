package actors

import (
	"cmp"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// handover is a hand-over in progress.
type handover struct {
	to      messages.ScopePath
	clients []*actor.PID
	early   []deferredRequest // requests to the job meanwhile
}

// wait keeps a request until the hand-over is done.
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

// handOver moves a live job: its session releases it, the new one adopts it.
func (s *supervisor) handOver(ctx actor.Context, r messages.HandOver) {
	e, missing := s.find(r.Job)
	switch {
	case missing != nil:
		refuse(ctx, r, missing)
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
	taken := slices.DeleteFunc(s.holders(r.To, e.job.Name), func(other *jobEntry) bool { return other == e })
	if len(taken) > 0 {
		refuse(ctx, r, nameTaken(e.job.Name, taken, "stop it first, or choose another scope"))
		return
	}
	m, moving := s.handovers[e.job.ID]
	if moving && m.to != r.To { // it moves on after this hand-over
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

// settled takes that a job is settled. It ends a hand-over of the job.
func (s *supervisor) settled(ctx actor.Context, id messages.JobID) {
	if e, ok := s.jobs[id]; ok {
		e.settled, e.terms = true, nil
	}
	s.settledLate(id)
	s.failHandover(ctx, id)
	if s.shutdown != nil {
		delete(s.shutdown.settling, id)
	}
}

// failHandover refuses the clients of a hand-over: the job is over.
func (s *supervisor) failHandover(ctx actor.Context, id messages.JobID) {
	s.endHandover(ctx, id, lifecycle.JobFinished(id))
}

// endHandover refuses the clients of a hand-over and handles the requests that have waited.
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
	e.edit(func(job *messages.Record) { job.Scope, job.Session = to.to, messages.DefaultSession })
	if e.run != nil {
		run := *e.run // its former session shares the request
		run.Scope, run.Session, run.Open = e.job.Scope, e.job.Session, nil
		e.run = &run
	}
	terms := *e.terms
	terms.open = nil // the plan of its former session
	e.terms = &terms
	e.slotOffered = false // it may have started, so the new session must not queue it
	e.metaSaved = false
	if !e.job.State.Ended() { // before the placement: the number in its metadata tells that it has moved
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

// awaits reports whether a job is being handed over to an address. A close there waits for the
// job.
func (s *supervisor) awaits(at messages.Address) bool {
	for _, m := range s.handovers {
		if at.Session == "" && at.Scope.Contains(m.to) || at.Scope == m.to && at.Session == messages.DefaultSession {
			return true
		}
	}
	return false
}

// handoverDone ends a hand-over and starts the closes that waited for it.
func (s *supervisor) handoverDone(ctx actor.Context, id messages.JobID) {
	delete(s.handovers, id)
	for at, o := range s.closings {
		if o.awaitingHandover && !s.awaits(at) {
			o.awaitingHandover = false
			s.send(ctx, at, o.request, nil)
		}
	}
}
