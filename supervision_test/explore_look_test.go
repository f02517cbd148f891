package supervision_test

import (
	"slices"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// look holds a node that stands still to what is true at every instant: each
// process has an owner, and no reply is overdue.
func (x *explorer) look() {
	if x.closing {
		return
	}
	for _, p := range x.engine.Unowned() {
		if !kept(p) {
			x.Errorf("%s: nobody owns %q", x.since(), p.Text())
		}
	}
	x.unheard = slices.DeleteFunc(x.unheard, func(c *client) bool { return len(c.heard()) > 0 })
	if x.journalFails() {
		return
	}
	for _, c := range x.unheard {
		if most, bounded := x.patience(c.request); bounded && time.Since(x.later(c.sent)) > most {
			x.Errorf("%s: %s of %s ago has no reply", x.since(), say(c.request), time.Since(c.sent))
			x.clients = slices.DeleteFunc(x.clients, func(d *client) bool { return d == c })
		}
	}
}

// later is from when on a reply can be awaited: closings wait for the journal.
func (x *explorer) later(sent time.Time) time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mended.After(sent) {
		return x.mended
	}
	return sent
}

// What a request may take beyond what it asks for.
const (
	slowest = 30 * time.Second // a start, a grace, a look for survivors
	stops   = 2 * time.Minute  // and the rounds of a gather
)

// patience is how long a request may go unanswered, if that is bounded. One that
// met a failing actor may be lost: its client has a deadline of its own. A run
// never is.
func (x *explorer) patience(request any) (time.Duration, bool) {
	switch r := request.(type) {
	case messages.RunCommand:
		return r.PromoteAfter + slowest, r.PromoteAfter > 0 && !r.Mode.Background() && !x.unsupervised(r)
	case messages.ListJobs, messages.FindJob, messages.RemoveJob, messages.AnnounceTask, messages.UpdateTask,
		messages.ListSessions, messages.ListScopes:
		return 0, true
	case messages.WaitJobs:
		return r.Timeout, r.Timeout > 0 && !x.faulty
	case messages.OpenScope, messages.OpenSession, messages.PromoteCommand, messages.ChangeDeadline, messages.HandOver:
		return 0, !x.faulty
	case messages.StopCommand, messages.CloseSession, messages.CloseScope, messages.ReleaseScope:
		return stops, !x.faulty
	case messages.WriteInput, messages.CloseInput, messages.CheckInput, messages.SignalCommand, messages.PauseOutput,
		messages.ResizeTerminal, messages.ClaimTerminal, messages.ReleaseTerminal:
		return slowest, !x.faulty
	}
	return 0, false
}

// unsupervised says whether the actors of a job failed too often: its budget is
// not kept then.
func (x *explorer) unsupervised(r messages.RunCommand) bool {
	for _, f := range x.ledger.all() {
		if fact, ok := f.Fact.(messages.CommandFact); ok && fact.Record().UID == r.UID && fact.Record().HasFlag(messages.FlagUnsupervised) {
			return true
		}
	}
	return false
}

// checkRecords compares what the node tells of its jobs with what was recorded,
// when all of them must have ended.
func (x *explorer) checkRecords() {
	told := x.tales()
	for _, c := range x.ask(messages.ListJobs{Finished: true}).heard() {
		for _, job := range c.(messages.JobList).Jobs {
			t := told[job.UID]
			switch {
			case !job.State.Ended():
				x.Errorf("%s %q is %s when all has ended", job.ID, job.Command, job.State)
			case t == nil || t.end == nil:
				x.Errorf("%s has ended and the journal does not know", job.ID)
			case job.End.Outcome != t.end.End.Outcome || job.End.Shell() != t.end.End.Shell() || !job.End.At.Equal(t.end.End.At):
				x.Errorf("the record of %s says %s %d, the journal %s %d", job.ID, job.End.Outcome, job.End.Shell(), t.end.End.Outcome, t.end.End.Shell())
			}
		}
	}
}

// tale is what the journal tells of a job.
type tale struct {
	last     messages.Record
	end      *messages.Record // its outcome
	promoted bool
}

func (x *explorer) tales() map[messages.UID]*tale {
	all := map[messages.UID]*tale{}
	for _, f := range x.ledger.all() {
		fact, ok := f.Fact.(messages.CommandFact)
		if !ok {
			continue
		}
		job := fact.Record()
		t := all[job.UID]
		if t == nil {
			t = &tale{}
			all[job.UID] = t
		}
		t.last = job
		switch fact.(type) {
		case messages.CommandPromoted:
			t.promoted = true
		case messages.CommandFinished:
			t.end = &job
		}
	}
	return all
}

// has says whether a process said something.
func has[T messages.ProcessFact](p *fake.Process) bool {
	return slices.ContainsFunc(p.Said(), func(f messages.ProcessFact) bool {
		_, is := f.(T)
		return is
	})
}

// result is how a process ended, nil if it has not.
func result(p *fake.Process) messages.ProcessFact {
	for _, f := range p.Said() {
		switch f.(type) {
		case messages.ProcessExited, messages.ProcessFailed:
			return f
		}
	}
	return nil
}
