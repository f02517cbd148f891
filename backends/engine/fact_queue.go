package engine

import (
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// sequencedFact is a fact that is kept until it is settled.
type sequencedFact struct {
	seq  uint64
	fact messages.ProcessFact
}

// factQueue delivers the facts of one job to its owner, one by one and in order, from
// any goroutine of the engine. Its lock is a leaf, and is free during a delivery.
type factQueue struct {
	lock       sync.Mutex
	bound      *backends.Binding
	queue      []messages.ProcessFact
	delivering bool
	started    *messages.ProcessStarted
	unsettled  []sequencedFact
}

// enqueue queues a fact. The caller must call flush afterwards, without a lock.
func (t *factQueue) enqueue(f messages.ProcessFact) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if s, ok := f.(messages.ProcessStarted); ok {
		t.started = &s
	}
	if t.bound != nil {
		t.queue = append(t.queue, f)
	}
}

// enqueueKept queues a fact that is kept until its number is settled.
func (t *factQueue) enqueueKept(seq uint64, f messages.ProcessFact) {
	t.lock.Lock()
	t.unsettled = append(t.unsettled, sequencedFact{seq, f})
	t.lock.Unlock()
	t.enqueue(f)
}

// flush delivers the queued facts, unless another goroutine does so already.
func (t *factQueue) flush(fault func(any)) {
	t.lock.Lock()
	if t.delivering {
		t.lock.Unlock()
		return
	}
	t.delivering = true
	for len(t.queue) > 0 {
		f, b := t.queue[0], t.bound
		t.queue = t.queue[1:]
		t.lock.Unlock()
		deliverSafely(b, f, fault)
		t.lock.Lock()
	}
	t.queue, t.delivering = nil, false
	t.lock.Unlock()
}

// deliverSafely recovers from a panic of the fact handler.
func deliverSafely(b *backends.Binding, f messages.ProcessFact, fault func(any)) {
	defer func() {
		if r := recover(); r != nil {
			fault(r)
		}
	}()
	b.Deliver(f)
}

// bind sets a new owner. It queues the start, the state between and all unsettled facts
// for it.
func (t *factQueue) bind(b *backends.Binding, between []messages.ProcessFact) (former *backends.Binding) {
	t.lock.Lock()
	defer t.lock.Unlock()
	former = t.bound
	t.bound, t.queue = b, nil
	if t.started != nil {
		t.queue = append(t.queue, *t.started)
	}
	t.queue = append(t.queue, between...)
	for _, n := range t.unsettled {
		t.queue = append(t.queue, n.fact)
	}
	return former
}

// unbind removes owner b, or any owner if b is nil.
func (t *factQueue) unbind(b *backends.Binding) (was *backends.Binding) {
	t.lock.Lock()
	defer t.lock.Unlock()
	was = t.bound
	if b == nil || t.bound == b {
		t.bound, t.queue = nil, nil
	}
	return was
}

// owner returns the bound owner; nil: none.
func (t *factQueue) owner() *backends.Binding {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.bound
}

// settle forgets the facts up to seq and reports whether any is left.
func (t *factQueue) settle(seq uint64) (unsettled bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for len(t.unsettled) > 0 && t.unsettled[0].seq <= seq {
		t.unsettled = t.unsettled[1:]
	}
	return len(t.unsettled) > 0
}

// last returns the number of the last kept fact; 0: none.
func (t *factQueue) last() uint64 {
	t.lock.Lock()
	defer t.lock.Unlock()
	if len(t.unsettled) == 0 {
		return 0
	}
	return t.unsettled[len(t.unsettled)-1].seq
}
