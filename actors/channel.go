package actors

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// channelSpec describes a channel: for a new subscriber, for one that returns, and after a
// crash.
type channelSpec struct {
	id         messages.ChannelID
	subscriber *actor.PID
	filter     messages.Filter
	after      messages.Seq // acknowledged by the subscriber
	window     int          // facts
	last       messages.Seq // the newest fact in the journal; newer ones are delivered
	newest     messages.Seq // the newest numbered fact
	begun      messages.Seq // facts up to here are not sent: they came before a subscription to what comes
	resumed    bool         // the subscriber has had Subscribed
	beyond     messages.Seq // number that the subscriber had in another journal; 0: none
	origin     string       // of the journal
}

// passes reports whether the subscriber is to have a fact.
func (s *channelSpec) passes(r messages.FactRecorded) bool {
	return r.Seq > s.begun && s.filter.Passes(r.Fact)
}

// windowOf returns how many facts a subscriber may have unacknowledged.
func windowOf(asked int) int {
	if asked <= 0 {
		asked = messages.DefaultWindow
	}
	return min(asked, messages.MaxOutbox)
}

// channel sends one subscriber the facts that pass its filter, in order, at most a window of
// them unacknowledged. New facts wait in a bounded outbox. When that is full, and for facts
// older than the channel, it reads from the journal. The supervisor (parent) keeps the last
// acknowledged number and spawns a new channel after a crash.
type channel struct {
	deps *Deps
	spec channelSpec

	sentUpTo     messages.Seq   // facts up to here are sent or filtered out
	unacked      []messages.Seq // sent and not acknowledged, at most the window
	outbox       []messages.FactRecorded
	bufferedUpTo messages.Seq // the outbox has the facts above sentUpTo up to here
	last         messages.Seq // the newest fact; above bufferedUpTo only the journal has them

	reading bool
	gen     int
	cancel  scheduler.CancelFunc
	flusher *actor.PID
	over    bool
	endSent bool // childDone is sent
}

func channelProps(d *Deps, spec channelSpec) *actor.Props {
	spec.window, spec.after = windowOf(spec.window), min(spec.after, spec.last)
	return d.inline(func() actor.Actor {
		return &channel{deps: d, spec: spec, sentUpTo: spec.after, bufferedUpTo: spec.after, last: spec.last}
	})
}

// Receive implements actor.Actor.
func (c *channel) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		c.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		c.quitReading()
	case deliver:
		c.deliver(ctx, msg)
	case messages.Acknowledge:
		c.acknowledge(ctx, msg.Seq)
	case factsRead:
		c.factsRead(ctx, msg)
	case readTimeout:
		c.readLate(ctx, msg)
	case flush:
		c.flusher = ctx.Sender()
		c.sendReady(ctx)
	case messages.Unsubscribe:
		c.unsubscribe(ctx)
	default:
		unhandled(ctx, c.deps)
	}
}

func (c *channel) start(ctx actor.Context) {
	if !c.spec.resumed && c.hasSubscriber(ctx) {
		ctx.Send(c.spec.subscriber, messages.Subscribed{Channel: c.spec.id, After: c.sentUpTo, Newest: c.spec.newest, Origin: c.spec.origin})
		if c.spec.beyond > 0 {
			ctx.Send(c.spec.subscriber, messages.FactsDropped{Channel: c.spec.id, From: c.spec.beyond + 1, To: c.sentUpTo})
		}
	}
	c.sendReady(ctx)
}

// hasSubscriber reports whether the subscriber is reachable. One that was lost returns under
// another PID.
func (c *channel) hasSubscriber(ctx actor.Context) bool {
	return !c.over && reachable(ctx, c.spec.subscriber)
}

// deliver puts new facts into the outbox if it has the facts before them and has room.
// Otherwise the channel reads them from the journal later.
func (c *channel) deliver(ctx actor.Context, m deliver) {
	c.last = max(c.last, m.upTo)
	c.trimAcked(m.acked)
	if m.after > c.bufferedUpTo || m.upTo <= c.bufferedUpTo {
		return
	}
	for _, fact := range m.facts {
		if fact.Seq > c.bufferedUpTo {
			c.buffer(fact)
		}
	}
	c.bufferedUpTo = m.upTo
	if len(c.outbox) > messages.MaxOutbox {
		c.dropOutbox()
	}
	c.sendReady(ctx)
}

func (c *channel) buffer(fact messages.FactRecorded) {
	c.bufferedUpTo = fact.Seq
	if !c.spec.passes(fact) {
		return
	}
	if len(c.outbox) == 0 {
		c.sentUpTo = fact.Seq - 1
	}
	c.outbox = append(c.outbox, fact)
}

// dropOutbox empties the outbox. The journal has its facts.
func (c *channel) dropOutbox() {
	c.outbox, c.bufferedUpTo = nil, c.sentUpTo
}

// acknowledge sends the facts for which the window has room now.
func (c *channel) acknowledge(ctx actor.Context, seq messages.Seq) {
	c.trimAcked(seq)
	c.sendReady(ctx)
}

// trimAcked removes acknowledged numbers. Facts that were not sent stay.
func (c *channel) trimAcked(seq messages.Seq) {
	n := 0
	for n < len(c.unacked) && c.unacked[n] <= seq {
		n++
	}
	c.unacked = c.unacked[n:]
}

// sendReady sends the facts for which the window has room. It reads from the journal when
// the outbox is empty and more facts exist.
func (c *channel) sendReady(ctx actor.Context) {
	if !c.hasSubscriber(ctx) {
		c.dropOutbox()
		c.answerFlush(ctx)
		return
	}
	for len(c.outbox) > 0 && len(c.unacked) < c.spec.window {
		fact := c.outbox[0]
		c.outbox = c.outbox[1:]
		c.sentUpTo = fact.Seq
		c.unacked = append(c.unacked, fact.Seq)
		ctx.Send(c.spec.subscriber, messages.Notification{Channel: c.spec.id, Seq: fact.Seq, Fact: fact.Fact})
	}
	if len(c.outbox) > 0 {
		return
	}
	c.outbox, c.sentUpTo = nil, c.bufferedUpTo
	switch {
	case c.bufferedUpTo < c.last && len(c.unacked) < c.spec.window:
		c.read(ctx)
	case c.bufferedUpTo == c.last && len(c.unacked) == 0:
		c.answerFlush(ctx)
	}
}

// answerFlush answers flush: the subscriber has all facts, or is gone.
func (c *channel) answerFlush(ctx actor.Context) {
	if c.flusher != nil {
		ctx.Send(c.flusher, flushed{})
		c.flusher = nil
	}
}

// unsubscribe ends the channel and answers. It may be called again.
func (c *channel) unsubscribe(ctx actor.Context) {
	bye := messages.Unsubscribed{Channel: c.spec.id, Reason: "unsubscribed"}
	if c.hasSubscriber(ctx) {
		ctx.Send(c.spec.subscriber, bye)
	}
	if by := ctx.Sender(); by != nil && (c.over || !by.Equal(c.spec.subscriber)) && reachable(ctx, by) {
		ctx.Send(by, bye)
	}
	c.over = true
	c.sendReady(ctx)
	c.leave(ctx)
}

// leave sends childDone once the channel is over and no page is pending.
func (c *channel) leave(ctx actor.Context) {
	if c.over && !c.reading && !c.endSent {
		c.endSent = true
		ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
	}
}
