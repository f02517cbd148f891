package actors

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// webhookNotifier delivers notices to one URL, one after the other. It subscribes to a
// channel, which sends unacknowledged notices again after a crash. It reports results to the
// supervisor (parent), which records them. Deps.Webhooks waits for the network.
type webhookNotifier struct {
	deps   *Deps
	notice notice
	quit   func() // cancels the current try; nil: none
}

// Webhooks deliver notices to URLs. It is safe for concurrent use.
type Webhooks interface {
	// Deliver makes one try and calls done once with its result, from another goroutine. It
	// returns at once. A cancelled try fails.
	Deliver(d messages.Delivery, done func(messages.Delivered)) (cancel func())
}

// delivered is the result of a try.
type delivered struct {
	noDeadLetter
	gen    int
	result messages.Delivered
}

func newWebhook(d *Deps, to string) actor.Actor {
	return &webhookNotifier{deps: d, notice: notice{to: to}}
}

// Receive implements actor.Actor.
func (w *webhookNotifier) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Stopping, *actor.Restarting:
		w.abandon()
	case messages.Notification:
		if w.notice.take(msg) {
			w.try(ctx)
		}
	case messages.FactsDropped:
		ctx.Send(ctx.Parent(), noticesDropped{to: w.notice.to, upTo: msg.To})
	case delivered:
		w.delivered(ctx, msg)
	case tryAgain:
		if msg.gen == w.notice.gen {
			w.try(ctx)
		}
	case messages.Unsubscribed: // the remaining notices were dropped, or wait for the next node
	default:
		unhandled(ctx, w.deps)
	}
}

func (w *webhookNotifier) try(ctx actor.Context) {
	self, root, gen := ctx.Self(), ctx.ActorSystem().Root, w.notice.next()
	w.quit = w.deps.Webhooks.Deliver(w.notice.current, func(result messages.Delivered) {
		if reachable(root, self) { // else the actor has stopped
			root.Send(self, delivered{gen: gen, result: result})
		}
	})
}

func (w *webhookNotifier) delivered(ctx actor.Context, m delivered) {
	if m.gen != w.notice.gen {
		return
	}
	w.quit = nil
	w.notice.tried(ctx, m.result)
}

// abandon cancels the current try. A new actor repeats it.
func (w *webhookNotifier) abandon() {
	w.notice.abandon()
	if w.quit != nil {
		w.quit()
	}
}

// notice is the current notice of a notifier.
type notice struct {
	to      string
	current messages.Delivery // Seq 0: none
	machine lifecycle.Notice
	gen     int
	cancel  scheduler.CancelFunc
}

// tryAgain says that the next try of a notice is due.
type tryAgain struct {
	noDeadLetter
	gen int
}

// noticeResult is the result of a notice: delivered, or failed with err.
type noticeResult struct {
	noDeadLetter
	to    string
	seq   messages.Seq
	tries int
	err   messages.Error
}

// noticesDropped says that the journal no longer has the facts of some notices.
type noticesDropped struct {
	noDeadLetter
	to   string
	upTo messages.Seq
}

// take starts a notice, unless one is current: a crashed channel sends that again. The
// receiver sees no other receivers in the record.
func (n *notice) take(m messages.Notification) bool {
	fact, ok := m.Fact.(messages.CommandFinished)
	if !ok || n.current.Seq != 0 {
		return false
	}
	job := fact.Job
	job.OnFinish = nil
	for _, other := range fact.Job.OnFinish {
		if other.To == n.to {
			job.OnFinish = []messages.Notice{other}
		}
	}
	n.current = messages.Delivery{To: n.to, Seq: m.Seq, Job: job}
	n.machine = lifecycle.Notice{Ended: job.End.At}
	return true
}

// next starts a try and returns its generation.
func (n *notice) next() int {
	n.gen++
	return n.gen
}

// tried takes the result of a try: the notice ends, or is tried again later.
func (n *notice) tried(ctx actor.Context, result messages.Delivered) {
	n.gen++
	if result.Err == (messages.Error{}) {
		n.over(ctx, messages.Error{})
		return
	}
	machine, wait, again := n.machine.Failed(result, clock(), rand.Float64()) //nolint:gosec // it spreads, it hides nothing
	if !again {
		n.over(ctx, result.Err)
		return
	}
	n.machine = machine
	n.wait(ctx, wait, n.gen)
}

// wait arms the next try.
func (n *notice) wait(ctx actor.Context, d time.Duration, gen int) {
	if n.cancel != nil {
		n.cancel()
	}
	n.cancel = sendLater(ctx, d, tryAgain{gen: gen})
}

func (n *notice) over(ctx actor.Context, err messages.Error) {
	n.abandon()
	ctx.Send(ctx.Parent(), noticeResult{to: n.to, seq: n.current.Seq, tries: n.machine.Tries + 1, err: err})
	n.current = messages.Delivery{}
}

func (n *notice) abandon() {
	n.gen++
	if n.cancel != nil {
		n.cancel()
	}
}
