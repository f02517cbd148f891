package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// groupStop stops several jobs for one client: it asks for each, by way of the
// supervisor (parent), and answers once, when the last has answered. A job whose
// actor died over the request is asked again, since a stop is idempotent.
type groupStop struct {
	deps   *Deps
	each   []messages.StopCommand
	client *actor.PID // nil: nobody waits

	waiting      map[messages.JobID]messages.StopCommand
	open         int // requests without an answer
	stopped      messages.CommandStopped
	refusal      *messages.Error // of this round
	refusedCount int             // of this round
	refusals     int             // rounds in which a job refused
	last         bool            // there were enough of those: only jobs that end are waited for
	gen          int
	cancel       scheduler.CancelFunc
	answered     bool
	left         bool // ended was said
	acted        bool // a job ended for it: not all had finished before
}

// Of the requests of a gather.
const (
	// gatherPatience is how long an unanswered request is believed to be held: it
	// may have been lost with an actor.
	gatherPatience = 30 * time.Second
	// gatherPause is before jobs that refused are asked again: one that is just
	// being moved, or given a new actor, is there by then.
	gatherPause = time.Second
	// gatherRounds is how often jobs may refuse before the client is told.
	gatherRounds = 5
	// maxNamed bounds the jobs a sentence names.
	maxNamed = 8
)

// groupStopRetry says that it is time to ask those that have not answered.
type groupStopRetry struct {
	noDeadLetter
	gen int
}

func gatherProps(d *Deps, each []messages.StopCommand, client *actor.PID) *actor.Props {
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

// ask asks those that have not answered, in their order.
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
	g.arm(ctx, gatherPatience)
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

// stuck says that each job that has not ended has refused.
func (g *groupStop) stuck() bool { return g.refusal != nil && len(g.waiting) <= g.refusedCount }

// conclude says what became of the jobs: one that is not there needs no stopping.
func (g *groupStop) conclude(ctx actor.Context) {
	if len(g.waiting) == 0 || g.refusal.Code == messages.NotFound {
		g.answer(ctx, g.done())
		return
	}
	g.answer(ctx, messages.CommandRejected{Err: *g.unstopped()})
}

// refused remembers the refusal that says most: a job that is not there needs
// no stopping.
func (g *groupStop) refused(ctx actor.Context, err *messages.Error) {
	if g.answered {
		g.leave(ctx)
		return
	}
	g.refusedCount++
	if g.refusal == nil {
		g.refusals++
		g.arm(ctx, gatherPause)
	}
	if g.refusal == nil || g.refusal.Code == messages.NotFound {
		g.refusal = err
	}
}

// again begins another round, or says that there is no use in it.
func (g *groupStop) again(ctx actor.Context, m groupStopRetry) {
	switch {
	case m.gen != g.gen:
	case g.answered:
		g.open = 0 // they were lost
		g.leave(ctx)
	case g.refusals < gatherRounds || g.last:
		g.ask(ctx)
	case g.stuck():
		g.conclude(ctx)
	default: // the others have their time to end
		g.last = true
		g.arm(ctx, gatherPatience)
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

// answer gives the one reply.
func (g *groupStop) answer(ctx actor.Context, reply messages.ControlReply) {
	g.answered = true
	g.arm(ctx, gatherPatience)
	if g.client != nil && reachable(ctx, g.client) {
		ctx.Send(g.client, reply)
	}
	g.leave(ctx)
}

// quit gives up: the node ends, and nobody answers any more.
func (g *groupStop) quit(ctx actor.Context) {
	g.open = 0
	if g.answered {
		g.leave(ctx)
		return
	}
	g.answer(ctx, messages.CommandRejected{Err: *shuttingDown()})
}

// leave ends the gather, when no answer is on its way to it: a job that was
// asked twice answers twice.
func (g *groupStop) leave(ctx actor.Context) {
	if g.open <= 0 && !g.left {
		g.left = true
		g.disarm()
		g.each, g.waiting = nil, nil // of many jobs they are large, and the library may keep the last of its actors
		ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
	}
}
