package fake

import (
	"slices"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// binding is one owner's hold of a process: what Start and Adopt return.
type binding struct {
	*Process
	facts backends.FactHandler
}

// numbered is a fact that is kept until it is settled.
type numbered struct {
	seq  uint64
	fact messages.ProcessFact
}

// item is a fact that is to be told, or something to do behind those that were.
type item struct {
	fact messages.ProcessFact
	then func()
}

// hold is a process as its owner sees it; it hides the test's methods.
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

// bind gives the process to a new owner: the former one hears nothing more, the
// new one hears all that is not settled.
func (p *Process) bind(facts backends.FactHandler) backends.Process {
	b := &binding{p, facts}
	p.mu.Lock()
	behind := p.discard()
	p.owner = b
	if p.start != nil {
		p.outbox = append(p.outbox, item{fact: *p.start})
	}
	for _, n := range p.unsettled {
		p.outbox = append(p.outbox, item{fact: n.fact})
	}
	p.outbox = append(p.outbox, behind...)
	p.replay()
	p.mu.Unlock()
	p.telling.Lock() // the former owner may be hearing its last fact
	defer p.telling.Unlock()
	return hold{b}
}

// replay tells a new owner what there is to tell. Called with mu.
func (p *Process) replay() {
	after := p.engine.options.Replay
	if after == 0 || p.waking || len(p.outbox) == 0 {
		p.wake()
		return
	}
	p.waking = true
	time.AfterFunc(after, p.tell)
}

// unbind takes the process from its owner, if that is b; nil is anyone. No fact
// is told after it returns.
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

// discard forgets what the owner was not told, and the owner. It returns what
// was to be done behind it.
func (p *Process) discard() []item {
	behind := slices.DeleteFunc(p.outbox, func(x item) bool { return x.then == nil })
	p.owner, p.outbox, p.answers = nil, nil, nil
	clear(p.credits)
	return behind
}

// afterFacts does something when all that was said so far has been told.
func (p *Process) afterFacts(then func()) {
	if len(p.outbox) == 0 && !p.waking {
		p.later = append(p.later, then)
		return
	}
	p.outbox = append(p.outbox, item{then: then})
	p.wake()
}

// say tells a fact to the owner, behind those that were said before.
func (p *Process) say(fact messages.ProcessFact) {
	p.said = append(p.said, fact)
	if p.owner != nil {
		p.outbox = append(p.outbox, item{fact: fact})
		p.wake()
	}
}

// number says a fact that stays until it is settled.
func (p *Process) number(fact func(seq uint64) messages.ProcessFact) {
	seq := p.engine.seq.Add(1)
	p.keep(seq, fact(seq))
}

// keep says a fact that stays until its number is settled.
func (p *Process) keep(seq uint64, fact messages.ProcessFact) {
	p.unsettled = append(p.unsettled, numbered{seq, fact})
	p.last = seq
	p.say(fact)
}

// wake has the outbox told, unless that goes on already.
func (p *Process) wake() {
	if p.waking || len(p.outbox) == 0 {
		return
	}
	p.waking = true
	go p.tell()
}

// tell empties the outbox. The lock of the state is free while a fact is told.
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

// settle forgets facts, and the process when none is left and it is over.
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
