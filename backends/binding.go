package backends

import (
	"sync"

	"troupe/messages"
)

// Binding is one owner's ear for a job: what Start and Adopt of an engine make.
// Whoever tells must see to the order; End waits for the fact that is being told.
type Binding struct {
	mu    sync.Mutex // held while a fact is told
	facts FactHandler
}

// Bind makes the ear of facts.
func Bind(facts FactHandler) *Binding { return &Binding{facts: facts} }

// Deliver tells the owner a fact, unless it has gone.
func (b *Binding) Deliver(f messages.ProcessFact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.facts != nil {
		b.facts(f)
	}
}

// End makes the owner deaf: no fact is told after it returns. A nil Binding has
// none.
func (b *Binding) End() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts = nil
}
