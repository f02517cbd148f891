package engine

import (
	"sync"
	"time"
)

// inflightForks tracks the forks in progress, by number. Until its exec a child holds
// every descriptor of this process, pipe ends of other jobs included.
type inflightForks struct {
	mu    sync.Mutex
	next  uint64
	under map[uint64]struct{}
	over  chan struct{} // closed when the next fork ends; nil: no goroutine waits
}

func newForks() *inflightForks { return &inflightForks{under: make(map[uint64]struct{})} }

// forkBound bounds how long one job's result waits for the forks of others. An exec
// takes a millisecond, but from a dead server it hangs.
const forkBound = time.Second

// enter registers a fork, before it starts; leave removes it.
func (f *inflightForks) enter() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	f.under[f.next] = struct{}{}
	return f.next
}

func (f *inflightForks) leave(ticket uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.under, ticket)
	if f.over != nil {
		close(f.over)
		f.over = nil
	}
}

// underWay reports whether a fork numbered up to last is in progress. The caller holds
// mu.
func (f *inflightForks) underWay(last uint64) bool {
	for n := range f.under {
		if n <= last {
			return true
		}
	}
	return false
}

// settle waits for the forks in progress now, until bound or the engine's end. The
// caller holds mu.
func (f *inflightForks) settle(bound <-chan time.Time, done <-chan struct{}) {
	for before := f.next; f.underWay(before); {
		if !f.wait(bound, done) {
			return
		}
	}
}

// wait releases mu until a fork ends, and reports whether one did. The caller holds mu.
func (f *inflightForks) wait(bound <-chan time.Time, done <-chan struct{}) bool {
	if f.over == nil {
		f.over = make(chan struct{})
	}
	next := f.over
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-next:
		return true
	case <-bound:
	case <-done:
	}
	return false
}

// settleForks waits, up to forkBound, until no forked child can hold a pipe.
func (h *platform) settleForks() {
	t := time.NewTimer(forkBound)
	defer t.Stop()
	h.forks.mu.Lock()
	defer h.forks.mu.Unlock()
	h.forks.settle(t.C, h.engine.done)
}
