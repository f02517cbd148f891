package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// checkResult is the result of the check of a command.
type checkResult struct {
	noDeadLetter
	at  *ticket
	err *messages.Error // nil: it can run
}

// maxLooks bounds the checks of a node that run at a time. A check can block a thread for
// ever, also when it is not needed any more, and at 10,000 threads Go ends the process.
const maxLooks = 64

// startCheck checks whether the first unchecked job can run. A check may wait for the
// directory of a dead network mount, so it runs in its own goroutine. Jobs that are placed
// meanwhile wait in order.
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
				found.err.Message = fmt.Sprintf("the check of the command crashed: %v", reason)
			}
			if reachable(root, self) {
				root.Send(self, found)
			}
		}()
		found.err = shell.Check(spec)
	})
}

// checkDone accepts or refuses the checked job and continues with the next.
func (s *session) checkDone(ctx actor.Context, found checkResult) {
	if len(s.unchecked) == 0 || s.unchecked[0] != found.at {
		return // it was stopped or handed over meanwhile
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

// continueChecks accepts jobs that need no check, up to the next that does.
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

// askUnchecked takes a request to an unchecked job. It stops the job or hands it over at
// once; other requests wait. It returns false if there is no such job.
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
		s.pass(ctx, t, msg.request) // before a slot can come: the job must not start
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

// passEarly passes the waiting requests to the command, in order.
func (t *ticket) passEarly(ctx actor.Context) {
	for _, q := range t.deferred {
		ctx.RequestWithCustomSender(t.pid, q.request, q.sender)
	}
	t.deferred = nil
}

// refuseEarly refuses the waiting requests.
func (t *ticket) refuseEarly(ctx actor.Context, err *messages.Error) {
	for _, q := range t.deferred {
		refuseSender(ctx.ActorSystem().Root, &actor.MessageEnvelope{Message: q.request, Sender: q.sender}, err)
	}
	t.deferred = nil
}

// giveUpLook cancels a check that has not started.
func (t *ticket) giveUpLook() {
	if t.checkCancelled != nil {
		close(t.checkCancelled)
		t.checkCancelled = nil
	}
}

func (s *session) unseenAt(id messages.JobID) int {
	return slices.IndexFunc(s.unchecked, func(t *ticket) bool { return t.place.job.ID == id })
}

// dropUnchecked removes an unchecked job. If its check ran, the next ones are checked now.
func (s *session) dropUnchecked(ctx actor.Context, i int) {
	s.unchecked[i].giveUpLook()
	s.unchecked = slices.Delete(s.unchecked, i, i+1)
	if i == 0 {
		s.continueChecks(ctx)
	}
}

// acceptUnchecked accepts all jobs without a check: the closing session stops them.
func (s *session) acceptUnchecked(ctx actor.Context) {
	unseen := s.unchecked
	s.unchecked = nil
	for _, t := range unseen {
		t.giveUpLook()
		s.accept(ctx, t)
	}
}
