package supervision_test

import (
	"slices"
	"time"

	"troupe/internal/test/fake"
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
	known := x.knows()
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
	x.engine.LoseSettled()
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
	x.knowsNoMore(known)
}

// knowledge is what a node tells of sessions and of jobs that are over.
type knowledge struct {
	sessions map[messages.Address]bool
	jobs     map[messages.UID]messages.Record // nil: nobody asked
}

// knows asks a node that stands still what it knows, sometimes: one that is asked dies
// with nothing on its way.
func (x *explorer) knows() (k knowledge) {
	if x.chance(50) {
		return k
	}
	x.after(time.Second) // what is told is recorded by then
	if x.journalFails() {
		return k
	}
	k.sessions, k.jobs = map[messages.Address]bool{}, map[messages.UID]messages.Record{}
	for _, m := range x.ask(messages.ListSessions{}).heard() {
		for _, s := range m.(messages.SessionList).Sessions {
			k.sessions[messages.Address{Scope: s.Scope, Session: s.Session}] = true
		}
	}
	for _, m := range x.ask(messages.ListJobs{Finished: true}).heard() {
		for _, job := range m.(messages.JobList).Jobs {
			k.jobs[job.UID] = job
		}
	}
	return k
}

// knowsNoMore holds what the next node knows to that: what was closed or removed is not
// there again, and an end is what it was.
func (x *explorer) knowsNoMore(before knowledge) {
	if before.jobs == nil || x.journalFails() {
		return
	}
	for _, job := range before.jobs { // what outlived its session has it again
		if job.State != messages.Retired {
			before.sessions[messages.Address{Scope: job.Scope, Session: job.Session}] = true
		}
	}
	for _, m := range x.ask(messages.ListSessions{}).heard() {
		for _, s := range m.(messages.SessionList).Sessions {
			if at := (messages.Address{Scope: s.Scope, Session: s.Session}); !before.sessions[at] {
				x.Errorf("%s: session %s of %s is there again", x.since(), at.Session, at.Scope)
			}
		}
	}
	for _, m := range x.ask(messages.ListJobs{Finished: true}).heard() {
		for _, job := range m.(messages.JobList).Jobs {
			was, known := before.jobs[job.UID]
			if !known {
				x.Errorf("%s: job %s (%s) is there again", x.since(), job.ID, job.State)
			} else if was.State.Ended() && (job.End.Outcome != was.End.Outcome || job.End.Shell() != was.End.Shell() || !job.End.At.Equal(was.End.At)) {
				x.Errorf("%s: job %s has ended as %s %d, and before as %s %d", x.since(), job.ID, job.End.Outcome, job.End.Shell(), was.End.Outcome, was.End.Shell())
			}
		}
	}
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
func (x *explorer) checkFormer(job messages.Record, told map[messages.UID]*tale) {
	t := told[job.UID]
	if t == nil || t.end == nil || t.end.End.Outcome == messages.FailedToStart && t.end.Started.IsZero() {
		if !job.Started.IsZero() && !x.journalFailed() && !x.cut && !x.left && !x.lost[job.UID] {
			x.Errorf("the end of %s was told to the client of a killed node only", job.ID)
		}
		return
	}
	x.checkOutcome(job, told)
}
