package keeper

import (
	"time"

	"troupe/messages"
)

// unheard answers what a keeper that says nothing was asked. It may do it yet: its
// own answers are passed over.
func (j *job) unheard(why *messages.Error) {
	j.mu.Lock()
	for _, d := range j.due {
		if d.fact == nil {
			d.fact = messages.ControlRefused{Err: *why}
			j.stale = append(j.stale, d.nth)
		}
	}
	j.sayAnswers()
	j.tellNow()
}

// expire fails a start that a silent keeper will not take any more. It returns when
// it has to be looked at again, or zero.
func (j *job) expire(why *messages.Error) time.Time {
	j.mu.Lock()
	if j.spec == nil || j.held || j.withdrawn != nil {
		j.mu.Unlock()
		return time.Time{}
	}
	if time.Now().Before(j.until) {
		defer j.mu.Unlock()
		return j.until
	}
	// The keeper may have begun it in its last moment: then that is ended.
	j.stopped, j.graced = &stop{Cause: messages.Cause{By: messages.BySystem, Reason: "its start was not answered in its time"}}, time.Now()
	j.ask(askStop, encode(*j.stopped))
	j.spec, j.over, j.said.result = nil, true, true
	j.heard++
	j.told = j.heard
	j.withdrawn = &messages.ProcessFailed{Seq: j.heard, Err: *why, Shell: cannotRun, At: time.Now()}
	j.refuseDue(messages.ControlRefused{Err: *why})
	j.say(*j.withdrawn)
	j.tellNow()
	return time.Time{}
}

// repeat tells a new owner what became of a start that was withdrawn.
func (j *job) repeat() {
	j.mu.Lock()
	j.say(*j.withdrawn)
	j.tellNow()
}

// tidy settles what a keeper says of a start that was withdrawn. Called with mu.
func (j *job) tidy(f messages.ProcessFact) {
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
		seq, j.said.closed = f.Seq, true
		last = j.said.ended
	case messages.TreeEnded:
		seq, j.said.ended = f.Seq, true
		last = j.said.closed
	}
	if seq > 0 {
		j.ask(askSettle, encode(number{Seq: seq}))
	}
	if last {
		j.drop()
	}
}

// drop forgets a job that was withdrawn, when the keeper has nothing of it. Called
// with mu.
func (j *job) drop() { j.c.forget(j, nil) }
