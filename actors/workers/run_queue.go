package workers

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// RunQueue is work that takes no time, done in turn by whoever is at hand: those who
// made it and have joined, else a worker who is called. Calling one wakes another
// thread, which costs more than the work itself and takes a processor from what
// the work is about. The zero Line is ready; it is safe for concurrent use.
type RunQueue struct {
	Apart Pool // for work that may take its time

	mu     sync.Mutex
	queue  fifo[func()]
	active int // who is at the line, or will come to it

	envelopes sync.Pool // of *actor.MessageEnvelope
}

// envelope is an empty one.
func (l *RunQueue) envelope() *actor.MessageEnvelope {
	if e, is := l.envelopes.Get().(*actor.MessageEnvelope); is {
		return e
	}
	return &actor.MessageEnvelope{}
}

const (
	// longLine is how much waits for each who is active before another is called.
	longLine = 8
	// turn is how many actors one who has joined works for before leaving it to a
	// worker: each for a bounded number of messages, and so those whom they wake.
	turn = 32
)

// Schedule has fn run: an actor with messages. It never waits.
func (l *RunQueue) Schedule(fn func()) {
	l.mu.Lock()
	l.queue.push(fn)
	call := l.active == 0 || l.queue.len() > longLine*l.active
	if call {
		l.active++
	}
	l.mu.Unlock()
	if call {
		l.Apart.Schedule(l.work)
	}
}

// Throughput implements the library's Dispatcher; our mailbox has a bound of its own.
func (l *RunQueue) Throughput() int { return inARow }

// Join says that the caller makes work now and will help with it: Leave must
// follow soon.
func (l *RunQueue) Join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
}

// Leave helps with what is to be done, and goes.
func (l *RunQueue) Leave() {
	for range turn {
		fn := l.take()
		if fn == nil {
			return // take has counted us out
		}
		fn()
	}
	l.goAway()
}

// goAway counts one out, and calls another if nobody is left for what waits.
func (l *RunQueue) goAway() {
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

// take gives what is next; nil is nothing, and one who is active no more.
func (l *RunQueue) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.len() == 0 {
		l.active--
		return nil
	}
	return l.queue.pop()
}
