package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// routed takes what came down the tree: for the session itself, or for a job.
func (s *session) routed(ctx actor.Context, msg routed) {
	switch r := msg.request.(type) {
	case messages.OpenSession:
		s.opened(ctx, r)
		return
	case messages.CloseSession:
		s.close(ctx, r)
		return
	case querySettled:
		s.settledAsked(ctx, r.job)
		return
	case slotGranted:
		s.perform(ctx, s.machine.Step(lifecycle.SlotGranted{Job: r.job}))
		return
	}
	t, ok := s.jobs[msg.to.Job]
	switch {
	case ok:
	case s.askUnchecked(ctx, msg):
		return
	default:
		if _, away := msg.request.(releaseJob); away { // it has ended meanwhile, and whoever moves it waits to hear so
			s.tellSettled(ctx)
		}
		refuse(ctx, msg.request, missing(msg.to, nil))
		return
	}
	if _, away := msg.request.(releaseJob); away && s.capabilities.Keeps {
		s.staysHere(ctx, t)
		return
	} else if away {
		s.handOver(ctx, t)
		return
	}
	if t.handingOver {
		refuse(ctx, msg.request, isMoving(msg.to.Job))
		return
	}
	s.pass(ctx, t, msg.request)
}

// pass hands a request on to the job's command, which answers the client.
func (s *session) pass(ctx actor.Context, t *ticket, request any) {
	if t.unsupervised != nil {
		s.askUnsupervised(ctx, t, request)
		return
	}
	ctx.RequestWithCustomSender(t.pid, request, ctx.Sender())
}

// handOver gives a job away: its actor goes, its process does not notice, and the
// place no longer counts it among its own.
func (s *session) handOver(ctx actor.Context, t *ticket) {
	switch {
	case t.handingOver:
	case t.pid != nil: // its actor must be gone before another may adopt
		t.handingOver = true
		ctx.Send(t.pid, yield{})
	default:
		t.unsupervised.abandon(ctx, isMoving(t.place.job.ID))
		s.handedOver(ctx, t)
	}
}

// handedOver says that a job that was given away has no actor here any more.
func (s *session) handedOver(ctx actor.Context, t *ticket) {
	id := t.place.job.ID
	delete(s.jobs, id)
	if s.executor != nil { // else it was held without a place
		s.executor.Yield(t.place.job.UID)
	}
	ctx.Send(ctx.Parent(), jobReleased{job: id})
	s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: id}))
	s.closeStep(ctx)
}
