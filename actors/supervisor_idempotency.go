package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// idempotencyKey is a key as its principal knows it.
type idempotencyKey struct {
	principal messages.Principal
	key       string
}

// keyedRequest is the key that a job was asked for with, and the digest of the request.
type keyedRequest struct {
	idempotencyKey
	digest string
}

// joinByKey answers a request whose key was used before: the same request gets the
// same job, another one is a conflict.
func (s *supervisor) joinByKey(ctx actor.Context, r messages.RunCommand) bool {
	id, ok := s.byKey[idempotencyKey{r.Principal, r.Key}]
	if !ok {
		return false
	}
	e := s.jobs[id]
	switch {
	case ctx.Sender() == nil: // nobody asks how it ends
	case r.Principal != noticePrincipal && !sameRequest(e.asked.digest, r): // the key of a notice says all of its request
		refuse(ctx, r, &messages.Error{
			Code: messages.Conflict, Reason: "key",
			Message: fmt.Sprintf("key %q belongs to a different request", r.Key),
			Hint:    "use a new key, or repeat the first request unchanged",
		})
	case e.job.State.Ended():
		ctx.Respond(messages.CommandFinished{Job: e.record()})
	case e.job.Background:
		ctx.Respond(messages.CommandPromoted{Job: e.record()})
	case len(e.replyTo) >= messages.MaxWaiting:
		refuse(ctx, r, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "waiting",
			Message: fmt.Sprintf("job %s: limit of %d waiting clients reached", id, len(e.replyTo)),
			Hint:    "ask again with the same key when it has ended",
		})
	default:
		e.replyTo = append(e.replyTo, ctx.Sender())
		s.cameBack(ctx, e)
	}
	return true
}

// clientReturnTime is how long a job in the foreground that had a key goes on in a new node
// without its client: who lost the daemon has to notice, to start another one or to wait
// for it, which may take some seconds each, and to ask again. Who has not by then has
// most likely died with the daemon.
const clientReturnTime = 15 * time.Second

// clientTimeout says that the client of a job did not come back in its time.
type clientTimeout struct {
	noDeadLetter
	job messages.JobID
}

// budgetTimeout says that the foreground budget of a job is spent whose client came back.
type budgetTimeout struct {
	noDeadLetter
	job messages.JobID
}

// awaitClient gives the client of a job time to ask for it again. Until then nothing is
// promoted: what is stopped in the end is not to be told of as going on.
func (s *supervisor) awaitClient(ctx actor.Context, e *jobEntry) {
	e.awaitingClient = true
	s.timers = append(s.timers, sendLater(ctx, clientReturnTime, clientTimeout{job: e.job.ID}))
}

// cameBack goes on with the job of a client who has asked again: its budget runs from
// when it was submitted.
func (s *supervisor) cameBack(ctx actor.Context, e *jobEntry) {
	if !e.awaitingClient {
		return
	}
	e.awaitingClient = false
	if e.budget > 0 {
		left := max(e.job.Created.Add(e.budget).Sub(clock()), 0)
		s.timers = append(s.timers, sendLater(ctx, left, budgetTimeout{job: e.job.ID}))
	}
}

// clientTimeout ends a job whose client did not come back, unless somebody has promoted it.
func (s *supervisor) clientLate(ctx actor.Context, id messages.JobID) {
	e := s.jobs[id]
	if e == nil || !e.awaitingClient {
		return
	}
	e.awaitingClient = false
	if !e.job.State.Ended() && !e.job.Background {
		s.stopUnclaimed(ctx, e)
	}
}

// stopUnclaimed ends a job that belonged to a connection.
func (s *supervisor) stopUnclaimed(ctx actor.Context, e *jobEntry) {
	s.stopWithRetry(ctx, messages.StopCommand{Job: e.job.ID, By: messages.BySystem, Reason: "its client was gone when troupe began again", Gone: true})
}

// budgetTimeout promotes a job, if it is still in the foreground.
func (s *supervisor) budgetLate(ctx actor.Context, id messages.JobID) {
	if e := s.jobs[id]; e != nil && !e.job.State.Ended() && !e.job.Background && e.job.State != messages.Stopping {
		ctx.Send(ctx.Self(), messages.PromoteCommand{Job: id}) // nobody hears of it
	}
}
