package dialect_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// waited is a host with one job, of which a test says what is answered.
type waited struct {
	dialect.Host
	await func() (messages.WaitEnded, error)
	job   func() (messages.Record, error)
}

func (h waited) Do(_ context.Context, r messages.Refusable) (any, error) {
	if _, waits := r.(messages.WaitJobs); waits {
		return host.Reply(h.await())
	}
	job, err := h.job()
	return messages.JobFound{Job: job}, err
}

var (
	running  = messages.Record{State: messages.Running}
	finished = messages.Record{State: messages.Finished, End: messages.End{Outcome: messages.Exited}}
	busy     = &messages.Error{Code: messages.Busy, Message: "too many questions"}
)

// A wait that fails is no end: the job is looked at, and waited for again.
func TestTheEndOfAJobIsItsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		refused := waited{
			await: func() (messages.WaitEnded, error) {
				if asked++; asked < 20 {
					return messages.WaitEnded{Jobs: []messages.Record{running}}, busy
				}
				return messages.WaitEnded{Satisfied: true, Jobs: []messages.Record{finished}}, nil
			},
			job: func() (messages.Record, error) {
				if asked%2 == 0 {
					return messages.Record{}, busy
				}
				return running, nil
			},
		}
		began := time.Now()
		job, err := dialect.WaitEnd(t.Context(), refused, "j")
		require.NoError(t, err)
		require.Equal(t, finished, job)
		require.Equal(t, 20, asked)
		require.Less(t, time.Since(began), 10*time.Minute)
		require.Greater(t, time.Since(began), 10*time.Second, "it does not ask all the time")

		idle := waited{await: func() (messages.WaitEnded, error) { return messages.WaitEnded{}, nil }, job: refused.job}
		asked = 1
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		_, err = dialect.WaitEnd(ctx, idle, "j")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestTheEndOfAJobThatIsGoneIsNotKnown(t *testing.T) {
	gone := errors.New("the host has gone")
	h := waited{
		await: func() (messages.WaitEnded, error) { return messages.WaitEnded{}, gone },
		job:   func() (messages.Record, error) { return messages.Record{}, gone },
	}
	_, err := dialect.WaitEnd(t.Context(), h, "j")
	require.ErrorIs(t, err, gone)
	h.job = func() (messages.Record, error) { return finished, nil }
	job, err := dialect.WaitEnd(t.Context(), h, "j")
	require.NoError(t, err)
	require.Equal(t, finished, job)
}
