package out

import (
	"sync"
	"time"
)

// AsyncWriter runs the writes of troupe's own sentences in order, in a goroutine. A pipe or
// terminal without a reader blocks a write; the caller waits only briefly, to keep handling
// signals.
type AsyncWriter struct {
	mu    sync.Mutex
	queue []func()
	quiet chan struct{} // closed when the queue is written; nil: no write is pending
	stuck bool          // a caller has timed out; later ones do not wait
}

// writePatience bounds the wait of a caller for its write, so that later output follows it.
// After one timeout callers do not wait until the queue is written.
const writePatience = 100 * time.Millisecond

// Do queues a write and waits for the queue, at most writePatience.
func (v *AsyncWriter) Do(write func()) {
	v.mu.Lock()
	v.queue = append(v.queue, write)
	if v.quiet == nil {
		v.quiet = make(chan struct{})
		go v.work(v.quiet)
	}
	quiet, stuck := v.quiet, v.stuck
	v.mu.Unlock()
	if stuck {
		return
	}
	late := time.NewTimer(writePatience)
	defer late.Stop()
	select {
	case <-quiet:
	case <-late.C:
		v.mu.Lock()
		v.stuck = v.quiet == quiet
		v.mu.Unlock()
	}
}

func (v *AsyncWriter) work(quiet chan struct{}) {
	for {
		v.mu.Lock()
		if len(v.queue) == 0 {
			v.quiet, v.stuck = nil, false
			v.mu.Unlock()
			close(quiet)
			return
		}
		write := v.queue[0]
		v.queue = v.queue[1:]
		v.mu.Unlock()
		write()
	}
}

// Busy reports whether writes are pending.
func (v *AsyncWriter) Busy() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.quiet != nil
}

// Wait waits until the queue is written.
func (v *AsyncWriter) Wait() {
	v.mu.Lock()
	quiet := v.quiet
	v.mu.Unlock()
	if quiet != nil {
		<-quiet
	}
}
