package journal_test

import (
	"reflect"
	"testing"

	"troupe/internal/journal"
	"troupe/messages"
)

// A small output stays with the record of its job: over the end of the journal, and
// as long as that; of another job it is let go.
func TestBoltOutputs(t *testing.T) {
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{})
	uid := aJob("j1").UID
	want := []journal.Output{
		{Job: "j1", UID: uid, Stream: 1, Data: []byte("a\x00\xff")}, {Job: "j1", UID: uid, Stream: 2, Data: []byte("b")},
	}
	batch := journal.Batch{Facts: life("j1", 1), Outputs: append([]journal.Output{
		{Job: "j1", UID: uid, Stream: 1, Data: []byte("old")},
		{Job: "j1", UID: "another", Stream: 1, Data: []byte("x")},
		{Job: "j9", UID: "none", Data: []byte("x")},
	}, want...)}
	must(t, b.Write(batch))
	must(t, b.Write(batch)) // one that seemed to fail is given again
	b = reopen(t, b, path, journal.BoltOptions{})
	got, err := b.Outputs(uid)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, id := range []messages.UID{"another", "none", ""} {
		if got, err := b.Outputs(id); len(got) > 0 || err != nil {
			t.Errorf("of %q: %+v, %v", id, got, err)
		}
	}
	must(t, b.Write(journal.Batch{Removed: []messages.JobID{"j1"}}))
	if got, err := b.Outputs(uid); len(got) > 0 || err != nil {
		t.Errorf("of a job that is forgotten: %+v, %v", got, err)
	}
	must(t, b.Close())
}
