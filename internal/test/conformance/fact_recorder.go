package conformance

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages"
)

// factRecorder records facts. It fails the test if two are delivered at a time.
type factRecorder struct {
	t    testing.TB
	busy atomic.Int32

	mu    sync.Mutex
	heard []messages.ProcessFact
	at    []time.Time
	done  bool // no fact may follow
	more  chan struct{}
}

func newFactRecorder(t testing.TB) *factRecorder {
	return &factRecorder{t: t, more: make(chan struct{})}
}

func (e *factRecorder) facts(f messages.ProcessFact) {
	if e.busy.Add(1) > 1 {
		e.t.Errorf("%T was delivered during another fact", f)
	}
	defer e.busy.Add(-1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		e.t.Errorf("%T was delivered after the release", f)
	}
	e.heard = append(e.heard, f)
	e.at = append(e.at, time.Now())
	close(e.more)
	e.more = make(chan struct{})
}

// forbidMore makes every further fact an error.
func (e *factRecorder) forbidMore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
}

// all returns the facts so far.
func (e *factRecorder) all() []messages.ProcessFact {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard[:len(e.heard):len(e.heard)]
}

// until waits until the facts satisfy is.
func (e *factRecorder) until(what string, is func([]messages.ProcessFact) bool) {
	e.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		e.mu.Lock()
		heard, more := e.heard[:len(e.heard):len(e.heard)], e.more
		e.mu.Unlock()
		if is(heard) {
			return
		}
		select {
		case <-more:
		case <-limit.C:
			e.t.Fatalf("%s did not come in %s; got %s\n\n%s", what, patience, show(heard), goroutines())
		}
	}
}

// quiet waits for d, and reports each fact in that time for which not returns false.
func (e *factRecorder) quiet(d time.Duration, not func(messages.ProcessFact) bool) {
	e.t.Helper()
	from := len(e.all())
	<-time.After(d)
	for _, f := range e.all()[from:] {
		if not(f) {
			e.t.Errorf("unexpected %s", show([]messages.ProcessFact{f}))
		}
	}
}

func show(facts []messages.ProcessFact) string {
	var words []string
	for _, f := range facts {
		words = append(words, fmt.Sprintf("%s%+v", strings.TrimPrefix(fmt.Sprintf("%T", f), "messages."), f))
	}
	return "[" + strings.Join(words, " ") + "]"
}

// count returns the number of facts of a kind.
func count[F any](facts []messages.ProcessFact) int {
	n := 0
	for _, f := range facts {
		if _, ok := any(f).(F); ok {
			n++
		}
	}
	return n
}

// await waits for the first fact of a kind and returns it with its time.
func await[F any](e *factRecorder) (F, time.Time) {
	e.t.Helper()
	var found F
	var place int
	e.until(fmt.Sprintf("%T", found), func(heard []messages.ProcessFact) bool {
		for i, f := range heard {
			if g, ok := any(f).(F); ok {
				found, place = g, i
				return true
			}
		}
		return false
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	return found, e.at[place]
}
