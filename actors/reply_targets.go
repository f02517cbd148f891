package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
)

// replyTargets are the clients that wait for an answer of a job's machine.
type replyTargets struct {
	waiting map[lifecycle.ReplyID]*actor.PID // nil: none yet
	last    lifecycle.ReplyID
}

// ticket returns a ReplyID for the sender, 0 if there is none.
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
