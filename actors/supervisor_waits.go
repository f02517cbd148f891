package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// waiterEntry is a waiter, a group stop or a scope release. After a crash of the actor the
// supervisor refuses its client.
type waiterEntry struct {
	pid     *actor.PID
	client  *actor.PID // nil: none
	request messages.Refusable
	jobs    map[messages.JobID]bool // of a waiter
}

// await spawns a waiter for the current records of its jobs.
func (s *supervisor) await(ctx actor.Context, r messages.WaitJobs) {
	if ctx.Sender() == nil {
		return
	}
	err := r.Check()
	switch {
	case err != nil:
	case r.Condition.Kind == messages.UntilPort && s.deps.Ports == nil:
		err = noPorts()
	case s.phase > open:
		err = shuttingDown()
	case s.watchesFull(ctx):
		err = &messages.Error{
			Code: messages.ResourceExhausted, Reason: "watches",
			Message: fmt.Sprintf("limit of %d waits reached", s.limit.Watches), Hint: "end one first, or set limits.watches higher",
		}
	}
	if err != nil {
		refuse(ctx, r, err)
		return
	}
	w := &waiterEntry{client: ctx.Sender(), request: r, jobs: map[messages.JobID]bool{}}
	var jobs []messages.Record
	r.Jobs = slices.Clone(r.Jobs)
	for i, id := range r.Jobs {
		e, err := s.find(id)
		if err != nil {
			refuse(ctx, r, err)
			return
		}
		if w.jobs[e.job.ID] {
			continue
		}
		r.Jobs[i] = e.job.ID
		w.jobs[e.job.ID] = true
		jobs = append(jobs, e.record())
	}
	w.pid = ctx.SpawnPrefix(waiterProps(s.deps, r, jobs, ctx.Sender()), kindWatch)
	s.waiters[w.pid.Id] = w
}

// withdrawWait ends the wait of a client that has given up. Otherwise its probes would run as
// long as the jobs.
func (s *supervisor) withdrawWait(ctx actor.Context) {
	for _, w := range s.waiters {
		if _, wait := w.request.(messages.WaitJobs); wait && ctx.Sender() != nil && ctx.Sender().Equal(w.client) {
			ctx.Send(w.pid, abort{})
			return
		}
	}
}

func noPorts() *messages.Error {
	return &messages.Error{
		Code: messages.Unsupported, Reason: "port", Message: "this node cannot wait for a port",
		Hint: "wait for a pattern that the job writes when it listens",
	}
}

// watchesFull reports whether the limit of waits is reached. At the limit it ends waits whose
// client has gone; they do not count. A group stop goes on without its client.
func (s *supervisor) watchesFull(ctx actor.Context) bool {
	if len(s.waiters) < s.limit.Watches {
		return false
	}
	owed := 0
	for id, w := range s.waiters {
		if w.client != nil && reachable(ctx, w.client) {
			owed++
			continue
		}
		if _, wait := w.request.(messages.WaitJobs); wait {
			ctx.Send(w.pid, abort{})
			delete(s.waiters, id)
		}
	}
	return owed >= s.limit.Watches
}

// jobRefused tells a waiter that the tree has refused one of its jobs.
type jobRefused struct {
	noDeadLetter
	err messages.Error
}

func (s *supervisor) refuseWaits(ctx actor.Context, m placeRejected) {
	for _, w := range s.waiters {
		if w.jobs[m.job] {
			ctx.Send(w.pid, jobRefused{err: m.err})
		}
	}
}

// gathersFull reports whether the limit of group stops is reached. Those without a client
// count, since each holds its jobs.
func (s *supervisor) gathersFull() bool {
	if len(s.waiters) < s.limit.Watches {
		return false
	}
	gathers := 0
	for _, w := range s.waiters {
		if _, stops := w.request.(messages.StopCommand); stops {
			gathers++
		}
	}
	return gathers >= s.limit.Watches
}

// updateWaiters sends the record of a job to its waiters.
func (s *supervisor) updateWaiters(ctx actor.Context, e *jobEntry) {
	if e.endUntold() {
		return
	}
	for _, w := range s.waiters {
		if w.jobs[e.job.ID] {
			ctx.Send(w.pid, lifecycle.Changed{Job: e.record()})
		}
	}
}

// watchLost refuses the client of a crashed waiter, group stop or scope release.
func (s *supervisor) watchLost(ctx actor.Context, who *actor.PID) {
	w, ok := s.waiters[who.Id]
	if !ok {
		return
	}
	delete(s.waiters, who.Id)
	if w.client != nil {
		ctx.Send(w.client, w.request.Refuse(internalError()))
	}
	s.shutdownStep(ctx)
}

// abortWaiters ends all waiters, group stops and scope releases.
func (s *supervisor) abortWaiters(ctx actor.Context) {
	for _, w := range s.waiters {
		ctx.Send(w.pid, abort{})
	}
}
