package inject

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/faults"
	"troupe/messages"
)

// ownControls is the first number of a control of this package: no client numbers so many.
const ownControls = uint64(1) << 62

// process is a job whose end may meet a fault.
type process struct {
	backends.Process
	in    *Injector
	uid   messages.UID
	shell messages.UID // the live shell that it runs in; "": none
	of    identity
	facts backends.FactHandler

	taken chan struct{} // closed when Process is set
	begun chan struct{} // closed when the process exists, or never will
	once  sync.Once     // closes begun

	turn    sync.Mutex             // held while a fact that was late is delivered
	mu      sync.Mutex             // guards what follows
	late    []messages.ProcessFact // facts after a delayed one; nil: none is delayed
	stopped bool                   // its end is not lost: who has stopped it waits for it
	nth     uint64
}

// newProcess returns a process that the engine is to take. Signals to it wait for its begin.
func (i *Injector) newProcess(uid, shell messages.UID, of identity, facts backends.FactHandler) *process {
	p := &process{in: i, uid: uid, shell: shell, of: of, facts: facts, taken: make(chan struct{}), begun: make(chan struct{})}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.live[uid] = p
	return p
}

// begin completes a process that the engine has taken.
func (p *process) begin(of backends.Process, err error) (backends.Process, error) {
	if err != nil {
		p.in.ended(p)
		return of, err
	}
	p.Process = of
	close(p.taken)
	p.in.mu.Lock()
	watched := p.in.rules.Watches(p.of.event(faults.Output, nil))
	p.in.mu.Unlock()
	if watched {
		select {
		case p.in.watch <- p:
		default: // thousands start at once
		}
	}
	return p, nil
}

// heard takes the facts of the engine.
func (p *process) heard(f messages.ProcessFact) {
	switch m := f.(type) {
	case messages.ControlAnswer:
		if m.Answers() >= ownControls {
			return
		}
	case messages.ProcessStarted:
		p.once.Do(func() { close(p.begun) })
	case messages.MainExited:
		return // it may meet a fault: its result follows
	case messages.ProcessExited:
		if p.of.id != "" { // not a live shell
			f = p.exited(m)
		}
		if m.Last > 0 { // nothing of it is left
			p.in.ended(p)
		}
	case messages.TreeEnded, messages.ProcessLost, messages.ProcessFailed:
		p.in.ended(p)
	}
	p.pass(f)
}

// exited lets the end of the main process meet its faults.
func (p *process) exited(m messages.ProcessExited) messages.ProcessFact {
	for _, f := range p.in.at(faults.Exit, p.uid, p.of) {
		switch f.Do {
		case faults.LostExit: // until a stop asks for it
			p.mu.Lock()
			if !p.stopped {
				p.late = []messages.ProcessFact{}
			}
			p.mu.Unlock()
		case faults.WrongExit:
			m.Status = messages.ExitStatus{Signal: f.Signal}
			if f.Code != nil {
				m.Status.Code = *f.Code
			}
		case faults.Delay:
			p.mu.Lock()
			if p.late == nil {
				p.late = []messages.ProcessFact{}
				time.AfterFunc(f.For, p.release)
			}
			p.mu.Unlock()
		}
	}
	return m
}

// pass delivers a fact, or keeps it until after one that is delayed. An engine sends few after an end.
func (p *process) pass(f messages.ProcessFact) {
	p.mu.Lock()
	if p.late != nil {
		p.late = append(p.late, f)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.facts(f)
}

// release delivers what was delayed.
func (p *process) release() {
	p.turn.Lock()
	defer p.turn.Unlock()
	for {
		p.mu.Lock()
		if len(p.late) == 0 {
			p.late = nil
			p.mu.Unlock()
			return
		}
		first := p.late[0]
		p.late = p.late[1:]
		p.mu.Unlock()
		p.facts(first)
	}
}

// Stop implements backends.Process. It reports an end that was lost.
func (p *process) Stop(c messages.Cause, grace time.Duration) {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.Process.Stop(c, grace)
	go p.release() // as facts come, from outside of the caller
}

// signal sends a signal to the main process, when there is one.
func (p *process) signal(name string) {
	<-p.begun
	select {
	case <-p.taken:
	default:
		return // it could not start
	}
	p.mu.Lock()
	p.nth++
	nth := ownControls + p.nth
	p.mu.Unlock()
	p.Process.Do(backends.Sequenced{Control: backends.Signal{Name: name}, Nth: nth})
}
