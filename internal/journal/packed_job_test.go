package journal_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/journal"
	"troupe/messages"
)

// Of the facts about one job a journal in memory holds once what they have in common:
// it gives them back as they were all the same.
func TestMemoryGivesBackWhatItPacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := journal.NewMemory(0)
		job := messages.Job{ID: "j1", UID: "u1"}
		var told []messages.FactRecorded
		for range rapid.IntRange(1, 8).Draw(t, "facts") {
			of := reflect.ValueOf(&job).Elem()
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				i := rapid.IntRange(2, of.NumField()-1).Draw(t, "field")
				fill(t, of.Field(i))
			}
			fact := rapid.SampledFrom(everyFact).Draw(t, "fact")
			if about, is := fact.(messages.CommandFact); is {
				fact = about.With(job).(messages.Fact)
			}
			told = append(told, messages.FactRecorded{Seq: messages.Seq(len(told) + 1), Fact: fact})
			fine(t, m.Append(told[len(told)-1:]))
		}
		got, err := m.Read(0, len(told))
		fine(t, err)
		if !reflect.DeepEqual(got, told) {
			t.Fatalf("read %+v, want %+v", got, told)
		}
	})
}

// Every field of a record is packed, alone and among others.
func TestMemoryPacksEveryField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := messages.Job{}
		fill(t, reflect.ValueOf(&full).Elem())
		full.ID = "j1"
		for i := range reflect.TypeFor[messages.Job]().NumField() {
			job := messages.Job{ID: "j1"}
			reflect.ValueOf(&job).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
			m := journal.NewMemory(0)
			told := []messages.FactRecorded{{Seq: 1, Fact: messages.CommandChanged{Job: full}}, {Seq: 2, Fact: messages.CommandChanged{Job: job}}}
			fine(t, m.Append(told))
			got, err := m.Read(0, 2)
			fine(t, err)
			if !reflect.DeepEqual(got, told) {
				t.Fatalf("%s: read %+v, want %+v", reflect.TypeFor[messages.Job]().Field(i).Name, got, told)
			}
		}
	})
}

func fine(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}
