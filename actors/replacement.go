package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// replacement is a run that waits until the jobs end that have its name. The run is not
// admitted: the name stays theirs, and a node that ends meanwhile starts nothing.
type replacement struct {
	run    messages.RunCommand
	client *actor.PID // nil: none waits
	old    []messages.JobID
	early  []deferredRequest // for the record of the run
}

// replaceJobs stops the jobs that have the name of a run. The run is repeated, as it was asked
// for, when they have ended.
func (s *supervisor) replaceJobs(ctx actor.Context, r, asked messages.RunCommand, client *actor.PID) {
	if len(s.replacements) >= maxEarly {
		refuseTo(ctx, client, r, &messages.Error{
			Code: messages.Busy, Reason: "replace", Message: fmt.Sprintf("limit of %d waiting replacements reached", maxEarly), Hint: "try again soon",
		})
		return
	}
	p := &replacement{run: asked, client: client}
	s.replacements = append(s.replacements, p)
	for _, e := range s.holders(r.Scope, r.Name) {
		p.old = append(p.old, e.job.ID)
		s.stopWithRetry(ctx, messages.StopCommand{Job: e.job.ID, Reason: "replaced by another job of its name"})
	}
}

// isReplaced reports whether a run waits for the end of a job.
func (s *supervisor) isReplaced(id messages.JobID) bool {
	return slices.ContainsFunc(s.replacements, func(p *replacement) bool { return slices.Contains(p.old, id) })
}

// continueReplacements runs what has waited for jobs that have ended, in order. A node that
// shuts down refuses all of them.
func (s *supervisor) continueReplacements(ctx actor.Context) {
	waits := func(id messages.JobID) bool {
		e := s.jobs[id]
		return e != nil && !e.job.State.Ended() && !e.sessionAbandoned
	}
	var ready []*replacement
	s.replacements = slices.DeleteFunc(s.replacements, func(p *replacement) bool {
		over := s.phase > open || !slices.ContainsFunc(p.old, waits)
		if over {
			ready = append(ready, p)
		}
		return over
	})
	for _, p := range ready {
		if err := s.unreplaced(p); err != nil {
			refuseTo(ctx, p.client, p.run, err)
		} else {
			s.run(ctx, p.run, p.client)
		}
		p.repeatEarly(ctx)
	}
}

// unreplaced returns why a run must not take the place of its jobs: one of them could not be
// stopped, or has left processes that survive.
func (s *supervisor) unreplaced(p *replacement) *messages.Error {
	for _, id := range p.old {
		e := s.jobs[id]
		switch {
		case e == nil:
		case e.sessionAbandoned && !e.job.State.Ended():
			return unsupervised(id)
		case len(e.job.End.Survivors) > 0:
			return &messages.Error{
				Code: messages.Conflict, Reason: "survivors",
				Message: fmt.Sprintf("job %s was stopped, but process %d of it survives; the new job was not started", id, e.job.End.Survivors[0].PID),
				Hint:    fmt.Sprintf("see troupe show %s; the name is free, so the same command starts the new job", id),
			}
		}
	}
	return nil
}

// repeatEarly repeats the requests that have waited for the record of the run.
func (p *replacement) repeatEarly(ctx actor.Context) {
	for _, q := range p.early {
		ctx.RequestWithCustomSender(ctx.Self(), q.request, q.sender)
	}
}

// awaitReplacement defers a request for the record of a run that is not admitted yet.
func (s *supervisor) awaitReplacement(ctx actor.Context, r messages.FindJob) bool {
	for _, p := range s.replacements {
		if p.run.UID != "" && p.run.UID == messages.UID(r.Job) && len(p.early) < maxEarly {
			p.early = append(p.early, deferredRequest{r, ctx.Sender()})
			return true
		}
	}
	return false
}

// withdrawReplacement drops a waiting run whose client has gone; one in the background stays.
func (s *supervisor) withdrawReplacement(ctx actor.Context) bool {
	i := slices.IndexFunc(s.replacements, func(p *replacement) bool {
		return p.client != nil && ctx.Sender() != nil && p.client.Equal(ctx.Sender())
	})
	if i < 0 {
		return false
	}
	p := s.replacements[i]
	p.client = nil
	if !p.run.Mode.Background() {
		s.replacements = slices.Delete(s.replacements, i, i+1)
		p.repeatEarly(ctx)
	}
	return true
}
