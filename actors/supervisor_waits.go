package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// waiterEntry is one blocking wait, or a gather: the jobs a wait is about, and who
// is owed the answer should its actor die.
type waiterEntry struct {
	pid     *actor.PID
	client  *actor.PID // nil: nobody waits
	request messages.Refusable
	jobs    map[messages.JobID]bool
}

// await spawns a watch over jobs as they stand.
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
			Message: fmt.Sprintf("limit of %d waits reached", s.limit.Watches), Hint: "end one first",
		}
	}
	if err != nil {
		refuse(ctx, r, err)
		return
	}
	w := &waiterEntry{client: ctx.Sender(), request: r, jobs: map[messages.JobID]bool{}}
	var jobs []messages.Job
	r.Jobs = slices.Clone(r.Jobs)
	for i, id := range r.Jobs {
		e, ok := s.find(id)
		if !ok {
			refuse(ctx, r, messages.NoSuchJob(id))
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

// withdrawWait ends the wait of a client who waits no longer: it would go on looking, for
// as long as its jobs live.
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

// watchesFull says whether no further wait is taken. Clients may leave without a
// word: at the limit, waits whose client has gone are ended, and do not count.
// A gather goes on for nobody, too, since what it asks for is to happen.
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

// jobRefused tells a wait that one of its jobs was refused a place: there is none.
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

// gathersFull says whether no further stop of many jobs is taken. Those that go
// on for nobody count, too: each holds the jobs it asks for.
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

// updateWaiters tells those who wait for a job how it stands.
func (s *supervisor) updateWaiters(ctx actor.Context, e *jobEntry) {
	for _, w := range s.waiters {
		if w.jobs[e.job.ID] {
			ctx.Send(w.pid, lifecycle.Changed{Job: e.record()})
		}
	}
}

// watchLost answers for a watch or a gather that died.
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

// abortWaiters has the waits answered that the node can serve no more.
func (s *supervisor) abortWaiters(ctx actor.Context) {
	for _, w := range s.waiters {
		ctx.Send(w.pid, abort{})
	}
}
