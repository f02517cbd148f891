package dialect

import (
	"context"
	"errors"
	"time"

	"troupe/messages"
)

// A wait that failed is tried again: soon, since a host is busy for a moment, but not all
// the time.
const (
	againFirst = 100 * time.Millisecond
	againMost  = 10 * time.Second
)

// WaitEnd waits for the end of a job, and gives its record. A wait that fails is no end: as
// long as the job runs it is waited for again. The error is that of ctx, or says why
// there is no record.
func WaitEnd(ctx context.Context, h Host, id messages.JobID) (messages.Job, error) {
	for again := (Backoff{}); ; {
		end, err := h.Await(ctx, messages.WaitJobs{Jobs: []messages.JobID{id}})
		if err == nil && len(end.Jobs) == 1 && end.Jobs[0].State.Ended() {
			return end.Jobs[0], nil
		}
		if ctx.Err() != nil {
			return messages.Job{}, ctx.Err()
		}
		job, err := h.Job(ctx, id)
		switch {
		case err == nil && job.State.Ended():
			return job, nil
		case err != nil && !IsTransient(err):
			return messages.Job{}, err
		}
		if err := again.Wait(ctx); err != nil {
			return messages.Job{}, err
		}
	}
}

// IsTransient says of an error of a host that it may be another the next time: it has too much
// to do.
func IsTransient(err error) bool {
	return errors.Is(err, &messages.Error{Code: messages.Busy}) || errors.Is(err, &messages.Error{Code: messages.ResourceExhausted})
}

// Backoff are the pauses before something that failed is tried again: each is twice the one
// before. The zero Again begins with the first.
type Backoff struct{ last time.Duration }

// Wait waits for the next pause to be over. The error is that of ctx, if it ends before.
func (a *Backoff) Wait(ctx context.Context) error {
	a.last = min(max(2*a.last, againFirst), againMost)
	timer := time.NewTimer(a.last)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
