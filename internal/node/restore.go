package node

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

// restorableJournal is a journal from which a node can be restored.
type restorableJournal interface {
	journal.Store
	journal.Writer
	journal.Jobs
	journal.Outbox
	journal.SessionEnds
	journal.Origins
}

// durableJournal adapts such a journal to the tree.
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
	for _, q := range e.Requests {
		b.Requests = append(b.Requests, journal.Request(q))
	}
	for _, o := range e.Outputs {
		b.Outputs = append(b.Outputs, journal.Output(o))
	}
	for _, c := range e.Channels {
		b.Channels = append(b.Channels, journal.Channel(c))
	}
	return l.restorableJournal.Write(b)
}

// past reads what a new node needs from the journal. The journal may hold more finished jobs
// than the node keeps: the limit was lowered, or the former node died before it removed
// them. The node then removes their outputs.
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
		page, err := l.Finished(before, restorePage)
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

// restorePage is the number of records in one read of the journal, which takes milliseconds.
const restorePage = 1000

func remembered(all []journal.Entry) []actors.RestoredJob {
	out := make([]actors.RestoredJob, 0, len(all))
	for _, e := range all {
		out = append(out, actors.RestoredJob{Job: e.Job, Key: e.Key.Key, Digest: e.Key.Digest, Run: e.Request.Run, Env: e.Request.Env})
	}
	return out
}

// before returns the state before the node: the records of its journal and the jobs of its
// engine. It may wait for both.
func (o Options) before(ctx context.Context, p components) (past actors.RestoreState, err error) {
	if l, ok := o.Journal.(durableJournal); ok {
		if past, err = l.past(); err != nil {
			return past, fmt.Errorf("the journal cannot be read: %w", err)
		}
	}
	if j, ok := o.Journal.(journal.Origins); ok {
		origins, err := j.Origins()
		if err != nil {
			return past, fmt.Errorf("the journal cannot be read: %w", err)
		}
		for _, one := range origins {
			past.Origins = append(past.Origins, actors.Origin(one))
		}
	}
	if o.Engine == nil { // the node's own engine is new
		return past, nil
	}
	if past.Held, err = p.engine.Inventory(ctx); err != nil {
		return past, fmt.Errorf("the engine does not say which jobs it has: %w", err)
	}
	past.Held = p.withoutSnapshots(past.Held)
	past.Held = p.withoutLeftovers(past)
	return past, nil
}

// withoutLeftovers removes finished entries from an inventory and settles them: jobs whose last
// fact is in the journal, and shells of closed sessions. An engine learns of settled facts
// after the journal. If the former node died in between, their sessions and scopes
// would open again.
func (p components) withoutLeftovers(past actors.RestoreState) []backends.InventoryJob {
	retired := map[messages.UID]bool{}
	for _, r := range past.Over {
		retired[r.Job.UID] = r.Job.State == messages.Retired
	}
	closed := map[messages.Address]time.Time{}
	for _, end := range slices.Backward(past.Ends) { // the newest end comes first
		if end.Closed {
			closed[messages.Address{Scope: end.Scope, Session: end.Session}] = end.At
		}
	}
	var leftovers []backends.InventoryJob
	held := slices.DeleteFunc(past.Held, func(h backends.InventoryJob) bool {
		is := retired[h.ID] && h.Last > 0
		if at, _, shell := backends.ReadShellMeta(h.Meta); shell {
			made, end := h.ID.Made(), closed[messages.Address{Scope: at.Scope, Session: at.Session}]
			is = h.Ended && (h.Closed || !made.IsZero() && made.Before(end.Truncate(time.Millisecond)))
		}
		if is {
			leftovers = append(leftovers, h)
		}
		return is
	})
	backends.SettleLeftovers(p.engine, leftovers)
	return held
}
