package copilot

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// callQueue runs the calls for a shell one by one, in order of arrival.
type callQueue struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by shell id; the first has the turn
}

// errQueue means that too many calls wait for a shell.
var errQueue = errors.New("too many calls wait")

// take waits for the turn of a call. done passes it on. The error is errQueue, or that of
// ctx.
func (t *callQueue) take(ctx context.Context, id string) (done func(), err error) {
	mine := make(chan struct{}, 1)
	t.mu.Lock()
	if len(t.waiting[id]) > mostCalls {
		t.mu.Unlock()
		return nil, errQueue
	}
	t.waiting[id] = append(t.waiting[id], mine)
	if len(t.waiting[id]) == 1 {
		mine <- struct{}{}
	}
	t.mu.Unlock()
	done = func() { t.leave(id, mine) }
	select {
	case <-mine:
		return done, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}

// leave removes a call from its queue. If the call had the turn, the next one gets it.
func (t *callQueue) leave(id string, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.waiting[id]
	i := slices.Index(queue, mine)
	queue = slices.Delete(queue, i, i+1)
	if len(queue) == 0 {
		delete(t.waiting, id)
		return
	}
	if i == 0 {
		queue[0] <- struct{}{}
	}
	t.waiting[id] = queue
}
