package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// inputProbe has one job looked at for a watch (parent), through which it asks the job's
// command, again and again for as long as the watch is there: whoever is gone asks
// no more. It says that the job waits for input (Seen), that it never will (Hopeless), or
// that nobody can tell. What the job's record says of that may be older than the last
// input, whose giver has heard of it on a shorter way: it is a reason to ask.
type inputProbe struct {
	deps  *Deps
	job   messages.JobID
	again scheduler.CancelFunc
	asked int
	early bool // it was asked of before it could be
}

const (
	// inputProbeSpan is for how long a job is looked at when it was asked once.
	inputProbeSpan = 5 * time.Second
	// inputProbePause is how long an eye waits between two questions.
	inputProbePause = 2 * time.Second
	// inputProbeTimeout is how long it waits for an answer, which may be held back behind
	// input that the job does not take.
	inputProbeTimeout = 30 * time.Second
)

// inputProbeTick has an eye ask again.
type inputProbeTick struct {
	noDeadLetter
	number int
}

// inputProbeUpdate tells an eye that its job stands otherwise.
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

// seen says what was seen. It asks again all the same: of several jobs some are waited
// for longer.
func (e *inputProbe) seen(ctx actor.Context, s messages.InputChecked) {
	e.early = false
	e.arm(ctx, inputProbePause)
	if s.Waiting {
		ctx.Send(ctx.Parent(), lifecycle.InputWaiting{Job: e.job, Secret: s.Secret})
	}
}

// refused gives up what cannot be. What is only not now (a job that has not started,
// or is being moved) is asked again.
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
