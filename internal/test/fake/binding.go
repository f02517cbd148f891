package fake

import (
	"slices"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// binding is one owner's handle of a process, as returned by Start and Adopt.
type binding struct {
	*Process
	facts backends.FactHandler
}

// numbered is a fact that is kept until it is settled.
type numbered struct {
	seq  uint64
	fact messages.ProcessFact
}

// item is a fact to deliver, or an action after the facts before it.
type item struct {
	fact messages.ProcessFact
	then func()
}

// hold is a process as its owner sees it; it hides the methods for tests.
type hold struct{ b *binding }

func (h hold) Output(s messages.Stream) (spill.Log, error) { return h.b.output(s) }

func (h hold) Do(c backends.Control) {
	h.b.engine.HearSettled()
	h.b.do(h.b, c)
}

func (h hold) Stop(c messages.Cause, grace time.Duration) {
	h.b.engine.HearSettled()
	h.b.stop(c, grace)
}

func (h hold) NotifyGrowth(s messages.Stream, from int64) { h.b.watch(h.b, s, from) }

func (h hold) SaveMeta(meta []byte) { h.b.note(meta) }

func (h hold) Settle(seq uint64) { h.b.engine.settleSoon(h.b.Process, seq) }

func (h hold) Release() { h.b.unbind(h.b) }

// bind gives the process a new owner. The former owner receives nothing more; the new
// one receives everything that is not settled.
func (p *Process) bind(facts backends.FactHandler) backends.Process {
	b := &binding{p, facts}
	p.mu.Lock()
	actions := p.discard()
	p.owner = b
	if p.start != nil {
		p.outbox = append(p.outbox, item{fact: *p.start})
	}
	if p.idle.stopped && p.phase == running {
		p.outbox = append(p.outbox, item{fact: messages.ProcessStopping{Cause: messages.IdleCause(p.Spec.Attr.IdleTimeout)}})
	}
	for _, n := range p.unsettled {
		p.outbox = append(p.outbox, item{fact: n.fact})
	}
	p.outbox = append(p.outbox, actions...)
	p.replay()
	p.mu.Unlock()
	p.telling.Lock() // the former owner may be receiving its last fact
	defer p.telling.Unlock()
	return hold{b}
}

// replay delivers the queued facts to a new owner. The caller holds mu.
func (p *Process) replay() {
	after := p.engine.options.Replay
	if after == 0 || p.waking || len(p.outbox) == 0 {
		p.wake()
		return
	}
	p.waking = true
	time.AfterFunc(after, p.tell)
}

// unbind removes the owner b; nil means any owner. No fact is delivered after it
// returns.
func (p *Process) unbind(b *binding) {
	p.mu.Lock()
	if b == nil || p.owner == b {
		for _, x := range p.discard() {
			p.later = append(p.later, x.then)
		}
	}
	p.unlock()
	p.telling.Lock()
	defer p.telling.Unlock()
}

// discard drops the queued facts and the owner. It returns the queued actions.
func (p *Process) discard() []item {
	actions := slices.DeleteFunc(p.outbox, func(x item) bool { return x.then == nil })
	p.owner, p.outbox, p.answers = nil, nil, nil
	clear(p.credits)
	return actions
}

// afterFacts runs an action after all facts so far are delivered.
func (p *Process) afterFacts(then func()) {
	if len(p.outbox) == 0 && !p.waking {
		p.later = append(p.later, then)
		return
	}
	p.outbox = append(p.outbox, item{then: then})
	p.wake()
}

// say emits a fact to the owner, after earlier ones.
func (p *Process) say(fact messages.ProcessFact) {
	p.said = append(p.said, fact)
	if p.owner != nil {
		p.outbox = append(p.outbox, item{fact: fact})
		p.wake()
	}
}

// number emits a fact that stays until it is settled.
func (p *Process) number(fact func(seq uint64) messages.ProcessFact) {
	seq := p.engine.seq.Add(1)
	p.keep(seq, fact(seq))
}

// keep emits a fact that stays until its number is settled.
func (p *Process) keep(seq uint64, fact messages.ProcessFact) {
	p.unsettled = append(p.unsettled, numbered{seq, fact})
	p.last = seq
	p.say(fact)
}

// wake starts the delivery, unless it is running.
func (p *Process) wake() {
	if p.waking || len(p.outbox) == 0 {
		return
	}
	p.waking = true
	go p.tell()
}

// tell delivers the outbox. The state is unlocked during a delivery.
func (p *Process) tell() {
	for p.tellOne() {
	}
}

func (p *Process) tellOne() bool {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	if len(p.outbox) == 0 {
		p.waking = false
		p.mu.Unlock()
		return false
	}
	x, owner := p.outbox[0], p.owner
	p.outbox = p.outbox[1:]
	p.mu.Unlock()
	if x.then != nil {
		x.then()
		return true
	}
	owner.facts(x.fact)
	return true
}

func (p *Process) note(meta []byte) {
	p.mu.Lock()
	defer p.unlock()
	if len(meta) > backends.MaxMeta {
		p.engine.violate("%s was given a note of %d bytes", p.ID, len(meta))
	}
	p.meta = append([]byte(nil), meta...)
	p.notes = append(p.notes, string(meta))
}

// settle drops settled facts. It drops the process if it is over and none is left.
func (p *Process) settle(seq uint64) {
	p.mu.Lock()
	defer p.unlock()
	if seq > p.last {
		p.engine.violate("%s was settled up to %d; its last fact is %d", p.ID, seq, p.last)
	}
	p.settled = max(p.settled, seq)
	for len(p.unsettled) > 0 && p.unsettled[0].seq <= seq {
		p.unsettled = p.unsettled[1:]
	}
	if p.finished() && len(p.unsettled) == 0 {
		p.engine.drop(p.ID)
	}
}
