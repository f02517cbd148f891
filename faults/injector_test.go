package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

func plan(t *testing.T, text string) Plan {
	t.Helper()
	p, err := Parse("test", []byte(text))
	require.NoError(t, err)
	return p
}

func starts(n int) (all []Event) {
	for i := range n {
		all = append(all, Event{Point: Start, Job: messages.JobID(fmt.Sprint("j", i+1)), Scope: "main"})
	}
	return all
}

// hits returns the jobs that meet a fault.
func hits(i *Injector, events []Event) (jobs []messages.JobID) {
	for _, e := range events {
		if len(i.On(e)) > 0 {
			jobs = append(jobs, e.Job)
		}
	}
	return jobs
}

func TestOccasions(t *testing.T) {
	for when, want := range map[string][]messages.JobID{
		"nth = 2":              {"j2"},
		"every = 3":            {"j3", "j6"},
		"every = 3\ntimes = 1": {"j3"},
		"times = 2":            {"j1", "j2"},
	} {
		require.Equal(t, want, hits(New(plan(t, "[[rule]]\nwhere=\"start\"\ndo=\"hang\"\n"+when)), starts(7)), when)
	}
}

func TestSelection(t *testing.T) {
	e := Event{Point: Output, Job: "j1", Scope: "a/b", Name: "web-1", Command: "make test", Output: []byte("listening\n")}
	for rule, hit := range map[string]bool{
		`scope="a"`: true, `scope="b"`: false, `job="web-*"`: true, `job="web"`: false, `command="^make"`: true, `command="^test"`: false,
		`match="(?m)^listening$"`: true, `match="ready"`: false,
	} {
		due := New(plan(t, "[[rule]]\nwhere=\"output\"\ndo=\"kill\"\n"+rule)).On(e)
		require.Equal(t, hit, len(due) == 1, rule)
	}
}

// The same seed has the same faults, in whatever order jobs that run at the same time come;
// another seed has others; and about as many as were asked for.
func TestChance(t *testing.T) {
	const rule = "[[rule]]\nwhere=\"start\"\ndo=\"hang\"\nprobability=0.25\n"
	events := starts(2000)
	first := hits(New(plan(t, "seed=1\n"+rule)), events)
	require.InDelta(t, 500, len(first), 80)
	mixed := slices.Clone(events)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] }) //nolint:gosec // any order does
	again := hits(New(plan(t, "seed=1\n"+rule)), mixed)
	require.ElementsMatch(t, first, again)
	require.NotEqual(t, first, hits(New(plan(t, "seed=2\n"+rule)), events))
}

// Each event of a job has a chance of its own, and faults are numbered by rule.
func TestEventsOfOneJob(t *testing.T) {
	i := New(plan(t, "seed=3\n[[rule]]\nwhere=\"input\"\ndo=\"drop\"\nprobability=0.5\n[[rule]]\nwhere=\"input\"\ndo=\"duplicate\"\nevery=2\n"))
	var dropped, doubled []Fault
	for range 100 {
		for _, f := range i.On(Event{Point: Input, Job: "j1"}) {
			if f.Do == Drop {
				dropped = append(dropped, f)
			} else {
				doubled = append(doubled, f)
			}
		}
	}
	require.Len(t, doubled, 50)
	require.InDelta(t, 50, len(dropped), 25)
	for n, f := range dropped {
		require.Equal(t, n+1, f.Number)
	}
}

// What is counted of jobs is bounded, and goes on from stored counts.
func TestCountsAreBounded(t *testing.T) {
	p := plan(t, "[[rule]]\nwhere=\"start\"\ndo=\"hang\"\nnth=10002\n")
	i := New(p)
	require.Empty(t, hits(i, starts(10_001)))
	require.Len(t, i.nth, maxJobs)
	again := New(p)
	again.Continue(i.Counts())
	require.Equal(t, []messages.JobID{"j1"}, hits(again, starts(1)))
	require.Len(t, again.nth, maxJobs)
}
