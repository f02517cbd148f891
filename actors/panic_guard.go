package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/workers"
	"troupe/messages"
)

// guard returns the outermost middleware of every actor. It logs a panic with its stack, and
// answers the client whose request was lost with the message. It swallows a panic while
// stopping: the library would restart the actor, or never finish its stop.
//
// A stopping actor receives nothing more but Stopped. Its requests are refused. Children
// that stop are not replaced, since no parent would stop the new ones.
//
// Requests that wait for a stopped actor, or come later, are refused: the library would drop
// them.
func guard(d *Deps, box *workers.Mailbox) actor.ReceiverMiddleware {
	stopping := false
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
			switch env.Message.(type) {
			case *actor.Stopping:
				stopping = true
			case *actor.Stopped:
				root, who := c.ActorSystem().Root, c.Self()
				box.Close(func(message any) { refuseLate(root, who, message) })
			default:
				if stopping {
					refuseLate(c.ActorSystem().Root, c.Self(), env)
					return
				}
			}
			defer func() {
				if reason := recover(); reason != nil {
					d.caught(c, env, reason)
				}
			}()
			next(c, env)
		}
	}
}

func (d *Deps) caught(c actor.ReceiverContext, env *actor.MessageEnvelope, reason any) {
	d.Log.Error("an actor crashed", slog.String("actor", c.Self().Id), slog.String("message", fmt.Sprintf("%T", env.Message)),
		slog.Any("reason", reason), slog.String("stack", string(debug.Stack())))
	switch env.Message.(type) {
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
		return
	}
	defer func() { // also if the refusal panics
		if kindOf(c.Self()) == kindSupervisor && d.Failed != nil {
			d.Failed(fmt.Errorf("the supervisor failed: %v", reason))
		}
		panic(reason)
	}()
	refuseSender(c.ActorSystem().Root, env, internalError())
}

// refuseLate refuses a request to an actor that stops or has stopped.
func refuseLate(root *actor.RootContext, who *actor.PID, message any) {
	env, ok := message.(*actor.MessageEnvelope)
	switch {
	case !ok:
	case kindOf(who) == kindSupervisor:
		refuseSender(root, env, shuttingDown())
	default:
		refuseSender(root, env, internalError())
	}
}

// refuseSender refuses a request that was lost with its actor. It skips a placement: the
// supervisor owes the reply of its run.
func refuseSender(root *actor.RootContext, env *actor.MessageEnvelope, err *messages.Error) {
	request := env.Message
	if r, ok := request.(routed); ok {
		request = r.request
	}
	refusable, ok := request.(messages.Refusable)
	if !ok || env.Sender == nil || !reachable(root, env.Sender) {
		return
	}
	root.Send(env.Sender, refusable.Refuse(err))
}

// missing returns the refusal of a request whose receiver does not exist: err, unless it is
// about a job. The supervisor knows the job, so its actor has crashed and is being replaced.
func missing(to messages.Address, err *messages.Error) *messages.Error {
	if to.Job == "" {
		return err
	}
	return &messages.Error{
		Code: messages.Internal, Reason: "remade",
		Message: fmt.Sprintf("job %s: its supervisor is restarting, the job is still running", to.Job),
		Hint:    "retry",
	}
}

// internalError returns the refusal of a request that was lost with its actor: after a crash,
// or as the node shuts down.
func internalError() *messages.Error {
	return &messages.Error{
		Code: messages.Internal, Reason: "actor_failed",
		Message: "an actor stopped before it could answer the request; the job is not affected",
		Hint:    "look at the job and retry",
	}
}
