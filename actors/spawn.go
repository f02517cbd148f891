package actors

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// props are those of every actor: state made by a producer without side
// effects, the guard outermost, and a named strategy. It runs in turn with the
// others: sessions and commands decide and pass on, and hold nobody up.
func (d *Deps) props(producer func() actor.Actor) *actor.Props {
	box := d.Workers.NewMailbox()
	chain := append([]actor.ReceiverMiddleware{guard(d, box)}, d.Middleware...)
	return actor.PropsFromProducer(producer, actor.WithSupervisor(byKind{}),
		actor.WithMailbox(func() actor.Mailbox { return box }), actor.WithDispatcher(d.Workers), actor.WithReceiverMiddleware(chain...))
}

// apart are the props of an actor that may take its time, in a goroutine of its
// own: what reads and searches output, gathers answers, or waits for a journal.
func (d *Deps) apart(producer func() actor.Actor) *actor.Props {
	return d.props(producer).Configure(actor.WithDispatcher(&d.Workers.Apart))
}

// inline are the props of an actor that runs in the goroutine of whoever sends
// it something, if it is idle. Those are the supervisor, the scopes and the channels:
// they only look things up and pass things on, and hear from clients and actors
// alone, never from an engine, which may hold a lock while it tells a fact. It spares the road of a command,
// up and down, some ten changes of goroutine. Nobody is kept: after some messages
// of others a worker goes on.
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

// stopped says that the supervisor, and with it every actor below, has ended, and
// that the outputs are removed that were still to be.
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
		return // who was asked has just gone: the patience of who asks covers it
	}
	if d.Unhandled != nil {
		d.Unhandled(ctx.Self().Id, ctx.Message())
		return
	}
	d.Log.Warn("an unexpected message", slog.String("actor", ctx.Self().Id), slog.String("message", fmt.Sprintf("%T", ctx.Message())))
}

// sendLater sends the actor a message after a delay. The returned cancel does not
// take back a message that is queued already: carry a generation in it.
func sendLater(ctx actor.Context, after time.Duration, message any) scheduler.CancelFunc {
	return scheduler.NewTimerScheduler(ctx.ActorSystem().Root).SendOnce(after, ctx.Self(), message)
}

// poisonChild stops a child behind what was passed on to it before: a stop would
// overtake it, and who asked would never hear.
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
