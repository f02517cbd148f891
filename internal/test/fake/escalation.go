package fake

import (
	"time"

	"troupe/messages"
)

// SignalBehaviour is the reaction of a process to signals of the escalation.
type SignalBehaviour uint8

// Behaviours. KILL ends every process, except its Survivors.
const (
	Stubborn SignalBehaviour = iota // TERM is only recorded; the test decides what follows
	Obedient                        // TERM ends the process
)

// Signal is a signal that a process received, from the escalation or from a control.
type Signal struct {
	Name  string
	At    time.Time
	Tree  bool
	Asked bool // by a control
}

// SetNature changes the reaction of the process to signals.
func (p *Process) SetNature(n SignalBehaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nature = n
}

// escalation is the state of a stop, and the deadline.
type escalation struct {
	cause    messages.Cause // zero: only leftovers are stopped, after the exit
	begins   bool           // requested; kept until the process has started
	wantKill time.Time      // time of KILL
	kill     *time.Timer
	killed   bool
	verify   *time.Timer
	gaveUp   bool // the survivors are reported

	deadline *time.Timer
	expires  time.Time
}

// stopped reports whether the job itself was stopped, not only its leftovers.
func (l *escalation) stopped() bool { return l.cause.By != messages.ByNone }

func (p *Process) stop(c messages.Cause, grace time.Duration) {
	p.mu.Lock()
	defer p.unlock()
	if c.By == messages.ByNone || grace < 0 {
		p.engine.violate("%s was stopped for %+v with a grace of %s", p.ID, c, grace)
		grace = max(grace, 0)
	}
	if p.finished() || p.ended {
		return
	}
	due := time.Now().Add(grace)
	l := &p.escalation
	if l.begins {
		if due.Before(l.wantKill) && !l.killed {
			l.wantKill = due
			l.escalate(p)
		}
		return
	}
	l.begins, l.wantKill = true, due
	if p.phase != exited {
		l.cause = c
	}
	if p.phase == starting {
		return
	}
	l.first(p, grace)
}

// begun applies a stop that came before the start.
func (l *escalation) begun(p *Process) {
	if !l.begins {
		return
	}
	l.first(p, time.Until(l.wantKill))
}

func (l *escalation) first(p *Process, grace time.Duration) {
	if grace > 0 {
		p.term()
	}
	l.escalate(p)
}

// escalate waits for the rest of the grace, then kills.
func (l *escalation) escalate(p *Process) {
	if l.kill != nil {
		l.kill.Stop()
	}
	if p.finished() || p.ended || p.phase == starting {
		return
	}
	if left := time.Until(l.wantKill); left > 0 {
		l.kill = time.AfterFunc(left, p.expire)
		return
	}
	p.kill()
}

// expire ends the grace, unless it was moved or is no longer needed.
func (p *Process) expire() {
	p.mu.Lock()
	defer p.unlock()
	if p.finished() || p.ended || p.escalation.killed || time.Until(p.escalation.wantKill) > 0 {
		return
	}
	p.kill()
}

// sent records a signal of the escalation.
func (p *Process) sent(name string, tree bool) {
	p.signals = append(p.signals, Signal{Name: name, At: time.Now(), Tree: tree})
	if p.escalation.stopped() && !p.told {
		p.escalation.cause.Signal = name
	}
}

// term sends TERM to the tree. Obedient processes end at once.
func (p *Process) term() {
	p.sent("TERM", true)
	if p.phase == exited && !p.leftovers.Stubborn || p.phase == running && p.leftovers.N > 0 && !p.leftovers.Stubborn {
		p.childrenGone()
	}
	if p.phase == running {
		p.react("TERM", 15)
	}
	p.settleTree()
}

// kill ends the tree, except the survivors.
func (p *Process) kill() {
	l := &p.escalation
	l.killed = true
	p.sent("KILL", true)
	if len(p.leftovers.Survivors) > 0 {
		p.leftovers.N = len(p.leftovers.Survivors)
		l.verify = time.AfterFunc(SurvivorWait, p.giveUp)
	} else {
		p.childrenGone()
	}
	if p.phase == running {
		p.exit(messages.ExitStatus{Signal: "KILL", Number: 9})
		return
	}
	p.settleTree()
}

// giveUp reports the survivors.
func (p *Process) giveUp() {
	p.mu.Lock()
	defer p.unlock()
	if p.ended || p.unknown {
		return
	}
	p.escalation.gaveUp = true
	p.settleTree()
}

// end stops every timer of a process that is over.
func (l *escalation) end() {
	for _, t := range []*time.Timer{l.kill, l.verify} {
		if t != nil {
			t.Stop()
		}
	}
	l.disinsure()
}

// insure arms the deadline, which also holds without a supervisor.
func (l *escalation) insure(p *Process, after time.Duration) {
	l.disinsure()
	if after <= 0 {
		return
	}
	at := time.Now().Add(after)
	l.expires = at
	l.deadline = time.AfterFunc(after, func() {
		p.mu.Lock()
		moved := !p.escalation.expires.Equal(at)
		p.mu.Unlock()
		if !moved {
			p.stop(messages.Cause{By: messages.ByDeadline, Reason: "it ran longer than its timeout"}, p.Spec.Grace)
		}
	})
}

func (l *escalation) disinsure() {
	if l.deadline != nil {
		l.deadline.Stop()
	}
	l.deadline, l.expires = nil, time.Time{}
}

func (l *escalation) insured() time.Duration {
	if l.expires.IsZero() {
		return 0
	}
	return max(time.Until(l.expires), 0)
}
