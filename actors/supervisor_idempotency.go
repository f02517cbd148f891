package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// idempotencyKey is a key of one principal.
type idempotencyKey struct {
	principal messages.Principal
	key       string
}

// keyedRequest is the key of a job and the digest of its request.
type keyedRequest struct {
	idempotencyKey
	digest string
}

// joinByKey answers a request whose key is known. The same request joins the job, another one
// is a conflict. It returns false for a new key.
func (s *supervisor) joinByKey(ctx actor.Context, r messages.RunCommand, client *actor.PID) bool {
	id, ok := s.byKey[idempotencyKey{r.Principal, r.Key}]
	if !ok {
		return false
	}
	e := s.jobs[id]
	if client != nil && r.Principal != noticePrincipal && !sameRequest(e.asked.digest, r) { // the key of a notice identifies its request
		refuseTo(ctx, client, r, &messages.Error{
			Code: messages.Conflict, Reason: "key",
			Message: fmt.Sprintf("key %q belongs to a different request", r.Key),
			Hint:    "use a new key, or repeat the first request unchanged",
		})
		return true
	}
	s.join(ctx, e, r, client)
	return true
}

// joinByUID answers a request whose ULID names its job: the client that made the ULID has lost
// its node. It returns false if the ULID is new, or that of another job, which admit refuses.
func (s *supervisor) joinByUID(ctx actor.Context, r messages.RunCommand, client *actor.PID) bool {
	e := s.byUID[r.UID]
	if r.UID == "" || e == nil || e.job.Principal != r.Principal {
		return false
	}
	if r.RerunOf != "" && e.job.RerunOf() != "" { // the job that it repeats may have been removed
		s.join(ctx, e, r, client)
		return true
	}
	known := strings.TrimRight(e.job.Command, "\ufffd") // the engine's metadata has the begin of a text
	if !strings.HasPrefix(newJob(r, "", "").Command, known) {
		return false
	}
	s.join(ctx, e, r, client)
	return true
}

// join answers a client with the result of a job, or has it wait for that.
func (s *supervisor) join(ctx actor.Context, e *jobEntry, r messages.RunCommand, client *actor.PID) {
	id := e.job.ID
	switch {
	case client == nil: // no client waits
	case e.job.State.Ended():
		ctx.Send(client, messages.CommandFinished{Job: e.record()})
	case e.job.Background && !e.leftRunning, e.terms.background && e.inQueue && e.waits() && e.seq <= s.newest():
		ctx.Send(client, messages.CommandPromoted{Job: e.record()})
	case len(e.replyTo) >= messages.MaxWaiting:
		refuseTo(ctx, client, r, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "waiting",
			Message: fmt.Sprintf("job %s: limit of %d waiting clients reached", id, len(e.replyTo)),
			Hint:    "ask again with the same key when it has ended",
		})
	default:
		e.replyTo = append(e.replyTo, client)
		s.cameBack(ctx, e)
	}
}

// clientReturnTime is how long a foreground job runs in a new node without its client. The
// client has to notice the loss, to wait for the new daemon and to ask again.
const clientReturnTime = 15 * time.Second

// clientTimeout says that the client of a job has not returned in clientReturnTime.
type clientTimeout struct {
	noDeadLetter
	job messages.JobID
}

// budgetTimeout says that the foreground budget of a returned client is spent.
type budgetTimeout struct {
	noDeadLetter
	job messages.JobID
}

// awaitClient gives the client of a job time to return. The job is not promoted meanwhile,
// since it may be stopped in the end.
func (s *supervisor) awaitClient(ctx actor.Context, e *jobEntry) {
	e.awaitingClient = true
	s.timers = append(s.timers, sendLater(ctx, clientReturnTime, clientTimeout{job: e.job.ID}))
}

// cameBack continues the job of a returned client. Its budget runs from the submission.
func (s *supervisor) cameBack(ctx actor.Context, e *jobEntry) {
	if !e.awaitingClient && !e.leftRunning {
		return
	}
	e.awaitingClient = false
	if e.budget > 0 {
		left := max(e.job.Created.Add(e.budget).Sub(clock()), 0)
		s.timers = append(s.timers, sendLater(ctx, left, budgetTimeout{job: e.job.ID}))
	}
}

// clientLate stops a job whose client has not returned, unless it was promoted.
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

// stopUnclaimed stops a foreground job without a client.
func (s *supervisor) stopUnclaimed(ctx actor.Context, e *jobEntry) {
	s.stopWithRetry(ctx, messages.StopCommand{Job: e.job.ID, By: messages.BySystem, Reason: "its client was gone when troupe began again", Gone: true})
}

// budgetLate promotes a job that is still in the foreground, and answers the clients of one that
// the former node has left running.
func (s *supervisor) budgetLate(ctx actor.Context, id messages.JobID) {
	e := s.jobs[id]
	switch {
	case e == nil || e.job.State.Ended() || e.job.State == messages.Stopping:
	case e.job.Background:
		s.queueReplies(e, messages.CommandPromoted{Job: e.record()})
	default:
		ctx.Send(ctx.Self(), messages.PromoteCommand{Job: id}) // no client gets the reply
	}
}
