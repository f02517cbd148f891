package mcp

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A task lasts as long as its job, which may ask for input after any time.
func TestInputIsAwaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		c := entered(t, n)
		f, _ := c.flies("one")
		waits, stop := c.calling().awaitInput(t.Context(), f)
		time.Sleep(24 * time.Hour)
		n.asks <- messages.Record{ID: "j1"}
		job, ok := <-waits
		require.True(t, ok, "nobody waits for it any more")
		require.Equal(t, messages.JobID("j1"), job.ID)
		stop()
	})
}

// A client that declines gets the reply of its run, and no further question, although the
// job waits for input as before.
func TestADeclinedQuestionIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		c := entered(t, n)
		f, _ := c.flies("one")
		close(f.done)
		n.asks = make(chan messages.Record, 1)
		n.asks <- messages.Record{ID: "j1"}
		waits, stop := c.calling().awaitInput(t.Context(), f)
		defer stop()
		synctest.Wait()
		require.Empty(t, waits)
	})
}

// A run whose client was asked for input, and does not come back, is let go of: its end
// is told like any, whether it came before or comes later.
func TestARunWithoutItsClientIsToldLikeAny(t *testing.T) {
	ended := messages.Record{ID: "j1", UID: "one", State: messages.Finished, End: messages.End{Outcome: messages.Exited}}
	for name, c := range map[string]struct{ then, later messages.Record }{
		"it has ended":        {then: ended},
		"it ends later":       {then: messages.Record{ID: "j1", UID: "one", State: messages.Running}, later: ended},
		"it ended in between": {then: messages.Record{ID: "j1", UID: "one", State: messages.Running}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode()
				it := entered(t, n)
				f, cancelled := it.flies("one")
				it.calling().park(f)
				f.job = c.then
				if c.later.ID == "" && !c.then.State.Ended() {
					n.jobs <- []messages.Record{ended}
				}
				close(f.done)
				time.Sleep(parked - time.Second)
				require.Empty(t, it.takeNotices(t.Context()), "its client may come back")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Error(t, cancelled.Err())
				if c.later.ID != "" {
					require.Empty(t, it.takeNotices(t.Context()))
					later := c.later
					later.Scope = it.scope
					n.facts <- messages.CommandFinished{Job: later}
					synctest.Wait()
				}
				told := it.takeNotices(t.Context())
				require.Len(t, told, 1)
				require.Equal(t, messages.UID("one"), told[0].Job.UID)
			})
		})
	}
}
