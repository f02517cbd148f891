package journal_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// all is what a journal offers to a node.
type all interface {
	journal.Store
	journal.Writer
	journal.Jobs
	journal.Outbox
	journal.SessionEnds
	journal.Origins
}

var (
	_ all = (*journal.Memory)(nil)
	_ all = (*journal.Bolt)(nil)
)

// each runs a test with every journal.
func each(t *testing.T, test func(t *testing.T, j all)) {
	t.Run("memory", func(t *testing.T) { test(t, journal.NewMemory(0)) })
	t.Run("bolt", func(t *testing.T) { test(t, bolt(t, place(t), journal.BoltOptions{})) })
}

// place is where a journal may be.
func place(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "journal.db") }

func bolt(t testing.TB, path string, o journal.BoltOptions) *journal.Bolt {
	t.Helper()
	b, err := journal.OpenBolt(path, o)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

// began is when the tests did: what they record is not too old.
var began = time.Now().UTC().Round(0)

// first returns the number of the oldest fact; 0 if there is none.
func first(t testing.TB, j journal.Store) messages.Seq {
	t.Helper()
	facts, err := j.Read(0, 1)
	must(t, err)
	if len(facts) == 0 {
		return 0
	}
	return facts[0].Seq
}

// entry returns the one job that a restart finds for which is holds; zero if there is none.
func entry(t testing.TB, j journal.Jobs, is func(journal.Entry) bool) (e journal.Entry) {
	t.Helper()
	live, err := j.Live()
	must(t, err)
	over, err := j.Finished(0, 10_000)
	must(t, err)
	all := slices.DeleteFunc(append(live, over...), func(e journal.Entry) bool { return !is(e) })
	if len(all) > 1 {
		t.Errorf("%d jobs instead of one: %+v", len(all), all)
	}
	if len(all) > 0 {
		e = all[0]
	}
	return e
}

func byID(t testing.TB, j journal.Jobs, id messages.JobID) journal.Entry {
	t.Helper()
	return entry(t, j, func(e journal.Entry) bool { return e.Job.ID == id })
}

func byKey(t testing.TB, j journal.Jobs, principal messages.Principal, key string) journal.Entry {
	t.Helper()
	return entry(t, j, func(e journal.Entry) bool { return e.Key.Principal == principal && e.Key.Key == key })
}

// aJob is a record as a usual job has it at its end.
func aJob(id messages.JobID) messages.Record {
	at := began
	return messages.Record{
		ID: id, UID: messages.UID("01JD" + fmt.Sprintf("%022s", id)), Scope: "main", Session: "default",
		Command: "go test ./... -run TestHouse", Mode: messages.ModeSync, Backend: "pipe", State: messages.Finished,
		End: messages.End{Outcome: messages.Exited, At: at, Rusage: messages.Rusage{User: time.Millisecond, System: time.Millisecond, MaxRSS: 9000}, Code: new(0)}, PID: 4242, StartTime: 123456, Isolation: messages.InCgroup, Dir: "/src/project",
		Created: at, Started: at,
		Output: []messages.StreamOutput{{Bytes: 1234, Lines: new(int64(12)), LinesExact: true}},
	}
}

// life are the facts of a job that runs alone, from a number on.
func life(id messages.JobID, from messages.Seq) []messages.FactRecorded {
	return number(from, start(id), end(id), retire(id))
}

func start(id messages.JobID) messages.Fact {
	j := aJob(id)
	j.State, j.End.Outcome, j.End.At = messages.Running, "", time.Time{}
	return messages.CommandStarted{Job: j}
}
func end(id messages.JobID) messages.Fact { return messages.CommandFinished{Job: aJob(id)} }

func retire(id messages.JobID) messages.Fact {
	j := aJob(id)
	j.State = messages.Retired
	return messages.CommandRetired{Job: j}
}

func number(from messages.Seq, facts ...messages.Fact) []messages.FactRecorded {
	var out []messages.FactRecorded
	for i, f := range facts {
		out = append(out, messages.FactRecorded{Seq: from + messages.Seq(i), Fact: f})
	}
	return out
}

func jobID(n int) messages.JobID { return messages.JobID(fmt.Sprintf("j%d", n)) }

func ids(t testing.TB, entries []journal.Entry, err error) string {
	t.Helper()
	must(t, err)
	var out []messages.JobID
	for _, e := range entries {
		out = append(out, e.Job.ID)
	}
	return fmt.Sprint(out)
}

// facts are those numbered from to to; each carries its number in its record.
func facts(from, to messages.Seq) []messages.FactRecorded {
	var out []messages.FactRecorded
	for n := from; n <= to; n++ {
		out = append(out, messages.FactRecorded{Seq: n, Fact: messages.CommandQueued{Job: messages.Record{Seq: n}}})
	}
	return out
}

func numbers(t testing.TB, s journal.Store, after messages.Seq, limit int) string {
	t.Helper()
	got, err := s.Read(after, limit)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []messages.Seq
	for _, f := range got {
		if inside := f.Fact.(messages.CommandQueued).Job.Seq; inside != f.Seq {
			t.Fatalf("fact %d is under the number %d", inside, f.Seq)
		}
		seqs = append(seqs, f.Seq)
	}
	return fmt.Sprint(seqs)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
