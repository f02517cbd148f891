package engine

import (
	"sync"
	"time"
)

// killPool kill jobs that are given no grace, a few at a time and in order: nobody waits
// in a goroutine of its own for each of ten thousand.
type killPool struct {
	e *Local

	mu    sync.Mutex
	queue []*job
	busy  int

	falling int           // killed trees that have not come down
	calm    chan struct{} // closed when few are; nil: nobody waits
}

// fewFalls are no burst: whoever waits for a calm goes on beside them.
const fewFalls = stopsAtOnce

// falls counts killed trees.
func (d *killPool) falls(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.falling += n; d.falling <= fewFalls && d.calm != nil {
		close(d.calm)
		d.calm = nil
	}
}

// giveWay waits, for a while, for the end of a burst of stops: there is somebody who
// waits for them, and nobody for what is done behind.
func (d *killPool) giveWay(bound time.Duration) {
	d.mu.Lock()
	if d.falling <= fewFalls {
		d.mu.Unlock()
		return
	}
	if d.calm == nil {
		d.calm = make(chan struct{})
	}
	calm := d.calm
	d.mu.Unlock()
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-calm:
	case <-t.C:
	case <-d.e.done:
	}
}

// push has a job ended.
func (d *killPool) push(j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, j)
	if d.busy < stopsAtOnce {
		d.busy++
		d.e.background(d.work)
	}
}

func (d *killPool) work() {
	for j := d.next(); j != nil; j = d.next() {
		j.climbSafely()
	}
}

// next is the next job; nil: there is none, and somebody less to ask for it.
func (d *killPool) next() *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		d.queue = nil
		d.busy--
		return nil
	}
	j := d.queue[0]
	d.queue[0] = nil
	d.queue = d.queue[1:]
	return j
}

// climbSafely is climb for a goroutine that serves many jobs.
func (j *job) climbSafely() {
	defer j.guard()
	j.escalate()
}
