package engine

import (
	"time"

	"troupe/messages"
)

// await waits for the end of the tree, or until expired, and returns the survivors.
func (j *job) await(expired <-chan struct{}) []messages.Survivor {
	j.mu.Lock()
	l := j.escalation
	j.mu.Unlock()
	if l != nil {
		select {
		case <-l.done:
		case <-expired:
		}
	}
	j.mu.Lock()
	t, ended, survivors := j.tree, j.treeGone, j.survivors
	j.mu.Unlock()
	if t == nil || ended {
		return survivors
	}
	return t.survivors()
}

// dismiss drops a job when the engine ends: it stops timers and reports, and seals logs
// that still have writers.
func (j *job) dismiss() {
	j.mu.Lock()
	streams := j.streams
	timers := []*time.Timer{j.deadline, j.pause}
	if j.escalation != nil {
		timers = append(timers, j.escalation.checkTimer)
	}
	stdin := j.input.shut()
	j.idle.end()
	j.mu.Unlock()
	for _, t := range timers {
		if t != nil {
			t.Stop()
		}
	}
	stdin.close()
	for _, s := range streams {
		s.dismiss()
	}
	if j.shell != nil {
		j.shell.shutdown()
	}
}
