package keeper

import (
	"time"

	"troupe/backends"
	"troupe/messages"
)

// failPending answers the pending controls of an unresponsive keeper. It may still
// perform them; its own answers are dropped.
func (j *job) failPending(why *messages.Error) {
	j.mu.Lock()
	for _, d := range j.pendingControls {
		if d.fact == nil {
			d.fact = messages.ControlRefused{Err: *why}
			j.staleAnswers = append(j.staleAnswers, d.nth)
		}
	}
	j.sayAnswers()
	j.deliver()
}

// expireStart fails a start that an unresponsive keeper will refuse. It returns the
// time of the next check; zero: none.
func (j *job) expireStart(why *messages.Error) time.Time {
	j.mu.Lock()
	if j.spec == nil || j.suspended || j.startTimedOut != nil {
		j.mu.Unlock()
		return time.Time{}
	}
	if time.Now().Before(j.startExpiry) {
		defer j.mu.Unlock()
		return j.startExpiry
	}
	// The keeper may have started it at the last moment: then it is stopped.
	j.stopped, j.graceEnd = &stop{Cause: messages.Cause{By: messages.BySystem, Reason: "the keeper did not answer its start in time"}}, time.Now()
	j.ask(askStop, encode(*j.stopped))
	j.spec, j.ended, j.reported.result = nil, true, true
	j.lastHeard++
	j.lastDelivered = j.lastHeard
	j.startTimedOut = &messages.ProcessFailed{Seq: j.lastHeard, Err: *why, Shell: backends.CannotRun, At: time.Now()}
	j.refuseDue(messages.ControlRefused{Err: *why})
	j.enqueue(*j.startTimedOut)
	j.deliver()
	return time.Time{}
}

// replayTimeout reports the failure of an expired start to a new owner.
func (j *job) replayTimeout() {
	j.mu.Lock()
	j.enqueue(*j.startTimedOut)
	j.deliver()
}

// settleTimedOut settles a keeper's facts about an expired start. The caller holds mu.
func (j *job) settleTimedOut(f messages.ProcessFact) {
	last := false
	seq := uint64(0)
	switch f := f.(type) {
	case messages.ProcessFailed:
		seq, last = f.Seq, true
	case messages.ProcessLost:
		seq, last = f.Seq, true
	case messages.ProcessExited:
		seq, last = max(f.Seq, f.Last), f.Last > 0
	case messages.OutputClosed:
		seq, j.reported.closed = f.Seq, true
		last = j.reported.ended
	case messages.TreeEnded:
		seq, j.reported.ended = f.Seq, true
		last = j.reported.closed
	}
	if seq > 0 {
		j.ask(askSettle, encode(number{Seq: seq}))
	}
	if last {
		j.removeTimedOut()
	}
}

// settleForgotten settles a job that this client has settled and forgotten. The keeper died
// before it received that, so the next one has the job from the journal.
func (j *job) settleForgotten() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.startTimedOut = &messages.ProcessFailed{} // no owner receives it
	j.newGen()
	j.ask(askAdopt, nil)
}

// removeTimedOut forgets an expired job when the keeper has nothing of it. The caller
// holds mu.
func (j *job) removeTimedOut() { j.c.forget(j, nil) }
