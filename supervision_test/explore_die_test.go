package supervision_test

import (
	"slices"

	"troupe/backends/fake"
	"troupe/messages"
)

// daemonDies kills the node at once, with all that is on its way, and opens
// another one over the engine and the journal. What the engine does meanwhile
// nobody hears.
func (x *explorer) daemonDies() {
	if x.closing {
		return // it is about to end
	}
	x.note("the daemon dies")
	for _, s := range x.subs {
		s.replaced = true
	}
	for _, c := range x.calls {
		c.dies = true
	}
	for _, c := range x.clients {
		c.former = true
	}
	for _, c := range x.runs {
		c.former = true
	}
	x.setClosing(true)
	x.die()
	if down := x.while(); x.chance(50) {
		x.note("… for %s", down)
		x.after(down)
	}
	if x.journalFails() {
		x.ledger.fail(nil)
		x.setFailing(false)
	}
	x.removed = x.removed || x.keysLost()
	x.unheard = nil
	x.mu.Lock()
	clear(x.away)
	x.mu.Unlock()
	x.setClosing(false)
	x.begin()
	x.look()
}

func (x *explorer) setClosing(is bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closing = is
}

// keysLost says whether a job with a key is gone with the node that took it: neither
// the journal nor the engine was told of it.
func (x *explorer) keysLost() bool {
	told := x.tales()
	ever := x.engine.Ever()
	return slices.ContainsFunc(x.runs, func(c *client) bool {
		r := c.request.(messages.RunCommand)
		return r.Key != "" && told[r.UID] == nil && !slices.ContainsFunc(ever, func(p *fake.Process) bool { return p.ID == r.UID })
	})
}

// checkFormer compares what a client of a killed node was told with what became of
// the job: an end that was told before it was recorded is the same, or it was that
// of a job that had not begun.
func (x *explorer) checkFormer(job messages.Job, told map[messages.UID]*tale) {
	t := told[job.UID]
	if t == nil || t.end == nil || t.end.Outcome == messages.FailedToStart && t.end.Started.IsZero() {
		if !job.Started.IsZero() && !x.journalFailed() && !x.cut && !x.left && !x.lost[job.UID] {
			x.Errorf("the end of %s was told to the client of a killed node only", job.ID)
		}
		return
	}
	x.checkOutcome(job, told)
}
