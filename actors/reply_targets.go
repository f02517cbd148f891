package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
)

// replyTargets are those who wait for an answer of a job's machine, which knows them
// by their tickets.
type replyTargets struct {
	waiting map[lifecycle.ReplyID]*actor.PID // nil: nobody has asked yet
	last    lifecycle.ReplyID
}

// ticket stands for who asked: 0 if nobody waits.
func (c *replyTargets) ticket(ctx actor.Context) lifecycle.ReplyID {
	if ctx.Sender() == nil {
		return 0
	}
	if c.waiting == nil {
		c.waiting = map[lifecycle.ReplyID]*actor.PID{}
	}
	c.last++
	c.waiting[c.last] = ctx.Sender()
	return c.last
}

func (c *replyTargets) answer(ctx actor.Context, r lifecycle.Reply) {
	client := c.waiting[r.To]
	delete(c.waiting, r.To)
	if client != nil && reachable(ctx, client) {
		ctx.Send(client, r.Reply)
	}
}
