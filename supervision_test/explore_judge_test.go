package supervision_test

import (
	"slices"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// judge holds a node that is over, and everything that was heard of it, to what
// is true of every node.
func (x *explorer) judge() {
	x.endKept()
	x.checkProcesses()
	x.ledger.check(x.TB)
	told := x.tales()
	if !x.left && !x.cut && !x.journalFailed() {
		for uid, t := range told {
			if t.end == nil {
				x.Errorf("%s (%s) has no outcome", t.last.ID, uid)
			}
		}
		for _, p := range x.jobs() {
			x.checkEnd(p, told[p.ID])
		}
	}
	x.checkLeft()
	for _, c := range x.runs {
		x.checkRun(c, told)
	}
	x.checkKeys()
	x.checkTold(told)
	x.checkCalls(told)
	for _, s := range x.subs {
		x.checkSubscriber(s)
	}
	x.checkReplies()
	x.checkSystem()
}

// endKept ends what was told to outlive its session.
func (x *explorer) endKept() {
	for _, p := range x.engine.Live() {
		if kept(p) {
			p.EndTree()
		}
	}
	x.after(0)
}

// checkLeft sees to it that jobs that were left with the engine are let go of.
func (x *explorer) checkLeft() {
	if !x.left {
		return
	}
	for _, p := range x.engine.Live() {
		if p.Owned() {
			x.Errorf("nobody is left and %q has an owner", p.Text())
		}
	}
	x.engine.Close(false)
	x.after(time.Minute)
	for _, p := range x.engine.Live() {
		x.Errorf("%q outlives its engine", p.Text())
	}
}

// checkEnd compares the end of a process with that of its job.
func (x *explorer) checkEnd(p *fake.Process, t *tale) {
	if t == nil || t.end == nil {
		x.Errorf("%q was started and nothing is told of it", p.Text())
		return
	}
	if x.lost[p.ID] && t.end.End.Outcome == messages.Lost {
		return
	}
	want, shell := messages.Outcome(""), 0
	switch f := result(p).(type) {
	case nil:
		x.Errorf("%q never ended, and %s %s", p.Text(), t.end.ID, t.end.End.Outcome)
		return
	case messages.ProcessExited:
		want, shell = f.Cause.OutcomeOf(), f.Status.Shell()
		if want == messages.Exited && f.Status.Signal != "" {
			want = messages.Signaled
		}
	case messages.ProcessFailed:
		want, shell = messages.FailedToStart, f.Shell
		if by := t.end.End.Cause; by.By != messages.ByNone {
			want, shell = by.OutcomeOf(), 0
		}
	}
	if t.end.End.Outcome != want || t.end.End.Shell() != shell {
		x.Errorf("%q ended as %s %d, and the journal tells %s %d", p.Text(), want, shell, t.end.End.Outcome, t.end.End.Shell())
	}
	for _, f := range p.Said() {
		if end, ok := f.(messages.TreeEnded); ok && !kept(p) && !slices.Equal(end.Survivors, t.last.End.Survivors) {
			x.Errorf("of %q survived %v, and the journal names %v", p.Text(), end.Survivors, t.last.End.Survivors)
		}
	}
}

// checkRun compares the reply to a run with what the journal tells.
func (x *explorer) checkRun(c *client, told map[messages.UID]*tale) {
	r := c.request.(messages.RunCommand)
	if len(c.heard()) == 0 || x.journalFailed() {
		return // checkReplies has counted them
	}
	if m, ends := c.heard()[0].(messages.CommandFinished); c.former {
		if ends {
			x.checkFormer(m.Job, told)
		}
		return
	}
	switch m := c.heard()[0].(type) {
	case messages.CommandRejected:
		if told[r.UID] != nil && !x.keyed[r.Key] && m.Err.Code != messages.ShuttingDown && m.Err.Code != messages.Conflict {
			x.Errorf("%q was rejected (%s %s), and the journal tells of it: %s", r.Text, m.Err.Code, m.Err.Message, x.facts(told[r.UID].last.ID))
		}
	case messages.CommandPromoted:
		if t := told[m.Job.UID]; !x.cut && m.Job.State != messages.Queued && (t == nil || !t.promoted) {
			x.Errorf("%s was promoted for its client only", m.Job.ID)
		}
	case messages.CommandFinished:
		x.checkOutcome(m.Job, told)
		if t := told[m.Job.UID]; t != nil && t.promoted && !x.keyed[r.Key] {
			x.Errorf("%s was promoted, and its client was told its end", m.Job.ID)
		}
	}
}

// checkTold compares what URLs were told with what the journal tells: the end, under
// its number, and only what is recorded.
func (x *explorer) checkTold(told map[messages.UID]*tale) {
	for _, try := range append(x.plan.urls.of(there), x.plan.urls.of(elsewhere)...) {
		if t := told[try.job.UID]; t == nil || t.end == nil || t.end.Seq != try.seq || t.end.End.Outcome != try.job.End.Outcome {
			x.Errorf("%s was told of %s under the number %d, and the journal tells otherwise", try.to, try.job.ID, try.seq)
		}
	}
}

// checkOutcome compares the outcome in a reply with the recorded one. A node that
// is cut short may have told more than it has recorded.
func (x *explorer) checkOutcome(job messages.Record, told map[messages.UID]*tale) {
	t := told[job.UID]
	switch {
	case x.cut && (t == nil || t.end == nil):
	case t == nil || t.end == nil:
		x.Errorf("the end of %s was told to its client only", job.ID)
	case job.End.Outcome == messages.Lost && t.end.End.Outcome == messages.Lost: // when that was nobody knows: each node tells when it has noticed
	case job.End.Outcome != t.end.End.Outcome || job.End.Shell() != t.end.End.Shell() || !job.End.At.Equal(t.end.End.At):
		x.Errorf("%s ended as %s %d for its client, as %s %d for the journal", job.ID, job.End.Outcome, job.End.Shell(), t.end.End.Outcome, t.end.End.Shell())
	}
}

// checkKeys sees to it that one key never got two jobs.
func (x *explorer) checkKeys() {
	jobs := map[string]messages.UID{}
	for _, c := range x.runs {
		key := c.request.(messages.RunCommand).Key
		for _, m := range c.heard() {
			var job messages.Record
			switch m := m.(type) {
			case messages.CommandPromoted:
				job = m.Job
			case messages.CommandFinished:
				job = m.Job
			}
			if key == "" || job.UID == "" {
				continue
			}
			if one, ok := jobs[key]; ok && one != job.UID && !x.removed {
				x.Errorf("the key %s got the jobs %s and %s", key, one, job.UID)
			}
			jobs[key] = job.UID
		}
	}
}

func (x *explorer) checkCalls(told map[messages.UID]*tale) {
	for _, c := range x.calls {
		x.mu.Lock()
		over, job := c.over, c.job
		x.mu.Unlock()
		switch {
		case !over:
			x.Errorf("Node.Run of %q never returned", c.text)
		case c.dies && job.End.Outcome != "":
			x.checkFormer(job, told)
		case job.End.Outcome != "" && !x.journalFailed():
			x.checkOutcome(job, told)
		}
	}
}

// checkSubscriber compares what was told with the journal: the same facts, in
// order, without holes. A channel that failed may have told some again.
func (x *explorer) checkSubscriber(s *subscriber) {
	facts := x.ledger.all()
	var numbers []messages.Seq
	for _, n := range s.told() {
		if n.Seq > messages.Seq(len(facts)) || word(facts[n.Seq-1].Fact) != word(n.Fact) {
			x.Errorf("%s was told as fact %d: %s", s.name(), n.Seq, word(n.Fact))
			return
		}
		numbers = append(numbers, n.Seq)
	}
	if x.faulty {
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	if s.asked.Filter != (messages.Filter{}) || len(numbers) == 0 {
		return
	}
	if !slices.Equal(numbers, through(numbers[0], numbers[0]+messages.Seq(len(numbers))-1)) {
		x.Errorf("%s was told %v", s.name(), numbers)
	}
	whole := s.eager && !s.replaced && !x.away[s.pid.Id] && !x.cut && !x.journalFailed()
	if last := numbers[len(numbers)-1]; whole && last != messages.Seq(len(facts)) {
		x.Errorf("%s was told up to %d of %d", s.name(), last, len(facts))
	}
}

// journalFailed says whether the journal failed when the node ended: it knows
// less than the clients then.
func (x *explorer) journalFailed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failedAtEnd
}
