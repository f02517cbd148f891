package inject

import (
	"context"
	"time"

	"troupe/actors"
	"troupe/faults"
	"troupe/messages"
)

// webhooks lets notices to URLs meet faults. A URL gets one notice after the other: one that is to
// be reordered comes late.
type webhooks struct {
	to actors.Webhooks
	in *Injector
}

// Webhooks returns a sender whose notices meet the faults of the plan.
func (i *Injector) Webhooks(to actors.Webhooks) actors.Webhooks { return &webhooks{to: to, in: i} }

// Deliver implements actors.Webhooks.
func (w *webhooks) Deliver(d messages.Delivery, done func(messages.Delivered)) (cancel func()) {
	late, twice := time.Duration(0), false
	for _, f := range w.in.at(faults.Notice, d.Job.UID, identityOf(d.Job)) {
		switch f.Do {
		case faults.Drop:
			go done(messages.Delivered{}) // as if the receiver had it
			return func() {}
		case faults.Duplicate:
			twice = true
		case faults.Delay:
			late += f.For
		case faults.Reorder:
			late += reorderPatience
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		if pause(ctx, late); ctx.Err() != nil {
			done(messages.Delivered{Err: messages.Error{Code: messages.Internal, Reason: "cancelled", Message: "the try was cancelled"}})
			return
		}
		again := done
		if twice {
			again = func(messages.Delivered) { context.AfterFunc(ctx, w.to.Deliver(d, done)) }
		}
		context.AfterFunc(ctx, w.to.Deliver(d, again))
	}()
	return cancel
}
