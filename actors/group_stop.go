package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// groupStop stops several jobs for one client. It sends the stops to the supervisor (parent)
// and answers once, after the last answer. It repeats a stop that a crash may have lost,
// since stops are idempotent.
type groupStop struct {
	deps   *Deps
	each   []messages.StopCommand
	client *actor.PID // nil: none waits

	waiting      map[messages.JobID]messages.StopCommand // not stopped yet
	open         int                                     // requests without an answer
	stopped      messages.CommandStopped
	refusal      *messages.Error // of this round
	refusedCount int             // of this round
	refusals     int             // rounds in which a job refused
	last         bool            // the last round: the others may still end
	gen          int
	cancel       scheduler.CancelFunc
	answered     bool
	left         bool // childDone is sent
	acted        bool // a job was stopped: not all had finished before
}

// Limits of a group stop.
const (
	// groupStopTimeout is how long a stop may be unanswered before it is sent again: an actor
	// that crashes can lose it.
	groupStopTimeout = 30 * time.Second
	// groupStopPause is the time before jobs that refused are asked again. A hand-over or a new
	// actor takes less.
	groupStopPause = time.Second
	// groupStopRounds bounds the rounds with refusals.
	groupStopRounds = 5
	// maxNamed bounds the jobs that an error names.
	maxNamed = 8
)

// groupStopRetry says that the next round is due.
type groupStopRetry struct {
	noDeadLetter
	gen int
}

func groupStopProps(d *Deps, each []messages.StopCommand, client *actor.PID) *actor.Props {
	g := &groupStop{deps: d, each: each, client: client, waiting: map[messages.JobID]messages.StopCommand{}}
	for _, r := range each {
		g.waiting[r.Job] = r
	}
	return d.apart(func() actor.Actor { return g }) // it is never restarted (strategies.go)
}

// Receive implements actor.Actor.
func (g *groupStop) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		g.ask(ctx)
	case *actor.Stopping, *actor.Restarting:
		g.disarm()
	case messages.CommandStopped:
		g.open--
		g.onStopped(ctx, msg)
	case messages.CommandRejected:
		g.open--
		g.refused(ctx, &msg.Err)
	case groupStopRetry:
		g.again(ctx, msg)
	case abort:
		g.quit(ctx)
	default:
		unhandled(ctx, g.deps)
	}
}

// ask sends a stop to each job that has not answered, in order.
func (g *groupStop) ask(ctx actor.Context) {
	if len(g.waiting) == 0 {
		g.answer(ctx, g.done())
		return
	}
	g.refusal, g.refusedCount, g.last = nil, 0, false
	for _, r := range g.each {
		if _, open := g.waiting[r.Job]; open {
			g.open++
			ctx.Request(ctx.Parent(), r)
		}
	}
	g.arm(ctx, groupStopTimeout)
}

func (g *groupStop) arm(ctx actor.Context, after time.Duration) {
	g.disarm()
	g.cancel = sendLater(ctx, after, groupStopRetry{gen: g.gen})
}

func (g *groupStop) disarm() {
	if g.cancel != nil {
		g.cancel()
	}
	g.gen++
}

func (g *groupStop) onStopped(ctx actor.Context, m messages.CommandStopped) {
	if g.answered {
		g.leave(ctx)
		return
	}
	for _, job := range m.Jobs {
		if _, open := g.waiting[job]; open {
			delete(g.waiting, job)
			g.stopped.Survivors = append(g.stopped.Survivors, m.Survivors...)
			g.acted = g.acted || !m.Already
		}
	}
	if len(g.waiting) == 0 || g.last && g.stuck() {
		g.conclude(ctx)
	}
}

// stuck reports whether each job that has not ended has refused.
func (g *groupStop) stuck() bool { return g.refusal != nil && len(g.waiting) <= g.refusedCount }

// conclude answers the client. A job that does not exist counts as stopped.
func (g *groupStop) conclude(ctx actor.Context) {
	if len(g.waiting) == 0 || g.refusal.Code == messages.NotFound {
		g.answer(ctx, g.done())
		return
	}
	g.answer(ctx, messages.CommandRejected{Err: *g.unstopped()})
}

// refused keeps the first refusal other than NotFound.
func (g *groupStop) refused(ctx actor.Context, err *messages.Error) {
	if g.answered {
		g.leave(ctx)
		return
	}
	g.refusedCount++
	if g.refusal == nil {
		g.refusals++
		g.arm(ctx, groupStopPause)
	}
	if g.refusal == nil || g.refusal.Code == messages.NotFound {
		g.refusal = err
	}
}

// again starts another round, or concludes.
func (g *groupStop) again(ctx actor.Context, m groupStopRetry) {
	switch {
	case m.gen != g.gen:
	case g.answered:
		g.open = 0 // a crash has lost the answers
		g.leave(ctx)
	case g.refusals < groupStopRounds || g.last:
		g.ask(ctx)
	case g.stuck():
		g.conclude(ctx)
	default: // wait once more for jobs that have not refused
		g.last = true
		g.arm(ctx, groupStopTimeout)
	}
}

func (g *groupStop) done() messages.CommandStopped {
	for _, r := range g.each {
		g.stopped.Jobs = append(g.stopped.Jobs, r.Job)
	}
	g.stopped.Already = len(g.each) > 0 && !g.acted
	return g.stopped
}

func (g *groupStop) unstopped() *messages.Error {
	var names []string
	for _, r := range g.each {
		if _, open := g.waiting[r.Job]; open && len(names) < maxNamed {
			names = append(names, string(r.Job))
		}
	}
	if len(names) < len(g.waiting) {
		names = append(names, "…")
	}
	return &messages.Error{
		Code: g.refusal.Code, Reason: g.refusal.Reason,
		Message: fmt.Sprintf("%d of %d jobs could not be stopped (%s): %s", len(g.waiting), len(g.each), strings.Join(names, ", "), g.refusal.Message),
		Hint:    "stop them one by one",
	}
}

// answer sends the one reply.
func (g *groupStop) answer(ctx actor.Context, reply messages.ControlReply) {
	g.answered = true
	g.arm(ctx, groupStopTimeout)
	if g.client != nil && reachable(ctx, g.client) {
		ctx.Send(g.client, reply)
	}
	g.leave(ctx)
}

// quit refuses the client: the node shuts down.
func (g *groupStop) quit(ctx actor.Context) {
	g.open = 0
	if g.answered {
		g.leave(ctx)
		return
	}
	g.answer(ctx, messages.CommandRejected{Err: *shuttingDown()})
}

// leave sends childDone when no answer is pending. A job that was asked twice answers twice.
func (g *groupStop) leave(ctx actor.Context) {
	if g.open <= 0 && !g.left {
		g.left = true
		g.disarm()
		g.each, g.waiting = nil, nil // frees memory: the library may keep a stopped actor
		ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
	}
}
