package actors

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// webhookNotifier tells one URL of the ends of jobs, one after the other: the next when this
// one was taken or given up. It is the subscriber of a channel, which holds what
// waits and reads it again should this actor die, and speaks with the supervisor
// (parent), which records what became of each notice. What waits for the network is
// Deps.Webhooks; only this URL waits for it.
type webhookNotifier struct {
	deps   *Deps
	notice notice
	quit   func() // gives up the try that is under way
}

// Webhooks deliver notices to URLs. It is safe for concurrent use.
type Webhooks interface {
	// Deliver makes one try and says once what became of it, from a goroutine of its
	// own. It returns at once; cancel gives the try up, which is then told as failed.
	Deliver(d messages.Delivery, told func(messages.Delivered)) (cancel func())
}

// delivered is what Webhooks told of a try.
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
	case messages.Unsubscribed: // the supervisor has given up what was left
	default:
		unhandled(ctx, w.deps)
	}
}

func (w *webhookNotifier) try(ctx actor.Context) {
	self, root, gen := ctx.Self(), ctx.ActorSystem().Root, w.notice.next()
	w.quit = w.deps.Webhooks.Deliver(w.notice.current, func(result messages.Delivered) {
		if reachable(root, self) { // else it was given up with its actor
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

// abandon lets go of what is under way; whoever comes next tries it again.
func (w *webhookNotifier) abandon() {
	w.notice.abandon()
	if w.quit != nil {
		w.quit()
	}
}

// notice is the one that a webhook or an errand is at.
type notice struct {
	to      string
	current messages.Delivery // Seq 0: none
	machine lifecycle.Notice
	gen     int
	cancel  scheduler.CancelFunc
}

// tryAgain says that a notice has waited for long enough.
type tryAgain struct {
	noDeadLetter
	gen int
}

// noticeResult says what became of a notice: it was delivered, or err is why it was given
// up.
type noticeResult struct {
	noDeadLetter
	to    string
	seq   messages.Seq
	tries int
	err   messages.Error
}

// noticesDropped says that the journal no longer holds the facts of some notices.
type noticesDropped struct {
	noDeadLetter
	to   string
	upTo messages.Seq
}

// take begins with a notice. One that is under way comes again if its channel died;
// it is answered once. Whoever is told learns nothing of others who are.
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
	n.machine = lifecycle.Notice{Ended: job.Ended}
	return true
}

// next begins a try.
func (n *notice) next() int {
	n.gen++
	return n.gen
}

// tried takes the end of a try: the notice is over, or is tried again later.
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

// wait has the notice tried again after a while, unless something happens before.
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
