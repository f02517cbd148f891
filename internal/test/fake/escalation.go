package fake

import (
	"time"

	"troupe/messages"
)

// SignalBehaviour is what a process does about the signals of the ladder.
type SignalBehaviour uint8

// The natures. KILL ends every process, but for its Survivors.
const (
	Stubborn SignalBehaviour = iota // TERM is only noted: the test plays what follows
	Obedient                        // TERM ends it
)

// Signal is one that a process was sent: by the ladder, or because somebody
// asked for it.
type Signal struct {
	Name  string
	At    time.Time
	Tree  bool
	Asked bool // by a control
}

// SetNature changes what the process does about signals.
func (p *Process) SetNature(n SignalBehaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nature = n
}

// escalation is the way from TERM to KILL, and the insured deadline.
type escalation struct {
	cause    messages.Cause // zero: what is left is ended after the exit
	begins   bool           // asked for; for a process that has not begun, kept
	wantKill time.Time      // when KILL is due
	kill     *time.Timer
	killed   bool
	verify   *time.Timer
	gaveUp   bool // the survivors are named

	deadline *time.Timer
	expires  time.Time
}

// stopped reports whether the job is being ended or was, rather than what it
// left behind.
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

// begun takes up a stop that came before the begin.
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

// escalate waits for what is left of the grace.
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

// expire is the end of the grace, unless it was moved or is needed no more.
func (p *Process) expire() {
	p.mu.Lock()
	defer p.unlock()
	if p.finished() || p.ended || p.escalation.killed || time.Until(p.escalation.wantKill) > 0 {
		return
	}
	p.kill()
}

// sent notes a signal of the ladder.
func (p *Process) sent(name string, tree bool) {
	p.signals = append(p.signals, Signal{Name: name, At: time.Now(), Tree: tree})
	if p.escalation.stopped() && !p.told {
		p.escalation.cause.Signal = name
	}
}

// term asks the tree to go. Who obeys goes at once.
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

// kill ends the tree, but for the survivors.
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

// giveUp names the survivors.
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

// insure arms the deadline that holds while no tree runs.
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
