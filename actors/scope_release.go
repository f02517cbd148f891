package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// scopeRelease waits until the jobs, sessions and scopes end that a client leaves in a scope.
// The supervisor (parent) has stopped and closed them, so a crash of this actor loses only
// the answer. It answers the client once.
type scopeRelease struct {
	deps    *Deps
	left    messages.ScopeReleased
	waits   int // pending answers
	client  *actor.PID
	refusal *messages.Error
	over    bool
}

func scopeReleaseProps(d *Deps, left messages.ScopeReleased, waits int, client *actor.PID) *actor.Props {
	return d.apart(func() actor.Actor { return &scopeRelease{deps: d, left: left, waits: waits, client: client} })
}

// Receive implements actor.Actor.
func (p *scopeRelease) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		p.step(ctx)
	case *actor.Stopping:
	case messages.CommandStopped:
		p.heard(ctx, msg.Survivors, nil)
	case messages.SessionClosed:
		p.heard(ctx, msg.Survivors, nil)
	case messages.ScopeClosed:
		p.heard(ctx, msg.Survivors, nil)
	case messages.CommandRejected:
		p.heard(ctx, nil, &msg.Err)
	case messages.RequestRejected:
		p.heard(ctx, nil, &msg.Err)
	case abort: // the closes have been answered; a group stop answers as it ends
		p.refusal = shuttingDown()
		p.step(ctx)
	default:
		unhandled(ctx, p.deps)
	}
}

// heard takes the answer about one end.
func (p *scopeRelease) heard(ctx actor.Context, left []messages.Survivor, refusal *messages.Error) {
	p.waits--
	p.left.Survivors = append(p.left.Survivors, left...)
	if p.refusal == nil {
		p.refusal = refusal
	}
	p.step(ctx)
}

// step answers the client when all answers have come.
func (p *scopeRelease) step(ctx actor.Context) {
	if p.waits > 0 || p.over {
		return
	}
	p.over = true
	reply := any(p.left)
	if p.refusal != nil {
		reply = messages.RequestRejected{Err: *p.refusal}
	}
	if p.client != nil && reachable(ctx, p.client) {
		ctx.Send(p.client, reply)
	}
	ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
}
