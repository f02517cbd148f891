package engine

import "sync"

// forks are those that are under way in this process, by number. Until its exec
// a child holds every descriptor that we have: also the ends of the pipes of
// other jobs.
type forks struct {
	mu    sync.Mutex
	cond  *sync.Cond
	next  uint64
	under map[uint64]struct{}
}

func newForks() *forks {
	f := &forks{under: make(map[uint64]struct{})}
	f.cond = sync.NewCond(&f.mu)
	return f
}

// enter is called before a fork, leave when it is over.
func (f *forks) enter() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	f.under[f.next] = struct{}{}
	return f.next
}

func (f *forks) leave(ticket uint64) {
	f.mu.Lock()
	delete(f.under, ticket)
	f.mu.Unlock()
	f.cond.Broadcast()
}

// underWay reports whether a fork up to number last is. Called with mu.
func (f *forks) underWay(last uint64) bool {
	for n := range f.under {
		if n <= last {
			return true
		}
	}
	return false
}

// settle waits for the forks that are under way now: what their children held of
// ours they hold no more.
func (f *forks) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for before := f.next; f.underWay(before); {
		f.cond.Wait()
	}
}
