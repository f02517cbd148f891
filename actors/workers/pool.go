package workers

import "sync"

// Pool runs each function in a goroutine of its own and reuses idle goroutines. It
// implements actor.Dispatcher. The zero Pool is ready and safe for concurrent use.
type Pool struct {
	mu     sync.Mutex
	idle   []chan func() // of the idle workers, the most recently busy last; it is called next
	closed bool
}

// maxIdle bounds the idle workers. More run under load; they end when they become idle.
const maxIdle = 32

// Schedule runs fn, one actor's turn, in a worker. It never waits.
func (w *Pool) Schedule(fn func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		next <- fn // does not wait: the buffer of an idle worker is empty
		return
	}
	w.mu.Unlock()
	go w.work(fn)
}

// Throughput implements actor.Dispatcher. Mailbox does not read it: it has its own bound.
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

// rest puts a worker among the idle ones. It returns false if there are enough of them or
// the pool is closed.
func (w *Pool) rest(calls chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= maxIdle {
		return false
	}
	w.idle = append(w.idle, calls)
	return true
}

// Close ends the idle workers. A busy worker ends after its function.
func (w *Pool) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, calls := range w.idle {
		close(calls)
	}
	w.idle = nil
}
