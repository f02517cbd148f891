package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// waiter is one blocking wait. It hears from the supervisor (parent) how its
// jobs change and, where the condition is about output or input, from its tails
// and eyes (children); it answers its client once.
type waiter struct {
	deps    *Deps
	ask     messages.WaitJobs
	jobs    []messages.Job
	client  *actor.PID
	machine lifecycle.Wait
	tails   map[messages.JobID]*actor.PID // that have something to find out; all end with the watch
	probes  map[messages.JobID]func()     // that end looking for the ports of jobs
	timeout scheduler.CancelFunc
	over    bool
}

// waitTimeout says that a wait has lasted as long as its client wanted.
type waitTimeout struct{ noDeadLetter }

// watchProps are of a wait that Check has found right, for jobs as they
// stand.
func watchProps(d *Deps, ask messages.WaitJobs, jobs []messages.Job, client *actor.PID) *actor.Props {
	return d.apart(func() actor.Actor {
		return &waiter{
			deps: d, ask: ask, jobs: jobs, client: client,
			machine: lifecycle.NewWait(ask, jobs), tails: map[messages.JobID]*actor.PID{}, probes: map[messages.JobID]func(){},
		}
	})
}

// Receive implements actor.Actor.
func (w *waiter) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		w.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		w.disarm()
	case *actor.Terminated:
		ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // behind the tail's last words
	case childStopped:
		w.lost(ctx, msg.who)
	case lifecycle.Changed:
		w.changed(ctx, msg)
	case jobRefused:
		w.answer(ctx, messages.RequestRejected{Err: msg.err})
	case abort:
		w.answer(ctx, messages.RequestRejected{Err: *shuttingDown()})
	case lifecycle.Met, lifecycle.InputWaiting, lifecycle.Impossible, waitTimeout, outputProbeFailed:
		w.heard(ctx, msg)
	case messages.ReadOutput, messages.FollowOutput, messages.CheckInput:
		ctx.RequestWithCustomSender(ctx.Parent(), ctx.Message(), ctx.Sender()) // the tail is answered directly
	default:
		unhandled(ctx, w.deps)
	}
}

func (w *waiter) start(ctx actor.Context) {
	var end *messages.WaitEnded
	if w.machine, end = w.machine.Begin(); end != nil {
		w.answer(ctx, *end)
		return
	}
	if w.ask.Timeout > 0 {
		w.timeout = sendLater(ctx, w.ask.Timeout, waitTimeout{})
	}
	for _, job := range w.jobs {
		w.probe(ctx, job)
	}
	kind := w.ask.Condition.Kind
	if kind == messages.UntilInput {
		for _, job := range w.jobs {
			w.tails[job.ID] = ctx.SpawnPrefix(inputProbeProps(w.deps, job.ID), kindTail+string(job.ID))
		}
		return
	}
	if kind != messages.UntilPattern && kind != messages.UntilQuiet {
		return
	}
	for _, job := range w.jobs {
		streams := streamsOf(job, w.ask.Condition.Stream)
		if len(streams) == 0 {
			w.answer(ctx, messages.RequestRejected{Err: *messages.NoSuchStream(job.ID, w.ask.Condition.Stream)})
			return
		}
		w.tails[job.ID] = ctx.SpawnPrefix(tailProps(w.deps, job.ID, streams, w.ask.Condition), kindTail+string(job.ID))
	}
	for _, job := range w.jobs {
		w.silence(ctx, job)
	}
}

// changed hears how a job stands.
func (w *waiter) changed(ctx actor.Context, c lifecycle.Changed) {
	w.step(ctx, c)
	if eye := w.tails[c.Job.ID]; eye != nil && w.ask.Condition.Kind == messages.UntilInput && !c.Job.State.Ended() {
		ctx.Send(eye, inputProbeUpdate{waiting: c.Job.WaitingForInput})
	}
	w.silence(ctx, c.Job)
	w.probe(ctx, c.Job)
}

// probe looks for the port of a job from its start to its end.
func (w *waiter) probe(ctx actor.Context, job messages.Job) {
	if w.over || w.ask.Condition.Kind != messages.UntilPort || job.PID == 0 {
		return
	}
	stop := w.probes[job.ID]
	switch {
	case stop == nil && !job.State.Ended():
		root, self := ctx.ActorSystem().Root, ctx.Self()
		w.probes[job.ID] = w.deps.Ports.Await(job, w.ask.Condition, func() { root.Send(self, lifecycle.Met{Job: job.ID}) })
	case stop != nil && job.State.Ended():
		stop()
	}
}

// silence gives up the output of a job that ended without having had any: it
// was never started.
func (w *waiter) silence(ctx actor.Context, job messages.Job) {
	if w.tails[job.ID] != nil && job.State.Ended() && job.Started.IsZero() {
		delete(w.tails, job.ID)
		w.step(ctx, lifecycle.Impossible{Job: job.ID})
	}
}

// heard takes what a tail found, or that time is up.
func (w *waiter) heard(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case lifecycle.Met:
		delete(w.tails, m.Job)
	case lifecycle.Impossible:
		delete(w.tails, m.Job)
	case waitTimeout:
		msg = lifecycle.TimeUp{}
	case outputProbeFailed:
		if w.tails[m.job] != nil {
			w.answer(ctx, messages.RequestRejected{Err: m.err})
		}
		return
	}
	w.step(ctx, msg)
}

// lost hears that a tail is gone, and tells the client if that was a crash.
func (w *waiter) lost(ctx actor.Context, who *actor.PID) {
	for _, pid := range w.tails {
		if pid.Equal(who) {
			w.answer(ctx, messages.RequestRejected{Err: *internalError()})
		}
	}
}

func (w *waiter) step(ctx actor.Context, event any) {
	var end *messages.WaitEnded
	if w.machine, end = w.machine.Step(event); end != nil {
		w.answer(ctx, *end)
	}
}

// answer gives the one reply, and ends.
func (w *waiter) answer(ctx actor.Context, reply messages.WaitReply) {
	if w.over {
		return
	}
	w.over = true
	w.disarm()
	if reachable(ctx, w.client) {
		ctx.Send(w.client, reply)
	}
	ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
}

func (w *waiter) disarm() {
	if w.timeout != nil {
		w.timeout()
	}
	for _, stop := range w.probes {
		stop()
	}
}

// streamsOf are the streams that a client means: the one it names, or all, if
// it names the merged one of a job that keeps them apart.
func streamsOf(job messages.Job, want messages.Stream) []messages.Stream {
	all := streams(job)
	switch {
	case slices.Contains(all, want):
		return []messages.Stream{want}
	case want == messages.Merged:
		return all
	}
	return nil
}
