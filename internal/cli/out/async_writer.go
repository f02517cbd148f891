package out

import (
	"sync"
	"time"
)

// AsyncWriter does in turn what writes of our own. A pipe or a terminal that nobody
// reads takes no more one day, and whoever says something then must go on
// hearing signals: so nobody stands behind a write for long.
type AsyncWriter struct {
	mu    sync.Mutex
	queue []func()
	quiet chan struct{} // closed when all is written; nil: all is
	stuck bool          // somebody has waited for it in vain
}

// writePatience is how long the writer of a sentence waits for it, so that what
// comes next stands behind it. Where nobody reads that is once, not each time.
const writePatience = 100 * time.Millisecond

// Do writes when it is its turn, and returns when it has or soon.
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

// Busy says whether something waits to be written.
func (v *AsyncWriter) Busy() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.quiet != nil
}

// Wait waits until all is written.
func (v *AsyncWriter) Wait() {
	v.mu.Lock()
	quiet := v.quiet
	v.mu.Unlock()
	if quiet != nil {
		<-quiet
	}
}
