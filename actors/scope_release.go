package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// scopeRelease waits for the ends of what a client leaves in a scope, which the supervisor
// (parent) has asked for: of scopes and sessions, and of the jobs that a gather stops. It
// answers the client once. Should it die, the ends come all the same.
type scopeRelease struct {
	deps    *Deps
	left    messages.ScopeReleased
	waits   int // answers that have not come
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
	case abort:
		p.waits, p.refusal = 0, shuttingDown()
		p.step(ctx)
	default:
		unhandled(ctx, p.deps)
	}
}

// heard takes one end, or why it cannot be told.
func (p *scopeRelease) heard(ctx actor.Context, left []messages.Survivor, refusal *messages.Error) {
	p.waits--
	p.left.Survivors = append(p.left.Survivors, left...)
	if p.refusal == nil {
		p.refusal = refusal
	}
	p.step(ctx)
}

// step answers when nothing is waited for any more.
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
