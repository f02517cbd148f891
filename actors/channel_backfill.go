package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// readPatience is how long a channel waits for a page before it asks again. The recorder may
// have crashed, or the journal may fail for a while.
const readPatience = 5 * time.Second

// readTimeout says that a page has not come in readPatience.
type readTimeout struct {
	noDeadLetter
	gen int
}

// read requests the page after the outbox, one at a time.
func (c *channel) read(ctx actor.Context) {
	if c.reading {
		return
	}
	c.reading = true
	c.gen++
	c.cancel = sendLater(ctx, readPatience, readTimeout{gen: c.gen})
	ctx.Request(ctx.Parent(), readFacts{after: c.bufferedUpTo, limit: messages.MaxOutbox})
}

func (c *channel) quitReading() {
	if c.cancel != nil {
		c.cancel()
	}
	c.reading = false
	c.gen++
}

// factsRead takes a page. A failed read is repeated after readPatience, unless the error is
// permanent.
func (c *channel) factsRead(ctx actor.Context, m factsRead) {
	if !c.reading || m.after != c.bufferedUpTo && !c.over {
		return
	}
	never := lastWord(m.err)
	switch {
	case never != nil:
		c.quitReading()
		c.unreadable(ctx, never)
	case m.err == nil || c.over:
		c.quitReading()
		c.takePage(ctx, m)
	}
	c.sendReady(ctx)
	c.leave(ctx)
}

// unreadable ends the channel: the journal will never give the facts that come next.
func (c *channel) unreadable(ctx actor.Context, err *messages.Error) {
	if c.hasSubscriber(ctx) {
		final := *err
		final.Message, final.Hint = "cannot read the journal: "+err.Message, err.Hint+"; then restart the node"
		ctx.Send(c.spec.subscriber, messages.Unsubscribed{Channel: c.spec.id, Reason: final.Message, Err: &final})
	}
	c.over = true
}

// takePage fills the empty outbox. It reports facts that the journal no longer has as
// dropped.
func (c *channel) takePage(ctx actor.Context, m factsRead) {
	if !c.hasSubscriber(ctx) {
		return
	}
	c.last = max(c.last, m.last)
	first := m.last + 1
	if len(m.facts) > 0 {
		first = m.facts[0].Seq
	}
	if first > c.bufferedUpTo+1 {
		ctx.Send(c.spec.subscriber, messages.FactsDropped{Channel: c.spec.id, From: c.bufferedUpTo + 1, To: first - 1})
		c.sentUpTo, c.bufferedUpTo = first-1, first-1
	}
	for _, fact := range m.facts {
		if fact.Seq > c.bufferedUpTo {
			c.buffer(fact)
		}
	}
	c.last = max(c.last, c.bufferedUpTo)
}

func (c *channel) readLate(ctx actor.Context, m readTimeout) {
	if m.gen != c.gen {
		return
	}
	c.quitReading()
	c.sendReady(ctx)
	c.leave(ctx)
}
