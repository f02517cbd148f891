package engine

import (
	"time"

	"troupe/messages"
)

// setDeadline replaces the engine's deadline, which also holds without an owner.
func (j *job) setDeadline(after time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.deadline != nil {
		j.deadline.Stop()
		j.deadline = nil
	}
	if after <= 0 || j.phase == phaseDone {
		return
	}
	j.arm(after, false)
}

// ownersTime is how much later the engine's deadline is while the job has an owner. So
// an owner that moves its deadline at the last moment is in time.
const ownersTime = time.Second

// arm starts the timer of the deadline. The caller holds mu.
func (j *job) arm(after time.Duration, late bool) {
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		j.mu.Lock()
		if j.deadline != timer { // it was moved meanwhile
			j.mu.Unlock()
			return
		}
		if !late && j.owner() != nil {
			j.arm(ownersTime, true)
			j.mu.Unlock()
			return
		}
		j.mu.Unlock()
		j.stop(messages.Cause{By: messages.ByDeadline, Reason: "it ran longer than its timeout"}, j.postFork.grace)
	})
	j.deadline = timer
}
