package troupe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"troupe/actors"
	"troupe/backends"
	"troupe/internal/journal"
	"troupe/messages"
)

// restorableJournal is a journal that knows what a node that begins again must know.
type restorableJournal interface {
	journal.Store
	journal.Writer
	journal.Jobs
	journal.Outbox
	journal.SessionEnds
}

// durableJournal is such a journal as the tree writes it.
type durableJournal struct{ restorableJournal }

// Quick implements actors.Quick.
func (l durableJournal) Quick() bool {
	q, ok := l.restorableJournal.(actors.NonBlocking)
	return ok && q.Quick()
}

// Write implements actors.Lasting.
func (l durableJournal) Write(e actors.JournalEntry) error {
	b := journal.Batch{Facts: e.Facts, Acks: e.Acks, Left: e.Left, Removed: e.Removed, Ends: e.Ends}
	for _, k := range e.Keys {
		b.Keys = append(b.Keys, journal.Key(k))
	}
	for _, o := range e.Outputs {
		b.Outputs = append(b.Outputs, journal.Output(o))
	}
	for _, c := range e.Channels {
		b.Channels = append(b.Channels, journal.Channel(c))
	}
	return l.restorableJournal.Write(b)
}

// past reads what the journal knows beside its facts. Of the jobs that are over it has
// more than the node keeps if that keeps fewer than the one before, or that died before
// it had forgotten them: their outputs are still to be removed.
func (l durableJournal) past() (p actors.RestoreState, err error) {
	if p.Number, err = l.LastJobNumber(); err != nil {
		return p, err
	}
	live, err := l.Live()
	if err != nil {
		return p, err
	}
	p.Live = remembered(live)
	for before := messages.Seq(0); ; {
		page, err := l.Finished(before, pastPage)
		if err != nil {
			return p, err
		}
		if len(page) == 0 {
			break
		}
		p.Over = append(p.Over, remembered(page)...)
		before = page[len(page)-1].Over
	}
	if p.Ends, err = l.Ends(); err != nil {
		return p, err
	}
	channels, err := l.Channels()
	for _, c := range channels {
		p.Channels = append(p.Channels, actors.SubscriberCursor(c))
	}
	return p, err
}

// pastPage is how many records are read at a time: a look at the journal that takes
// milliseconds.
const pastPage = 1000

func remembered(all []journal.Entry) []actors.RestoredJob {
	out := make([]actors.RestoredJob, 0, len(all))
	for _, e := range all {
		out = append(out, actors.RestoredJob{Job: e.Job, Key: e.Key.Key, Digest: e.Key.Digest})
	}
	return out
}

// before is what was there before the node: what its journal remembers, and what
// its engine has. It may wait for both.
func (o Options) before(ctx context.Context, p components) (past actors.RestoreState, err error) {
	if l, ok := o.Journal.(durableJournal); ok {
		if past, err = l.past(); err != nil {
			return past, fmt.Errorf("the journal cannot be read: %w", err)
		}
	}
	if o.Engine == nil { // one of our own has nothing yet
		return past, nil
	}
	if past.Held, err = p.engine.Inventory(ctx); err != nil {
		return past, fmt.Errorf("the engine does not say which jobs it has: %w", err)
	}
	past.Held = p.withoutSnapshots(past.Held)
	past.Held = p.withoutRemains(past)
	return past, nil
}

// withoutRemains takes out of an inventory what belongs to nobody any more: jobs whose last
// fact the journal has, and shells of sessions that were closed. An engine hears a little
// later than the journal that it may forget them; where the last node died in between, their
// sessions and scopes would be there again.
func (p components) withoutRemains(past actors.RestoreState) []backends.InventoryJob {
	retired := map[messages.UID]bool{}
	for _, r := range past.Over {
		retired[r.Job.UID] = r.Job.State == messages.Retired
	}
	closed := map[messages.Address]time.Time{}
	for _, end := range slices.Backward(past.Ends) { // the last one is the first
		if end.Closed {
			closed[messages.Address{Scope: end.Scope, Session: end.Session}] = end.At
		}
	}
	var remains []backends.InventoryJob
	held := slices.DeleteFunc(past.Held, func(h backends.InventoryJob) bool {
		is := retired[h.ID] && h.Last > 0
		if at, _, shell := backends.ReadShellMeta(h.Meta); shell {
			made, end := h.ID.Made(), closed[messages.Address{Scope: at.Scope, Session: at.Session}]
			is = h.Ended && (h.Closed || !made.IsZero() && made.Before(end.Truncate(time.Millisecond)))
		}
		if is {
			remains = append(remains, h)
		}
		return is
	})
	backends.SettleLeftovers(p.engine, remains)
	return held
}
