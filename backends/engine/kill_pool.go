package engine

import (
	"sync"
	"time"
)

// killPool stops jobs without grace, a few at a time and in order. So ten thousand
// stops do not need a goroutine each.
type killPool struct {
	e *Local

	mu    sync.Mutex
	queue []*job
	busy  int

	falling int           // killed trees that have not ended
	calm    chan struct{} // closed when few are falling; nil: no goroutine waits
}

// fewKilled is the number of killed trees up to which giveWay does not wait.
const fewKilled = stopsAtOnce

// countKilled adds n to the number of killed trees that have not ended.
func (d *killPool) countKilled(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.falling += n; d.falling <= fewKilled && d.calm != nil {
		close(d.calm)
		d.calm = nil
	}
}

// killing reports whether a killed tree has not ended.
func (d *killPool) killing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.falling > 0
}

// giveWay waits, up to bound, for the end of a burst of stops. Clients wait for stops,
// none for the caller's work.
func (d *killPool) giveWay(bound time.Duration) {
	d.mu.Lock()
	if d.falling <= fewKilled {
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

// push queues a job for its stop.
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
		j.escalateSafely()
	}
}

// next returns the next job. If there is none, it returns nil and the caller ends.
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

// escalateSafely calls escalate in a goroutine that serves many jobs.
func (j *job) escalateSafely() {
	defer j.guard()
	j.escalate()
}
