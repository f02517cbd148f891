package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// waiter is one blocking wait. The supervisor (parent) sends it the changes of its jobs.
// Probes (children) check output or input if the condition needs that. It answers its client
// once.
type waiter struct {
	deps    *Deps
	ask     messages.WaitJobs
	jobs    []messages.Record
	client  *actor.PID
	machine lifecycle.Wait
	tails   map[messages.JobID]*actor.PID // probes without a result; they stop with the waiter
	probes  map[messages.JobID]func()     // cancel functions of port probes
	timeout scheduler.CancelFunc
	over    bool
}

// waitTimeout says that the timeout of a wait has elapsed.
type waitTimeout struct{ noDeadLetter }

// waiterProps returns the Props of a waiter for a checked request and the current records.
func waiterProps(d *Deps, ask messages.WaitJobs, jobs []messages.Record, client *actor.PID) *actor.Props {
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
		ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // after the probe's remaining messages
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
		ctx.RequestWithCustomSender(ctx.Parent(), ctx.Message(), ctx.Sender()) // the answer goes to the probe
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
		w.tails[job.ID] = ctx.SpawnPrefix(outputProbeProps(w.deps, job.ID, streams, w.ask.Condition), kindTail+string(job.ID))
	}
	for _, job := range w.jobs {
		w.silence(ctx, job)
	}
}

// changed takes the new record of a job.
func (w *waiter) changed(ctx actor.Context, c lifecycle.Changed) {
	w.step(ctx, c)
	if probe := w.tails[c.Job.ID]; probe != nil && w.ask.Condition.Kind == messages.UntilInput && !c.Job.State.Ended() {
		ctx.Send(probe, inputProbeUpdate{waiting: c.Job.WaitingForInput})
	}
	w.silence(ctx, c.Job)
	w.probe(ctx, c.Job)
}

// probe waits for the port of a job from its start to its end.
func (w *waiter) probe(ctx actor.Context, job messages.Record) {
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

// silence ends the probe of a job that has ended without a start, and so without output.
func (w *waiter) silence(ctx actor.Context, job messages.Record) {
	if w.tails[job.ID] != nil && job.State.Ended() && job.Started.IsZero() {
		delete(w.tails, job.ID)
		w.step(ctx, lifecycle.Impossible{Job: job.ID})
	}
}

// heard takes the result of a probe or the timeout.
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

// lost refuses the client if a probe has crashed.
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

// answer sends the one reply and ends the wait.
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

// streamsOf returns the named stream, or all streams if merged is named and the job has
// separate ones.
func streamsOf(job messages.Record, want messages.Stream) []messages.Stream {
	all := streams(job)
	switch {
	case slices.Contains(all, want):
		return []messages.Stream{want}
	case want == messages.Merged:
		return all
	}
	return nil
}
