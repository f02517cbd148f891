package actors

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// channelSpec is what a channel is made from: for a new subscriber, for one
// that comes back, and after a crash.
type channelSpec struct {
	id         messages.ChannelID
	subscriber *actor.PID
	filter     messages.Filter
	after      messages.Seq // what the subscriber has dealt with
	window     int
	last       messages.Seq // the newest fact in the journal; newer ones are delivered
	newest     messages.Seq // the newest fact that has a number
	resumed    bool         // the subscriber knows of the channel already
	beyond     messages.Seq // the subscriber has come so far in another journal than ours; 0: it has not
}

// windowOf is how many facts a subscriber is told of ahead of what it has
// acknowledged.
func windowOf(asked int) int {
	if asked <= 0 {
		asked = messages.DefaultWindow
	}
	return min(asked, messages.MaxOutbox)
}

// channel tells one subscriber the facts it asked for, in order, at most a
// window ahead of what it has acknowledged. It holds what is new in a bounded
// outbox; when that is full, or for what is older than the channel, it remembers
// only how far it came and reads on from the journal. It speaks with its
// subscriber and with the supervisor (parent), which keeps the number that was
// acknowledged last and makes the channel anew should it die.
type channel struct {
	deps *Deps
	spec channelSpec

	sentUpTo     messages.Seq   // all up to here was told, or is nothing the filter lets through
	unacked      []messages.Seq // told and not acknowledged, at most the window
	outbox       []messages.FactRecorded
	bufferedUpTo messages.Seq // what the outbox knows of: all above told, up to here
	last         messages.Seq // the newest fact; above held it is only in the journal

	reading bool
	gen     int
	cancel  scheduler.CancelFunc
	flusher *actor.PID
	over    bool
	endSent bool // ended was said
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
		ctx.Send(c.spec.subscriber, messages.Subscribed{Channel: c.spec.id, After: c.sentUpTo, Newest: c.spec.newest})
		if c.spec.beyond > 0 {
			ctx.Send(c.spec.subscriber, messages.FactsDropped{Channel: c.spec.id, From: c.spec.beyond + 1, To: c.sentUpTo})
		}
	}
	c.sendReady(ctx)
}

// hasSubscriber reports whether there is a subscriber. One that left without a word
// never comes back under its PID: it subscribes again.
func (c *channel) hasSubscriber(ctx actor.Context) bool {
	return !c.over && reachable(ctx, c.spec.subscriber)
}

// deliver takes new facts into the outbox, if none is missing before them and there
// is room; otherwise they are left to the journal.
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
	if !c.spec.filter.Passes(fact.Fact) {
		return
	}
	if len(c.outbox) == 0 {
		c.sentUpTo = fact.Seq - 1
	}
	c.outbox = append(c.outbox, fact)
}

// dropOutbox forgets what the journal has too.
func (c *channel) dropOutbox() {
	c.outbox, c.bufferedUpTo = nil, c.sentUpTo
}

// acknowledge tells what there is room for now.
func (c *channel) acknowledge(ctx actor.Context, seq messages.Seq) {
	c.trimAcked(seq)
	c.sendReady(ctx)
}

// trimAcked forgets what is acknowledged. What was not told cannot have been dealt
// with.
func (c *channel) trimAcked(seq messages.Seq) {
	n := 0
	for n < len(c.unacked) && c.unacked[n] <= seq {
		n++
	}
	c.unacked = c.unacked[n:]
}

// sendReady tells what the window has room for, and reads on when there is room
// for more than the outbox held.
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

// answerFlush says that the subscriber has all there is, or that there is none.
func (c *channel) answerFlush(ctx actor.Context) {
	if c.flusher != nil {
		ctx.Send(c.flusher, flushed{})
		c.flusher = nil
	}
}

// unsubscribe ends the channel; it may be asked again.
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

// leave says the last word, when no answer is on its way to this actor.
func (c *channel) leave(ctx actor.Context) {
	if c.over && !c.reading && !c.endSent {
		c.endSent = true
		ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
	}
}
