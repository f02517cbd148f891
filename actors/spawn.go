package actors

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// props returns the Props of an actor in the shared run queue, with the guard as outermost
// middleware. The producer must have no side effects. Sessions and commands run there: they
// never wait.
func (d *Deps) props(producer func() actor.Actor) *actor.Props {
	box := d.Workers.NewMailbox()
	chain := append([]actor.ReceiverMiddleware{guard(d, box)}, d.Middleware...)
	return actor.PropsFromProducer(producer, actor.WithSupervisor(byKind{}),
		actor.WithMailbox(func() actor.Mailbox { return box }), actor.WithDispatcher(d.Workers), actor.WithReceiverMiddleware(chain...))
}

// apart returns the Props of an actor that runs in its own goroutine. It may wait: for output,
// answers or a journal.
func (d *Deps) apart(producer func() actor.Actor) *actor.Props {
	return d.props(producer).Configure(actor.WithDispatcher(&d.Workers.Apart))
}

// inline returns the Props of an actor that runs in the goroutine of its sender if it is idle:
// the supervisor, scopes and channels. They only look up and pass on. An engine never sends to
// them, since it may hold a lock then. That saves a command about ten changes of goroutine.
// After some messages a worker continues.
func (d *Deps) inline(producer func() actor.Actor) *actor.Props {
	return d.props(producer).Configure(actor.WithDispatcher(actor.NewSynchronizedDispatcher(d.Workers.Throughput())))
}

// Spawn starts the tree of a node and returns its supervisor.
func Spawn(system *actor.ActorSystem, d *Deps) (*actor.PID, error) {
	if d.Workers == nil {
		d.Workers = new(Workers)
	}
	d.looks = make(chan struct{}, maxLooks)
	root := system.Root.Copy().WithGuardian(stopAll{})
	pid, err := root.SpawnNamed(d.inline(func() actor.Actor { return newSupervisor(d) }), kindSupervisor)
	if err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	return pid, nil
}

// stopped removes the last outputs, closes the workers and calls Stopped, after all actors
// have stopped.
func (d *Deps) stopped(last []removedJob) {
	if len(last) > 0 {
		d.Workers.Apart.Schedule(func() {
			d.removeLogs(last)
			d.stopped(nil)
		})
		return
	}
	d.Workers.Apart.Close()
	if d.Stopped != nil {
		d.Stopped()
	}
}

// unhandled reports a message that its receiver has no case for.
func unhandled(ctx actor.Context, d *Deps) {
	switch ctx.Message().(type) {
	case actor.AutoReceiveMessage, actor.SystemMessage, *actor.Started:
		return
	case *actor.DeadLetterResponse:
		return // the receiver of a request has just stopped; the sender has a timeout
	}
	if d.Unhandled != nil {
		d.Unhandled(ctx.Self().Id, ctx.Message())
		return
	}
	d.Log.Warn("an unexpected message", slog.String("actor", ctx.Self().Id), slog.String("message", fmt.Sprintf("%T", ctx.Message())))
}

// sendLater sends the actor a message after a delay. Cancelling does not remove a message that
// is queued already: carry a generation in it.
func sendLater(ctx actor.Context, after time.Duration, message any) scheduler.CancelFunc {
	return scheduler.NewTimerScheduler(ctx.ActorSystem().Root).SendOnce(after, ctx.Self(), message)
}

// poisonChild stops a child after its queued messages. A stop would overtake them and lose
// their replies.
func poisonChild(ctx actor.Context, child *actor.PID) { ctx.Poison(child) }

// refuse sends the request's own refusal to the sender of the message in hand.
func refuse(ctx actor.Context, request any, err *messages.Error) {
	refuseTo(ctx, ctx.Sender(), request, err)
}

// refuseTo sends the request's own refusal to a client. A nil client gets none.
func refuseTo(ctx actor.Context, client *actor.PID, request any, err *messages.Error) {
	if r, ok := request.(messages.Refusable); ok && client != nil && reachable(ctx, client) {
		ctx.Send(client, r.Refuse(err))
	}
}
