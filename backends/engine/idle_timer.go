package engine

import (
	"sync/atomic"
	"time"

	"troupe/messages"
)

// idleTimer stops a job that has written nothing for its idle timeout. An output only notes its
// time: the timer is set for the rest when it fires. Time in which the engine itself does not
// take the output does not count.
type idleTimer struct {
	job   *job
	limit time.Duration
	since time.Time    // a time before all others
	last  atomic.Int64 // output, or the start, or the end of a pause: ns after since

	timer   *time.Timer // nil: before the start, in a pause, at the end; job.mu guards it and frozen
	frozen  bool        // its processes were stopped by a signal when the timer fired last
	stopped bool        // the job is stopped for it
}

// newIdleTimer returns the timer of a job; nil: it has none. All methods take nil.
func newIdleTimer(j *job, limit time.Duration) *idleTimer {
	if limit <= 0 {
		return nil
	}
	return &idleTimer{job: j, limit: limit, since: time.Now()}
}

// note records output.
func (t *idleTimer) note() {
	if t != nil {
		t.last.Store(int64(time.Since(t.since)))
	}
}

// begin starts the timer, from now on. The caller holds job.mu.
func (t *idleTimer) begin() {
	if t != nil && t.timer == nil {
		t.note()
		t.timer = t.job.engine.after(t.job, t.limit, t.fire)
	}
}

// proceed starts the timer again after a pause.
func (t *idleTimer) proceed() {
	if t == nil {
		return
	}
	t.note()
	t.job.mu.Lock()
	defer t.job.mu.Unlock()
	if t.timer == nil && t.job.phase == phaseRunning {
		t.begin()
	}
}

// end stops the timer. The caller holds job.mu.
func (t *idleTimer) end() {
	if t != nil && t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// fire stops the job if its time without output is spent.
func (t *idleTimer) fire() {
	if t.rest() {
		return
	}
	frozen := t.job.frozen()
	t.job.mu.Lock()
	stops := t.expire(frozen)
	t.job.mu.Unlock()
	if stops {
		t.job.tell()
	}
}

// rest reports whether the time is not spent. It sets the timer for the rest, or leaves it unset
// in a pause.
func (t *idleTimer) rest() bool {
	t.job.mu.Lock()
	defer t.job.mu.Unlock()
	left := t.left()
	switch {
	case t.timer == nil:
	case t.job.phase != phaseRunning || t.job.escalation != nil || t.job.withholds():
		t.timer = nil
	case left > 0:
		t.timer.Reset(left)
	default:
		return false
	}
	return true
}

// left returns the rest of the time.
func (t *idleTimer) left() time.Duration {
	return t.limit - time.Since(t.since) + time.Duration(t.last.Load())
}

// expire stops the job, unless something has changed. A job whose processes are or were stopped
// by a signal gets its time once more, since its continuation is not seen. The caller holds
// job.mu.
func (t *idleTimer) expire(frozen bool) (stops bool) {
	j := t.job
	if t.timer == nil || j.phase != phaseRunning || j.escalation != nil {
		return false
	}
	if frozen || t.frozen {
		t.frozen = frozen
		t.note()
	}
	if left := t.left(); left > 0 {
		t.timer.Reset(left)
		return false
	}
	t.timer, t.stopped = nil, true
	j.enqueue(messages.ProcessStopping{Cause: messages.IdleCause(t.limit)})
	j.stopLocked(messages.IdleCause(t.limit), j.postFork.grace)
	return true
}

// withholds reports whether the engine does not take the output: a control has paused it, or a
// log takes no more. The caller holds mu.
func (j *job) withholds() bool {
	for _, s := range j.streams {
		if s.blocked.Load() != nil {
			return true
		}
	}
	return j.held()
}
