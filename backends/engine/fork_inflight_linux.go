package engine

import (
	"sync"
	"time"
)

// inflightForks are those that are under way in this process, by number. Until its exec
// a child holds every descriptor that we have: also the ends of the pipes of
// other jobs.
type inflightForks struct {
	mu    sync.Mutex
	next  uint64
	under map[uint64]struct{}
	over  chan struct{} // closed when the next fork is over; nil: nobody waits
}

func newForks() *inflightForks { return &inflightForks{under: make(map[uint64]struct{})} }

// forkBound is how long the result of one job waits for the forks of others: an
// exec takes a millisecond, but one from a server that is gone takes for ever.
const forkBound = time.Second

// enter is called before a fork, leave when it is over.
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

// underWay reports whether a fork up to number last is. Called with mu.
func (f *inflightForks) underWay(last uint64) bool {
	for n := range f.under {
		if n <= last {
			return true
		}
	}
	return false
}

// settle waits for the forks that are under way now: what their children held of
// ours they hold no more. It goes on without them when the bound is over or the
// engine ends. Called with mu.
func (f *inflightForks) settle(bound <-chan time.Time, done <-chan struct{}) {
	for before := f.next; f.underWay(before); {
		if !f.wait(bound, done) {
			return
		}
	}
}

// wait lets go of mu until a fork is over, and reports whether one is. Called with
// mu.
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

// settleForks waits, for a while, until no child that we are forking now can hold a
// pipe.
func (h *platform) settleForks() {
	t := time.NewTimer(forkBound)
	defer t.Stop()
	h.forks.mu.Lock()
	defer h.forks.mu.Unlock()
	h.forks.settle(t.C, h.engine.done)
}
