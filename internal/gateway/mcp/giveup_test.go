package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/messages"
)

// held is a host whose runs last until they are given up, and which then says of their
// job what the test says.
type held struct {
	*node
	begun chan messages.UID
	job   messages.Record
	err   error
}

func (h *held) Run(ctx context.Context, r messages.RunCommand, _ int, _ func(messages.JobID)) (messages.Record, Text, error) {
	h.begun <- r.UID
	<-ctx.Done()
	return messages.Record{}, Text{}, ctx.Err()
}

func (h *held) Job(_ context.Context, id messages.JobID) (messages.Record, error) {
	job := h.job
	job.UID = messages.UID(id)
	return job, h.err
}

// The end of a job whose call was cancelled is told like any, once, whether it came
// before anybody listened or comes later; of one that never began nothing is told, and
// nothing is kept.
func TestTheEndOfACancelledCallIsToldOnce(t *testing.T) {
	ended := messages.Record{ID: "j1", State: messages.Finished, End: messages.End{Outcome: messages.Cancelled}}
	for name, c := range map[string]struct {
		job    messages.Record
		err    error
		listed bool // the end was missed, and is among the jobs
		later  bool
		told   int
	}{
		"it has ended":          {job: ended, told: 1},
		"it ends later":         {job: messages.Record{ID: "j1", State: messages.Running}, later: true, told: 1},
		"it ended in between":   {job: messages.Record{ID: "j1", State: messages.Running}, listed: true, told: 1},
		"it never began":        {err: &messages.Error{Code: messages.NotFound}, later: true},
		"the host was not here": {err: errors.New("no daemon"), later: true, told: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &held{node: newNode(), begun: make(chan messages.UID, 1), job: c.job, err: c.err}
				it := enteredAt(t, h)
				ctx, cancel := context.WithCancel(t.Context())
				call, answered := it.calling(), make(chan error, 1)
				go func() {
					_, err := call.run(ctx, core.Run{Command: "sleep 9"})
					answered <- err
				}()
				end := ended
				end.UID, end.Scope = <-h.begun, it.scope
				if c.listed {
					h.jobs <- []messages.Record{end}
				}
				cancel()
				require.ErrorIs(t, <-answered, context.Canceled)
				if c.later {
					it.handle(messages.CommandFinished{Job: end})
				}
				told := it.takeNotices(t.Context())
				require.Len(t, told, c.told)
				it.handle(messages.CommandFinished{Job: end})
				require.Empty(t, it.takeNotices(t.Context()), "it was told")
				require.Empty(t, it.backgroundJobs)
				require.Equal(t, c.told == 1 && !c.job.State.Ended(), it.events.covers(false), "it listens where an end is to come")
			})
		})
	}
}

// waiting is a host whose runs wait for their turn until they are told to go on in the
// background.
type waiting struct {
	*node
	promoted chan messages.JobID
}

func (w *waiting) Run(ctx context.Context, r messages.RunCommand, _ int, _ func(messages.JobID)) (messages.Record, Text, error) {
	select {
	case id := <-w.promoted:
		return messages.Record{ID: "j1", UID: messages.UID(id), State: messages.Queued, Background: true}, Text{}, nil
	case <-ctx.Done():
		return messages.Record{}, Text{}, ctx.Err()
	}
}

func (w *waiting) Promote(_ context.Context, id messages.JobID) (messages.Record, error) {
	w.promoted <- id
	return messages.Record{}, nil
}

// A run in the background that does not begin is no call that does not end.
func TestABackgroundRunThatWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{newNode(), make(chan messages.JobID, 1)}
		began := time.Now()
		a, err := enteredAt(t, w).calling().run(t.Context(), core.Run{Command: "serve", Background: true})
		require.NoError(t, err)
		require.Equal(t, startsWithin, time.Since(began))
		out := a.result.(*core.RunResult)
		require.Equal(t, "queued", out.State)
		require.Contains(t, out.Note, "it starts by itself")
	})
}
