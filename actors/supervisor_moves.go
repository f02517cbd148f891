package actors

import (
	"cmp"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// move is a hand-over that is on its way.
type move struct {
	to      messages.ScopePath
	clients []*actor.PID
	early   []early // what was asked of the job meanwhile
}

// wait keeps a request about a job that is on its way: it is passed on, in its
// turn, when the job has come.
func (m *move) wait(ctx actor.Context, id messages.JobID, r any) {
	if len(m.early) >= maxEarly {
		refuse(ctx, r, isMoving(id))
		return
	}
	m.early = append(m.early, early{r, ctx.Sender()})
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
	case e.over || e.job.State.Ended():
		s.answerFor(ctx, e, r)
		return
	}
	if err := cmp.Or(r.To.Check(), s.isClosing(messages.Address{Scope: r.To, Session: messages.DefaultSession})); err != nil {
		refuse(ctx, r, err)
		return
	}
	if e.given {
		refuse(ctx, r, unsupervised(e.job.ID))
		return
	}
	m, moving := s.moves[e.job.ID]
	if moving && m.to != r.To { // it goes there when it has come
		m.wait(ctx, e.job.ID, r)
		return
	}
	if !moving {
		m = &move{to: r.To}
		s.moves[e.job.ID] = m
		s.send(ctx, s.home(e), letGo{job: e.job.ID}, nil)
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
	s.movesNoMore(ctx, id)
}

// movesNoMore tells those who wait for a job to be handed over that it is over.
func (s *supervisor) movesNoMore(ctx actor.Context, id messages.JobID) {
	s.endMove(ctx, id, lifecycle.JobFinished(id))
}

// endMove tells those who wait for a job to be handed over why it does not move, and
// takes up what was asked of it meanwhile.
func (s *supervisor) endMove(ctx actor.Context, id messages.JobID, err *messages.Error) {
	m, moving := s.moves[id]
	if !moving {
		return
	}
	s.arrived(ctx, id)
	for _, client := range m.clients {
		ctx.Send(client, messages.RequestRejected{Err: *err})
	}
	for _, q := range m.early {
		ctx.RequestWithCustomSender(ctx.Self(), q.request, q.sender)
	}
}

func (s *supervisor) letGone(ctx actor.Context, m letGone) {
	e, ok := s.jobs[m.job]
	to, moving := s.moves[m.job]
	if !ok || !moving {
		return
	}
	e.change(func(job *messages.Job) { job.Scope, job.Session = to.to, messages.DefaultSession })
	if e.run != nil {
		run := *e.run // its former place has the other one
		run.Scope, run.Session, run.Open = e.job.Scope, e.job.Session, nil
		e.run = &run
	}
	terms := *e.terms
	terms.open = nil // that was the plan of the session it comes from
	e.terms = &terms
	e.offered = false // by now it may have begun, whatever its new place has room for
	e.noted = false
	if !e.job.State.Ended() { // before it is placed: by the number its engine is told who is right
		s.record(ctx, e, messages.CommandChanged{})
	}
	s.replace(ctx, e)
	s.arrived(ctx, m.job)
	for _, client := range to.clients {
		ctx.Send(client, messages.Acknowledged{})
	}
	for _, q := range to.early {
		if _, again := q.request.(messages.HandOver); again {
			ctx.RequestWithCustomSender(ctx.Self(), q.request, q.sender)
			continue
		}
		s.send(ctx, s.home(e), q.request, q.sender)
	}
}

// awaits says whether a job is being moved into a part of the tree. It is closed
// when the job has come: what is closing takes nothing in.
func (s *supervisor) awaits(at messages.Address) bool {
	for _, m := range s.moves {
		if at.Session == "" && at.Scope.Contains(m.to) || at.Scope == m.to && at.Session == messages.DefaultSession {
			return true
		}
	}
	return false
}

// arrived ends a move, and begins the closings that waited for it.
func (s *supervisor) arrived(ctx actor.Context, id messages.JobID) {
	delete(s.moves, id)
	for at, o := range s.closings {
		if o.held && !s.awaits(at) {
			o.held = false
			s.send(ctx, at, o.request, nil)
		}
	}
}
