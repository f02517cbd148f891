package lifecycle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// conditions is a StartConditions whose jobs have their ids as ULIDs.
type conditions struct {
	StartConditions
	t *testing.T
}

func newConditions(t *testing.T) *conditions {
	return &conditions{NewStartConditions(map[string]int{"build": 1, "wide": 2}), t}
}

// names returns the jobs of effects: "j1" may start, "!j1" never can.
func names(todo []ConditionEffect) (all []string) {
	for _, e := range todo {
		name := string(e.Job)
		if e.Err != nil {
			name = "!" + name
		}
		all = append(all, name)
	}
	return all
}

func (c *conditions) add(job, scope string, w messages.StartWaits) []string {
	return names(c.Add(messages.JobID(job), messages.ScopePath(scope), w, w.After, nil))
}

func (c *conditions) ends(job string, code int) []string {
	return names(c.Ended(messages.JobID(job), messages.UID(job), messages.End{Outcome: messages.Exited, Code: &code}))
}

// behind returns what a job waits for.
func (c *conditions) behind(job string) (all []messages.JobID) {
	for _, w := range c.For(messages.JobID(job), c.Order(), func(uid messages.JobID) messages.JobID { return uid }) {
		all = append(all, w.Jobs...)
	}
	return all
}

func lock(name string) messages.StartWaits {
	return messages.StartWaits{Locks: []messages.Lock{{Name: name}}}
}

func afterEnds(jobs ...messages.After) messages.StartWaits { return messages.StartWaits{After: jobs} }

func TestALockHasOneHolder(t *testing.T) {
	c := newConditions(t)
	require.Equal(t, []string{"j1"}, c.add("j1", "a", lock("db")))
	require.Empty(t, c.add("j2", "a", lock("db")))
	require.Empty(t, c.add("j3", "a", lock("db")))
	require.Equal(t, []string{"j4"}, c.add("j4", "a", lock("other")))
	require.Equal(t, []messages.JobID{"j1", "j2"}, c.behind("j3"))
	require.Equal(t, []string{"j2"}, c.ends("j1", 137))
	require.Empty(t, c.ends("j3", 130)) // stopped as it waits
	require.Empty(t, c.ends("j2", 0))
	require.Equal(t, []string{"j5"}, c.add("j5", "a", lock("db")))
}

func TestALockHasPlaces(t *testing.T) {
	c := newConditions(t)
	two := messages.StartWaits{Locks: []messages.Lock{{Name: "gpu", Places: 2}}}
	require.Equal(t, []string{"j1"}, c.add("j1", "a", two))
	require.Equal(t, []string{"j2"}, c.add("j2", "a", two))
	require.Empty(t, c.add("j3", "a", two))
	require.Equal(t, []string{"j3"}, c.ends("j1", 0))
}

func TestJobsAfterOthers(t *testing.T) {
	c := newConditions(t)
	ok, anyEnd, fail := messages.After{Job: "j1"}, messages.After{Job: "j1", On: messages.AfterAny}, messages.After{Job: "j1", On: messages.AfterFail}
	for i, a := range []messages.After{ok, anyEnd, fail} {
		require.Empty(t, c.add(fmt.Sprint("ok", i), "a", afterEnds(a)))
	}
	require.Empty(t, c.add("both", "a", afterEnds(ok, messages.After{Job: "j2"})))
	require.Equal(t, []string{"!ok2", "ok0", "ok1"}, c.ends("j1", 0))
	waits, why := c.Waits("ok2")
	require.True(t, waits)
	require.True(t, errors.Is(why, &messages.Error{Code: messages.Refused, Reason: "after"}))
	require.Equal(t, []messages.JobID{"j2"}, c.behind("both"))
	require.Equal(t, []string{"!both"}, c.ends("j2", 1))
}

// A job that names another twice waits for it once, and fails once.
func TestTheSameJobTwice(t *testing.T) {
	c := newConditions(t)
	ok, anyEnd := messages.After{Job: "j1"}, messages.After{Job: "j1", On: messages.AfterAny}
	require.Empty(t, c.add("twice", "a", afterEnds(ok, anyEnd)))
	require.Equal(t, []string{"twice"}, c.ends("j1", 0))
	require.Empty(t, c.add("both", "a", afterEnds(messages.After{Job: "j2"}, messages.After{Job: "j2", On: messages.AfterOK})))
	require.Equal(t, []string{"!both"}, c.ends("j2", 1))
}

// A search for a cycle ends, however many ways lead to a job.
func TestCyclesOfManyWays(t *testing.T) {
	c := newConditions(t)
	const steps = 60
	for n := range steps { // two jobs wait for each two before
		var w []messages.After
		if n > 0 {
			w = []messages.After{{Job: messages.JobID(fmt.Sprint("a", n-1))}, {Job: messages.JobID(fmt.Sprint("b", n-1))}}
		} else {
			w = []messages.After{{Job: "first"}}
		}
		require.Empty(t, c.add(fmt.Sprint("a", n), "a", afterEnds(w...)))
		require.Empty(t, c.add(fmt.Sprint("b", n), "a", afterEnds(w...)))
	}
	id := func(uid messages.JobID) messages.JobID { return uid }
	last := afterEnds(messages.After{Job: messages.JobID(fmt.Sprint("a", steps-1))})
	require.False(t, c.LeadsTo(last, "caller", "caller", id))
	require.True(t, c.LeadsTo(last, "first", "first", id))
}

// Scopes take turns, a higher priority goes first, and within a scope the order is that of the requests.
func TestTurnsOfConditions(t *testing.T) {
	c := newConditions(t)
	queue := func(priority int) messages.StartWaits {
		return messages.StartWaits{Queue: "build", Priority: priority}
	}
	require.Equal(t, []string{"a1"}, c.add("a1", "a", queue(0)))
	for _, job := range []string{"a2", "a3", "b1", "b2"} {
		require.Empty(t, c.add(job, job[:1], queue(0)))
	}
	require.Empty(t, c.add("a9", "a", queue(9)))
	var order []string
	for last := "a1"; last != ""; {
		next := c.ends(last, 0)
		last = ""
		if len(next) > 0 {
			last = next[0]
			order = append(order, last)
		}
	}
	require.Equal(t, []string{"a9", "b1", "a2", "b2", "a3"}, order)
}

// A job that needs two locks is not overtaken for ever by those that need one of them.
func TestNoOneStarves(t *testing.T) {
	c := newConditions(t)
	both := messages.StartWaits{Locks: []messages.Lock{{Name: "x"}, {Name: "y"}}}
	require.Equal(t, []string{"j1"}, c.add("j1", "a", lock("x")))
	require.Empty(t, c.add("j2", "a", both))
	require.Empty(t, c.add("j3", "a", lock("y")), "y is free, and j2 is first")
	require.Equal(t, []string{"j2"}, c.ends("j1", 0))
	require.Equal(t, []string{"j3"}, c.ends("j2", 0))
}

// What holds after a restart holds, and a job that waits is told of cycles.
func TestHoldersAndCycles(t *testing.T) {
	c := newConditions(t)
	c.Hold("j1", lock("db"))
	require.Empty(t, c.add("j2", "a", lock("db")))
	id := func(uid messages.JobID) messages.JobID { return uid }
	require.True(t, c.LeadsTo(lock("db"), "j1", "j1", id))
	require.False(t, c.LeadsTo(lock("db"), "j9", "j9", id))
	require.True(t, c.LeadsTo(afterEnds(messages.After{Job: "j2"}), "j1", "j1", id), "j2 waits for the lock of j1")
	require.True(t, c.LeadsTo(afterEnds(messages.After{Job: "j1"}), "j1", "j1", id))
	require.Error(t, c.Check(messages.StartWaits{Queue: "none"}))
	require.Nil(t, c.Check(messages.StartWaits{Queue: "wide"}))
}

// Whatever comes: no lock or queue has more holders than places, and when all have ended, no one
// waits.
func TestConditionsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // it is to be the same again
	for range 200 {
		c := newConditions(t)
		var running []messages.JobID
		take := func(todo []ConditionEffect) {
			for _, e := range todo {
				if e.Err == nil {
					running = append(running, e.Job)
					continue
				}
				take2 := c.Ended(e.Job, messages.UID(e.Job), messages.End{Outcome: messages.FailedToStart})
				for _, f := range take2 {
					running = append(running, f.Job)
				}
			}
		}
		for n := range 60 {
			w := messages.StartWaits{}
			if rng.IntN(2) == 0 {
				w.Locks = append(w.Locks, messages.Lock{Name: string(rune('x' + rng.IntN(2))), Places: 1 + rng.IntN(2)})
			}
			if rng.IntN(3) == 0 {
				w.Queue = []string{"build", "wide"}[rng.IntN(2)]
			}
			if len(running) > 0 && rng.IntN(3) == 0 {
				w.After = []messages.After{{Job: running[rng.IntN(len(running))], On: messages.AfterAny}}
			}
			id := messages.JobID(fmt.Sprint("j", n))
			take(c.Add(id, messages.ScopePath(fmt.Sprint(rng.IntN(3))), w, w.After, nil))
			if len(running) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(running))
				ended := running[i]
				running = slices.Delete(running, i, i+1)
				take(c.Ended(ended, messages.UID(ended), messages.End{Outcome: messages.Signaled, Signal: "KILL"}))
			}
			require.LessOrEqual(t, len(c.holders[resource{queue: true, name: "build"}]), 1)
			require.LessOrEqual(t, len(c.holders[resource{name: "x"}]), 2)
		}
		for len(running) > 0 {
			ended := running[0]
			running = running[1:]
			take(c.Ended(ended, messages.UID(ended), messages.End{Outcome: messages.Cancelled}))
		}
		require.Empty(t, c.Order())
		require.Empty(t, c.holders)
	}
}
