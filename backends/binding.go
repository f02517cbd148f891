package backends

import (
	"sync"

	"troupe/messages"
)

// Binding delivers the facts of a job to one owner: Start and Adopt of an engine make one. The
// caller of Deliver keeps the order. End waits for a delivery in progress.
type Binding struct {
	mu    sync.Mutex // held during a delivery
	facts FactHandler
}

// Bind makes the binding of an owner.
func Bind(facts FactHandler) *Binding { return &Binding{facts: facts} }

// Deliver passes a fact to the owner, unless the binding has ended.
func (b *Binding) Deliver(f messages.ProcessFact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.facts != nil {
		b.facts(f)
	}
}

// End ends the binding: no fact is delivered after it returns. It accepts a nil Binding.
func (b *Binding) End() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts = nil
}
