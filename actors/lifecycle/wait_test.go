package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/messages"
)

// jobs are running ones.
func jobs(ids ...messages.JobID) []messages.Record {
	var out []messages.Record
	for _, id := range ids {
		out = append(out, messages.Record{ID: id, State: messages.Running})
	}
	return out
}

// done is a job that has finished; awaiting one that waits for input.
func done(id messages.JobID) Changed {
	return Changed{messages.Record{ID: id, State: messages.Finished}}
}

func awaiting(id messages.JobID) Changed {
	return Changed{messages.Record{ID: id, State: messages.Running, WaitingForInput: true}}
}

// blocked is a job whose output has waited for room.
func blocked(id messages.JobID) Changed {
	return Changed{messages.Record{ID: id, State: messages.Running, Flags: []messages.Flag{messages.FlagLogBlocked}}}
}

func TestWatchTable(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   messages.ConditionKind
		any    bool
		events []any
		want   string // the end, "" while it waits
	}{
		{"nothing yet", messages.UntilExit, false, nil, ""},
		{"one of two", messages.UntilExit, false, []any{done("a")}, ""},
		{"both", messages.UntilExit, false, []any{done("a"), done("b")}, "satisfied [a b]"},
		{"the default is the exit", "", false, []any{done("b"), done("a")}, "satisfied [b a]"},
		{"any", messages.UntilExit, true, []any{done("b")}, "satisfied [b]"},
		{"a retired one has ended", messages.UntilExit, true, []any{Changed{messages.Record{ID: "a", State: messages.Retired}}}, "satisfied [a]"},
		{"the same one twice", messages.UntilExit, false, []any{done("a"), done("a")}, ""},
		{"time is up", messages.UntilExit, false, []any{done("a"), TimeUp{}}, "timed out [a]"},
		{"input", messages.UntilInput, true, []any{awaiting("b"), InputWaiting{Job: "b"}}, "satisfied [b]"},
		{"input, by an old record", messages.UntilInput, true, []any{awaiting("b")}, ""},
		{"input, before the record", messages.UntilInput, true, []any{InputWaiting{Job: "b"}}, ""},
		{"input was awaited once", messages.UntilInput, false, []any{awaiting("a"), InputWaiting{Job: "a"}, done("a"), awaiting("b"), InputWaiting{Job: "b"}}, "satisfied [a b]"},
		{"no input any more", messages.UntilInput, false, []any{done("a")}, "impossible []"},
		{"the other one may", messages.UntilInput, true, []any{done("a")}, ""},
		{"none can", messages.UntilInput, true, []any{done("a"), done("b")}, "impossible []"},
		{"a port of a job that ended", messages.UntilPort, false, []any{done("a")}, "impossible []"},
		{"no room", messages.UntilBlocked, true, []any{done("b"), blocked("a")}, "satisfied [a]"},
		{"no room for all", messages.UntilBlocked, false, []any{blocked("b"), blocked("a")}, "satisfied [b a]"},
		{"room until the end", messages.UntilBlocked, false, []any{done("a")}, "impossible []"},
		{"a pattern outlives the job", messages.UntilPattern, false, []any{done("a"), done("b")}, ""},
		{"a pattern is found", messages.UntilPattern, false, []any{Met{"a"}, Met{"b"}}, "satisfied [a b]"},
		{"a pattern cannot come", messages.UntilPattern, false, []any{Met{"a"}, Impossible{"b"}}, "impossible [a]"},
		{"a pattern of any", messages.UntilPattern, true, []any{Impossible{"a"}, Met{"b"}}, "satisfied [b]"},
		{"what was found is found", messages.UntilPattern, false, []any{Met{"a"}, Impossible{"a"}}, ""},
		{"silence", messages.UntilQuiet, true, []any{Met{"a"}}, "satisfied [a]"},
	} {
		w := NewWait(messages.WaitJobs{Any: c.any, Condition: messages.Condition{Kind: c.kind}}, jobs("a", "b"))
		w, end := w.Begin()
		for i, e := range c.events {
			if end != nil {
				t.Errorf("%s: it ended before event %d", c.name, i)
			}
			w, end = w.Step(e)
		}
		if got := ending(end); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func ending(e *messages.WaitEnded) string {
	switch {
	case e == nil:
		return ""
	case e.Satisfied:
		return fmt.Sprintf("satisfied %v", e.Met)
	case e.TimedOut:
		return fmt.Sprintf("timed out %v", e.Met)
	}
	return fmt.Sprintf("impossible %v", e.Met)
}

// A wait for what has happened already is over at once.
func TestWatchBegins(t *testing.T) {
	all := jobs("a", "b")
	all[1].State = messages.Retired
	if _, end := NewWait(messages.WaitJobs{Any: true}, all).Begin(); ending(end) != "satisfied [b]" {
		t.Errorf("got %q", ending(end))
	}
	if _, end := NewWait(messages.WaitJobs{}, all).Begin(); end != nil {
		t.Errorf("got %q", ending(end))
	}
	input := messages.WaitJobs{Condition: messages.Condition{Kind: messages.UntilInput}}
	if _, end := NewWait(input, all).Begin(); ending(end) != "impossible []" {
		t.Errorf("got %q", ending(end))
	}
}

// However jobs change: a wait answers once, rightly, as soon as it can, and
// with the records as they were last told. Its jobs are never changed in place.
func TestWatchOfAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := []messages.JobID{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "jobs")]
		ask := messages.WaitJobs{Any: rapid.Bool().Draw(t, "any"), Condition: messages.Condition{
			Kind: rapid.SampledFrom([]messages.ConditionKind{messages.UntilExit, messages.UntilInput, messages.UntilPattern}).Draw(t, "kind"),
		}}
		given := jobs(ids...)
		w, end := NewWait(ask, given).Begin()
		met, lost, last := map[messages.JobID]bool{}, map[messages.JobID]bool{}, slices.Clone(given)
		over := end != nil
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "job")
			event := rapid.SampledFrom([]any{done(id), awaiting(id), Changed{messages.Record{ID: id, State: messages.Running}}, Met{id}, InputWaiting{Job: id}, Impossible{id}, TimeUp{}}).Draw(t, "event")
			before, records := w, slices.Clone(w.jobs)
			if w, end = w.Step(event); !reflect.DeepEqual(before.jobs, records) {
				t.Fatal("a state that was left has changed")
			}
			if over {
				if end != nil {
					t.Fatalf("a second answer: %s", ending(end))
				}
				continue
			}
			tally(ask.Condition.Kind, event, met, lost, last)
			want := verdict(ask.Any, event, ids, met, lost)
			if got := ending(end); (got == "") != (want == "") || got != "" && got[:len(want)] != want {
				t.Fatalf("%q, want %q; met %v, lost %v", got, want, met, lost)
			}
			if over = end != nil; over {
				if len(end.Met) != len(met) || !slices.EqualFunc(end.Jobs, last, func(a, b messages.Record) bool { return a.State == b.State && a.WaitingForInput == b.WaitingForInput }) {
					t.Fatalf("met %v, jobs %+v; want %v, %+v", end.Met, end.Jobs, met, last)
				}
			}
		}
		for _, j := range given {
			if j.State != messages.Running || j.WaitingForInput {
				t.Fatal("the records it was given were changed")
			}
		}
	})
}

// tally is what an event means for a condition.
func tally(kind messages.ConditionKind, event any, met, lost map[messages.JobID]bool, last []messages.Record) {
	switch e := event.(type) {
	case Met:
		met[e.Job] = true
	case InputWaiting:
		for _, j := range last {
			if j.ID == e.Job && j.WaitingForInput {
				met[e.Job] = true
			}
		}
	case Impossible:
		lost[e.Job] = true
	case Changed:
		for i := range last {
			if last[i].ID == e.Job.ID {
				last[i] = e.Job
			}
		}
		switch {
		case kind == messages.UntilExit && e.Job.State.Ended():
			met[e.Job.ID] = true
		case kind == messages.UntilInput && e.Job.State.Ended():
			lost[e.Job.ID] = true
		}
	}
}

// verdict is how a wait must stand.
func verdict(any bool, event any, ids []messages.JobID, met, lost map[messages.JobID]bool) string {
	hopeless := 0
	for _, id := range ids {
		if lost[id] && !met[id] {
			hopeless++
		}
	}
	_, late := event.(TimeUp)
	switch {
	case late:
		return "timed out"
	case any && len(met) > 0, len(met) == len(ids):
		return "satisfied"
	case !any && hopeless > 0, hopeless == len(ids):
		return "impossible"
	}
	return ""
}
