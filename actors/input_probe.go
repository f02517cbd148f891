package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// inputProbe asks for a waiter (parent) whether one job waits for input. It asks the job's
// command, by way of the parent, until it stops. It sends InputWaiting, or Impossible, or a
// failure if the state cannot be read. The job's record may be older than its last input, so
// a change of the record is only a reason to ask.
type inputProbe struct {
	deps  *Deps
	job   messages.JobID
	again scheduler.CancelFunc
	asked int  // number of the last request
	early bool // the last request was refused for now
}

const (
	// inputProbeSpan is how long the engine observes a job for one request.
	inputProbeSpan = 5 * time.Second
	// inputProbePause is the time between an answer and the next request.
	inputProbePause = 2 * time.Second
	// inputProbeTimeout bounds the wait for an answer, which may queue after input that the
	// job does not read.
	inputProbeTimeout = 30 * time.Second
)

// inputProbeTick says that the next request is due.
type inputProbeTick struct {
	noDeadLetter
	number int
}

// inputProbeUpdate tells a probe that the record of its job has changed.
type inputProbeUpdate struct {
	noDeadLetter
	waiting bool
}

func inputProbeProps(d *Deps, job messages.JobID) *actor.Props {
	return d.apart(func() actor.Actor { return &inputProbe{deps: d, job: job} })
}

// Receive implements actor.Actor.
func (e *inputProbe) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		e.ask(ctx)
	case *actor.Stopping, *actor.Restarting:
		e.close()
	case messages.InputChecked:
		e.seen(ctx, msg)
	case inputProbeUpdate:
		if msg.waiting || e.early {
			e.ask(ctx)
		}
	case messages.CommandRejected:
		e.refused(ctx, msg.Err)
	case inputProbeTick:
		if msg.number == e.asked {
			e.ask(ctx)
		}
	default:
		unhandled(ctx, e.deps)
	}
}

func (e *inputProbe) ask(ctx actor.Context) {
	e.arm(ctx, inputProbeTimeout)
	ctx.Request(ctx.Parent(), messages.CheckInput{Job: e.job, For: inputProbeSpan})
}

func (e *inputProbe) arm(ctx actor.Context, after time.Duration) {
	e.close()
	e.asked++
	e.again = sendLater(ctx, after, inputProbeTick{number: e.asked})
}

// seen reports a job that waits for input. It continues to ask, since the waiter may wait for
// several jobs.
func (e *inputProbe) seen(ctx actor.Context, s messages.InputChecked) {
	e.early = false
	e.arm(ctx, inputProbePause)
	if s.Waiting {
		ctx.Send(ctx.Parent(), lifecycle.InputWaiting{Job: e.job, Secret: s.Secret})
	}
}

// refused reports a permanent refusal. It asks again after others, such as of a job that has
// not started or is being handed over.
func (e *inputProbe) refused(ctx actor.Context, err messages.Error) {
	switch err.Code {
	case messages.NoInput, messages.JobFinished:
		e.close()
		ctx.Send(ctx.Parent(), lifecycle.Impossible{Job: e.job})
	case messages.Unsupported:
		e.close()
		ctx.Send(ctx.Parent(), outputProbeFailed{job: e.job, err: err})
	default:
		e.early = true
		e.arm(ctx, inputProbePause)
	}
}

func (e *inputProbe) close() {
	if e.again != nil {
		e.again()
	}
	e.asked++
}
