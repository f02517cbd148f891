package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// routed takes a request for the session or one of its jobs.
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
	case startAllowed:
		s.perform(ctx, s.machine.Step(lifecycle.Unheld{Job: r.job}))
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
		if _, away := msg.request.(releaseJob); away { // the job has ended meanwhile, which ends the hand-over
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

// pass passes a request to the job's command, which answers the client.
func (s *session) pass(ctx actor.Context, t *ticket, request any) {
	if t.unsupervised != nil {
		s.askUnsupervised(ctx, t, request)
		return
	}
	ctx.RequestWithCustomSender(t.pid, request, ctx.Sender())
}

// handOver stops the actor of a job and removes the job from this session. Its process runs
// on.
func (s *session) handOver(ctx actor.Context, t *ticket) {
	switch {
	case t.handingOver:
	case t.pid != nil: // its actor must stop before another adopts the job
		t.handingOver = true
		ctx.Send(t.pid, yield{})
	default:
		t.unsupervised.abandon(ctx, isMoving(t.place.job.ID))
		s.handedOver(ctx, t)
	}
}

// handedOver reports that a job has no actor here any more.
func (s *session) handedOver(ctx actor.Context, t *ticket) {
	id := t.place.job.ID
	delete(s.jobs, id)
	if s.executor != nil { // else it was adopted without an executor
		s.executor.Yield(t.place.job.UID)
	}
	ctx.Send(ctx.Parent(), jobReleased{job: id})
	s.perform(ctx, s.machine.Step(lifecycle.Gone{Job: id}))
	s.closeStep(ctx)
}
