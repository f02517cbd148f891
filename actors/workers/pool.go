// Package workers runs the actors: goroutines that go from one actor with
// messages to the next. A fresh goroutine for each message grows its stack anew
// each time, which costs a command 70 µs in all; one that has worked before has
// its stack. The actors themselves start no goroutine.
package workers

import "sync"

// Pool implements the actor library's Dispatcher. The zero Pool is ready; it is
// safe for concurrent use.
type Pool struct {
	mu     sync.Mutex
	idle   []chan func() // the last one to have worked is the next to be called
	closed bool
}

// maxIdle is how many workers wait for work: more run when there is more to do,
// and end when there is less.
const maxIdle = 32

// Schedule has fn run: an actor with messages. It never waits.
func (w *Pool) Schedule(fn func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		next <- fn // there is room: it rests
		return
	}
	w.mu.Unlock()
	go w.work(fn)
}

// Throughput implements the library's Dispatcher; our mailbox has a bound of its own.
func (w *Pool) Throughput() int { return inARow }

func (w *Pool) work(fn func()) {
	calls := make(chan func(), 1)
	for fn != nil {
		fn()
		if !w.rest(calls) {
			return
		}
		fn = <-calls
	}
}

// rest lets a worker wait, unless enough do or the tree has ended.
func (w *Pool) rest(calls chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= maxIdle {
		return false
	}
	w.idle = append(w.idle, calls)
	return true
}

// Close lets the idle workers end; those that work end when they have.
func (w *Pool) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, calls := range w.idle {
		close(calls)
	}
	w.idle = nil
}
