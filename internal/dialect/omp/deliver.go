package omp

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// pending is the end of a job that its owner is to be told of.
type pending struct {
	job     *job
	record  JobRecord
	made    *Delivery
	attempt int
	at      time.Time // not before
}

// tell queues the end of a job, unless somebody has told it, is about to, or cancelled it
// . Called with j.mu.
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

// bound drops the oldest ends if nobody has taken too many of them: each has a text of up to
// 50 KB. Called with j.mu.
func (j *Jobs) bound() {
	for len(j.queue) > mostFinished {
		oldest := slices.MinFunc(j.queue, func(a, b *pending) int { return a.record.EndTime.Compare(b.record.EndTime) })
		j.queue = slices.DeleteFunc(j.queue, func(p *pending) bool { return p == oldest })
		j.o.Log.Warn("the end of a background job was never told", "job", oldest.record.ID, "attempts", oldest.attempt)
	}
}

// deliver tells what is queued, until nothing is: the first that is due; one that failed
// goes to the back and waits.
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

// due takes the first delivery that is due out of the queue; or says how long to wait for
// one; or, with 0, that there is none.
func (j *Jobs) due() (*pending, time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, first := j.o.Now(), time.Duration(0)
	var kept []*pending
	var found *pending
	for _, p := range j.queue {
		switch wait := p.at.Sub(now); {
		case p.job.acked || p.job.watched > 0: // somebody tells it meanwhile
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

// attempt tells one end. What failed is queued again.
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
	j.o.Log.Warn("the end of a background job could not be told", "job", p.record.ID, "attempt", p.attempt, "error", err)
}

func (j *Jobs) shownByTool(b *job) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return b.tool
}

func chance() time.Duration { return time.Duration(rand.IntN(retryJitter)) * time.Millisecond }

// drain waits until the queue is empty, 3 seconds at most.
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
