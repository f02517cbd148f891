package fake

import (
	"time"

	"troupe/messages"
)

// idleTimer stops a process that has written nothing for its idle timeout. mu of the process
// guards it.
type idleTimer struct {
	last    time.Time
	timer   *time.Timer // nil: before the start, in a pause, at the end
	stopped bool
}

// beginIdle starts the timer, from now on. After a pause it starts it again.
func (p *Process) beginIdle() {
	limit := p.Spec.Attr.IdleTimeout
	if limit <= 0 || p.idle.timer != nil || p.phase != running {
		return
	}
	p.idle.last = time.Now()
	p.idle.timer = time.AfterFunc(limit, p.idleLate)
}

// idleLate stops the process if its time without output is spent.
func (p *Process) idleLate() {
	p.mu.Lock()
	if p.phase != running || p.unknown || p.escalation.begins || p.withholds() {
		p.idle.timer = nil
		p.mu.Unlock()
		return
	}
	if left := time.Until(p.idle.last.Add(p.Spec.Attr.IdleTimeout)); left > 0 {
		p.idle.timer.Reset(left)
		p.mu.Unlock()
		return
	}
	cause := messages.IdleCause(p.Spec.Attr.IdleTimeout)
	p.idle.timer, p.idle.stopped = nil, true
	p.say(messages.ProcessStopping{Cause: cause})
	p.unlock()
	p.stop(cause, p.Spec.Grace)
}

// withholds reports whether the engine does not take the output.
func (p *Process) withholds() bool {
	for _, blocked := range p.blocked {
		if blocked {
			return true
		}
	}
	return p.paused
}

// endIdle stops the timer.
func (p *Process) endIdle() {
	if p.idle.timer != nil {
		p.idle.timer.Stop()
		p.idle.timer = nil
	}
}
