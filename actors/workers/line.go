package workers

import "sync"

// Line is work that takes no time, done in turn by whoever is at hand: those who
// made it and have joined, else a worker who is called. Calling one wakes another
// thread, which costs more than the work itself and takes a processor from what
// the work is about. The zero Line is ready; it is safe for concurrent use.
type Line struct {
	Apart Pool // for work that may take its time

	mu     sync.Mutex
	queue  []func()
	next   int // in queue
	active int // who is at the line, or will come to it
}

const (
	// longLine is how much waits for each who is active before another is called.
	longLine = 8
	// turn is how much one who has joined does before leaving it to a worker.
	turn = 128
)

// Schedule has fn run: an actor with messages. It never waits.
func (l *Line) Schedule(fn func()) {
	l.mu.Lock()
	l.queue = append(l.queue, fn)
	call := l.active == 0 || len(l.queue)-l.next > longLine*l.active
	if call {
		l.active++
	}
	l.mu.Unlock()
	if call {
		l.Apart.Schedule(l.work)
	}
}

// Throughput is the most messages of one actor in a row.
func (l *Line) Throughput() int { return throughput }

// Join says that the caller makes work now and will help with it: Leave must
// follow soon.
func (l *Line) Join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
}

// Leave helps with what is to be done, and goes.
func (l *Line) Leave() {
	for range turn {
		fn := l.take()
		if fn == nil {
			return // take has counted us out
		}
		fn()
	}
	l.goAway()
}

// Away does f, which may wait, in the middle of something at the line: others are
// let at it meanwhile.
func (l *Line) Away(f func()) {
	l.goAway()
	defer l.Join()
	f()
}

// goAway counts one out, and calls another if nobody is left for what waits.
func (l *Line) goAway() {
	l.mu.Lock()
	l.active--
	call := l.active == 0 && l.next < len(l.queue)
	if call {
		l.active++
	}
	l.mu.Unlock()
	if call {
		l.Apart.Schedule(l.work)
	}
}

func (l *Line) work() {
	for fn := l.take(); fn != nil; fn = l.take() {
		fn()
	}
}

// take gives what is next; nil is nothing, and one who is active no more.
func (l *Line) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == len(l.queue) {
		l.queue, l.next = l.queue[:0], 0
		l.active--
		return nil
	}
	fn := l.queue[l.next]
	l.queue[l.next] = nil
	l.next++
	return fn
}
