package actors

import "github.com/asynkron/protoactor-go/actor"

// brood makes the commands of one session, with the same Props for all: those of
// its own would cost each command half a KiB for as long as it lives. It is the
// session's alone, and a command is never restarted (strategies.go): another is made in
// its place.
type brood struct {
	props *actor.Props
	next  *command // is being made
}

func newBrood(d *Deps) *brood {
	b := &brood{}
	b.props = d.shared(
		func() actor.Actor { return b.next }, // both are called while it is spawned
		func() actor.Mailbox { return b.next.box },
		func(c actor.ReceiverContext) *guarded { return &c.Actor().(*command).guarded },
	)
	return b
}

// spawn starts the actor of a command.
func (b *brood) spawn(ctx actor.Context, c *command, name string) *actor.PID {
	b.next = c
	c.box = c.deps.Workers.NewMailbox()
	defer func() { b.next = nil }()
	return ctx.SpawnPrefix(b.props, name)
}
