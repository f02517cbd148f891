package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// checkResult is what a look at a command has found; nil is nothing wrong.
type checkResult struct {
	noDeadLetter
	at  *ticket
	err *messages.Error
}

// maxLooks is how many looks a node has under way. Each may hold a thread for ever,
// also when nobody waits for it any more, and with 10,000 threads Go ends the
// process.
const maxLooks = 64

// startCheck asks whether the first of the jobs that nobody has looked at can be run.
// That may wait for a directory of a machine that is gone, so it is done apart;
// what is placed meanwhile waits behind, in its order.
func (s *session) startCheck(ctx actor.Context) {
	root, self, shell, t := ctx.ActorSystem().Root, ctx.Self(), s.executor, s.unchecked[0]
	spec := s.spec(t)
	looks, left := s.deps.looks, make(chan struct{})
	t.checkCancelled = left
	s.deps.Workers.Apart.Schedule(func() {
		select {
		case looks <- struct{}{}:
			defer func() { <-looks }()
		case <-left:
			return
		}
		found := checkResult{at: t, err: internalError()}
		defer func() {
			if reason := recover(); reason != nil {
				found.err.Message = fmt.Sprintf("the look at the command failed: %v", reason)
			}
			if reachable(root, self) {
				root.Send(self, found)
			}
		}()
		found.err = shell.Check(spec)
	})
}

// checkDone goes on with what was looked at, and with what waited behind it.
func (s *session) checkDone(ctx actor.Context, found checkResult) {
	if len(s.unchecked) == 0 || s.unchecked[0] != found.at {
		return // it was stopped or given away meanwhile
	}
	s.unchecked = s.unchecked[1:]
	if id := found.at.place.job.ID; found.err != nil {
		s.startRejected(ctx, found.err)
		s.refuse(ctx, id, found.err)
		found.at.refuseEarly(ctx, messages.NoSuchJob(id))
	} else {
		s.accept(ctx, found.at)
	}
	s.continueChecks(ctx)
}

// continueChecks takes what needs no look, up to the next that does.
func (s *session) continueChecks(ctx actor.Context) {
	for len(s.unchecked) > 0 {
		t := s.unchecked[0]
		if !s.executor.Runnable(s.spec(t)) {
			s.startCheck(ctx)
			return
		}
		s.unchecked = s.unchecked[1:]
		s.accept(ctx, t)
	}
}

// askUnchecked takes what is asked of a job that has not been looked at: it can be
// stopped and given away, and all else waits for it.
func (s *session) askUnchecked(ctx actor.Context, msg routed) bool {
	i := s.unseenAt(msg.to.Job)
	if i < 0 {
		return false
	}
	t := s.unchecked[i]
	switch msg.request.(type) {
	case releaseJob:
		if s.capabilities.Keeps {
			s.staysHere(ctx, t)
			return true
		}
		s.dropUnchecked(ctx, i)
		s.handedOver(ctx, t)
		t.refuseEarly(ctx, isMoving(msg.to.Job))
	case messages.StopCommand:
		s.dropUnchecked(ctx, i)
		s.accept(ctx, t)
		if s.jobs[msg.to.Job] == nil {
			return false
		}
		s.pass(ctx, t, msg.request) // before its turn can come: it must not begin
	default:
		t.wait(ctx, msg)
	}
	return true
}

// wait keeps a request until the job is accepted.
func (t *ticket) wait(ctx actor.Context, msg routed) {
	if len(t.deferred) >= maxEarly {
		refuse(ctx, msg.request, &messages.Error{
			Code: messages.Busy, Reason: "looking",
			Message: fmt.Sprintf("job %s has not started: its directory or a directory of its shell does not answer", msg.to.Job),
			Hint:    "retry, or stop it",
		})
		return
	}
	t.deferred = append(t.deferred, deferredRequest{msg.request, ctx.Sender()})
}

// passEarly hands what waited for the job to its command, in its order.
func (t *ticket) passEarly(ctx actor.Context) {
	for _, q := range t.deferred {
		ctx.RequestWithCustomSender(t.pid, q.request, q.sender)
	}
	t.deferred = nil
}

// refuseEarly answers what waited for a job that does not come.
func (t *ticket) refuseEarly(ctx actor.Context, err *messages.Error) {
	for _, q := range t.deferred {
		refuseSender(ctx.ActorSystem().Root, &actor.MessageEnvelope{Message: q.request, Sender: q.sender}, err)
	}
	t.deferred = nil
}

// giveUpLook ends the wait for a look, if it has not begun.
func (t *ticket) giveUpLook() {
	if t.checkCancelled != nil {
		close(t.checkCancelled)
		t.checkCancelled = nil
	}
}

func (s *session) unseenAt(id messages.JobID) int {
	return slices.IndexFunc(s.unchecked, func(t *ticket) bool { return t.place.job.ID == id })
}

// dropUnchecked takes a job from those that wait for a look. One that hangs holds
// up nobody but those behind it, who are looked at now.
func (s *session) dropUnchecked(ctx actor.Context, i int) {
	s.unchecked[i].giveUpLook()
	s.unchecked = slices.Delete(s.unchecked, i, i+1)
	if i == 0 {
		s.continueChecks(ctx)
	}
}

// acceptUnchecked takes all without a look: the session is closing, and stops them.
func (s *session) acceptUnchecked(ctx actor.Context) {
	unseen := s.unchecked
	s.unchecked = nil
	for _, t := range unseen {
		t.giveUpLook()
		s.accept(ctx, t)
	}
}
