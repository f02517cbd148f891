package omp

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// pending is the end of a job that its owner has not received.
type pending struct {
	job     *job
	record  JobRecord
	made    *Delivery
	attempt int
	at      time.Time // earliest time of the next attempt
}

// enqueue queues the end of a job for delivery, unless a tool has shown it or will show it,
// or the job was cancelled. The caller holds j.mu.
func (j *Jobs) enqueue(b *job) {
	if j.o.Deliver == nil || b.called || b.acked || b.watched > 0 || b.queued || b.Status == JobRunning || b.Status == JobCancelled {
		return
	}
	b.queued = true
	j.queue = append(j.queue, &pending{job: b, record: b.JobRecord, at: j.o.Now()})
	j.bound()
	if !j.delivers {
		j.delivers = true
		j.o.Beside.Go(j.deliver)
		return
	}
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// bound drops the oldest ends of an overlong queue, each of which has a text of up to 50
// KB. The caller holds j.mu.
func (j *Jobs) bound() {
	for len(j.queue) > mostFinished {
		oldest := slices.MinFunc(j.queue, func(a, b *pending) int { return a.record.EndTime.Compare(b.record.EndTime) })
		j.queue = slices.DeleteFunc(j.queue, func(p *pending) bool { return p == oldest })
		j.o.Log.Warn("the end of a background job was dropped, not delivered", "job", oldest.record.ID, "attempts", oldest.attempt)
	}
}

// deliver delivers the queued ends, the first one that is due at a time, until the queue is
// empty. A failed one goes to the back and waits.
func (j *Jobs) deliver() {
	for {
		p, wait := j.due()
		if p == nil && wait == 0 {
			return
		}
		if p != nil {
			j.attempt(p)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-j.wake:
		case <-j.ctx.Done():
		}
		timer.Stop()
	}
}

// due removes the first due delivery from the queue. If none is due, it returns the time
// until the next one, or 0 for an empty queue.
func (j *Jobs) due() (*pending, time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, first := j.o.Now(), time.Duration(0)
	var kept []*pending
	var found *pending
	for _, p := range j.queue {
		switch wait := p.at.Sub(now); {
		case p.job.acked || p.job.watched > 0: // a tool shows it meanwhile
			p.job.queued = false
		case found == nil && wait <= 0:
			found = p
		default:
			kept = append(kept, p)
			if first == 0 || wait < first {
				first = max(wait, 1)
			}
		}
	}
	j.queue = kept
	if found != nil {
		return found, 0
	}
	if len(kept) == 0 || j.ctx.Err() != nil {
		j.delivers, j.queue = false, nil
		if j.drained != nil {
			close(j.drained)
			j.drained = nil
		}
		return nil, 0
	}
	return nil, first
}

// attempt delivers one end. After an error it queues the end again.
func (j *Jobs) attempt(p *pending) {
	if p.made == nil {
		made := delivery(p.record, p.job.keep)
		made.Told = func() bool { return j.shownByTool(p.job) }
		p.made = &made
	}
	ctx, stop := context.WithTimeout(j.ctx, deliverTime)
	err := j.o.Deliver(ctx, *p.made)
	stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		p.job.acked = true
		return
	}
	p.attempt++
	p.at = j.o.Now().Add(retryAfter(p.attempt, j.o.Jitter()))
	j.queue = append(j.queue, p)
	j.bound()
	j.o.Log.Warn("the end of a background job could not be delivered", "job", p.record.ID, "attempt", p.attempt, "error", err)
}

func (j *Jobs) shownByTool(b *job) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return b.tool
}

func chance() time.Duration { return time.Duration(rand.IntN(retryJitter)) * time.Millisecond }

// drain waits until the queue is empty, at most 3 seconds.
func (j *Jobs) drain(ctx context.Context) {
	j.mu.Lock()
	if !j.delivers {
		j.mu.Unlock()
		return
	}
	if j.drained == nil {
		j.drained = make(chan struct{})
	}
	drained := j.drained
	j.mu.Unlock()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
	case <-ctx.Done():
	}
}
