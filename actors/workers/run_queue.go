package workers

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// RunQueue runs short functions in order: in the goroutines that have joined, else in a
// worker. Waking a worker costs more than the work and takes a processor from the jobs. It
// implements actor.Dispatcher. The zero RunQueue is ready and safe for concurrent use.
type RunQueue struct {
	Apart Pool // runs work that may wait

	mu     sync.Mutex
	queue  fifo[func()]
	active int // goroutines that run the queue or are about to

	envelopes sync.Pool // of *actor.MessageEnvelope
}

// envelope returns an empty envelope.
func (l *RunQueue) envelope() *actor.MessageEnvelope {
	if e, is := l.envelopes.Get().(*actor.MessageEnvelope); is {
		return e
	}
	return &actor.MessageEnvelope{}
}

const (
	// longQueue bounds the functions that wait per active goroutine. Beyond it Schedule
	// wakes a worker.
	longQueue = 8
	// turn bounds the actors that Leave runs. Each handles at most inARow messages.
	turn = 32
)

// Schedule queues fn, one actor's turn. It never waits.
func (l *RunQueue) Schedule(fn func()) {
	l.mu.Lock()
	l.queue.push(fn)
	call := l.active == 0 || l.queue.len() > longQueue*l.active
	if call {
		l.active++
	}
	l.mu.Unlock()
	if call {
		l.Apart.Schedule(l.work)
	}
}

// Throughput implements actor.Dispatcher. Mailbox does not read it: it has its own bound.
func (l *RunQueue) Throughput() int { return inARow }

// Join registers the caller as active, before it sends messages. Leave must follow soon.
func (l *RunQueue) Join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
}

// Leave runs up to turn functions and unregisters the caller.
func (l *RunQueue) Leave() {
	for range turn {
		fn := l.take()
		if fn == nil {
			return // take has unregistered the caller
		}
		fn()
	}
	l.unregister()
}

// unregister ends an active goroutine. It wakes a worker if it was the last and functions
// wait.
func (l *RunQueue) unregister() {
	l.mu.Lock()
	l.active--
	call := l.active == 0 && l.queue.len() > 0
	if call {
		l.active++
	}
	l.mu.Unlock()
	if call {
		l.Apart.Schedule(l.work)
	}
}

func (l *RunQueue) work() {
	for fn := l.take(); fn != nil; fn = l.take() {
		fn()
	}
}

// take removes and returns the next function. If there is none, it returns nil and
// unregisters the caller.
func (l *RunQueue) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.len() == 0 {
		l.active--
		return nil
	}
	return l.queue.pop()
}
