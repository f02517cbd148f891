package dialect

import (
	"context"
	"errors"
	"time"

	"troupe/host"
	"troupe/messages"
)

// Bounds of the pauses between retries. The first is short: a host is usually busy for a
// moment only.
const (
	againFirst = 100 * time.Millisecond
	againMost  = 10 * time.Second
)

// WaitEnd waits for the end of a job and returns its record. It repeats a wait that failed
// as long as the job runs. The error is that of ctx, or says why there is no record.
func WaitEnd(ctx context.Context, h Host, id messages.JobID) (messages.Record, error) {
	for again := (Backoff{}); ; {
		end, err := host.Ask(ctx, h, messages.WaitJobs{Jobs: []messages.JobID{id}})
		if err == nil && len(end.Jobs) == 1 && end.Jobs[0].State.Ended() {
			return end.Jobs[0], nil
		}
		if ctx.Err() != nil {
			return messages.Record{}, ctx.Err()
		}
		job, err := Job(ctx, h, id)
		switch {
		case err == nil && job.State.Ended():
			return job, nil
		case err != nil && !IsTransient(err):
			return messages.Record{}, err
		}
		if err := again.Wait(ctx); err != nil {
			return messages.Record{}, err
		}
	}
}

// IsTransient reports whether a host's error may go away: the host was overloaded.
func IsTransient(err error) bool {
	return errors.Is(err, &messages.Error{Code: messages.Busy}) || errors.Is(err, &messages.Error{Code: messages.ResourceExhausted})
}

// Backoff waits between retries. Each pause is twice as long as the one before, up to a
// limit. The zero Backoff starts with the shortest.
type Backoff struct{ last time.Duration }

// Wait waits for the next pause. The error is that of ctx, if ctx ends first.
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
