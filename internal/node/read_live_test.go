package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends"
	"troupe/messages"
)

// liveEngine answers with the live states that it has, or, without any, not before the caller has
// lost patience.
type liveEngine struct {
	backends.Engine
	states map[messages.UID]messages.LiveState
	asked  chan []messages.UID
}

func (e liveEngine) ReadLive(ctx context.Context, jobs []messages.UID) map[messages.UID]messages.LiveState {
	e.asked <- jobs
	if e.states == nil {
		<-ctx.Done()
	}
	return e.states
}

func liveNode(e liveEngine) *Node {
	return &Node{parts: components{engine: e}, liveReads: make(chan struct{}, liveAtOnce)}
}

// A job that has processes has its live state, which is newer than its record. The others are not
// asked for.
func TestReadLive(t *testing.T) {
	t.Parallel()
	e := liveEngine{asked: make(chan []messages.UID, 1), states: map[messages.UID]messages.LiveState{
		"input": {Awaiting: messages.AwaitsInput, Processes: 1}, "secret": {Awaiting: messages.AwaitsSecret, Processes: 2}, "goes on": {Awaiting: messages.AwaitsNothing},
		"unknown": {Processes: 3}, "left": {Processes: 1},
	}}
	live := func(id messages.UID, s messages.State, waits bool) messages.Record {
		return messages.Record{UID: id, PID: 7, State: s, WaitingForInput: waits}
	}
	jobs := []messages.Record{
		live("input", messages.Running, false), live("secret", messages.Running, false), live("goes on", messages.Running, true), live("unknown", messages.Running, true),
		live("left", messages.Finished, false), live("ended", messages.Retired, false),
		{UID: "queued", State: messages.Queued},
		live("late", messages.Running, false),
	}
	liveNode(e).ReadLive(t.Context(), jobs)
	require.ElementsMatch(t, []messages.UID{"input", "secret", "goes on", "unknown", "left", "late"}, <-e.asked)
	for i, want := range []struct{ read, waits, secret bool }{
		{true, true, false}, {true, true, true}, {true, false, false}, {true, true, false}, {true, false, false}, {}, {}, {},
	} {
		require.Equal(t, want.read, jobs[i].Live != nil, jobs[i].UID)
		require.Equal(t, want.waits, jobs[i].WaitingForInput, jobs[i].UID)
		require.Equal(t, want.secret, jobs[i].WaitingForSecret, jobs[i].UID)
	}
	require.Equal(t, 2, jobs[1].Live.Processes)
}

// An engine that does not answer costs a second, also those that wait for their turn.
func TestReadLiveIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := liveEngine{asked: make(chan []messages.UID, 9)}
		n, began, done := liveNode(e), time.Now(), make(chan struct{})
		for range cap(e.asked) {
			go func() {
				jobs := []messages.Record{{UID: "J", PID: 7, State: messages.Running}}
				n.ReadLive(context.Background(), jobs)
				if jobs[0].Live != nil {
					t.Errorf("%+v", jobs[0].Live)
				}
				done <- struct{}{}
			}()
		}
		for range cap(e.asked) {
			<-done
		}
		require.Equal(t, liveTimeout, time.Since(began))
	})
}
