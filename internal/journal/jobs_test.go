package journal_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/journal"
	"troupe/messages"
)

func TestJobsAreFound(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		named := func(f messages.Fact, name string) messages.Fact {
			job := f.(messages.CommandFact).Record()
			job.Name = name
			return f.(messages.CommandFact).With(job).(messages.Fact)
		}
		must(t, j.Append(number(1,
			named(start("j1"), "make"), named(start("j2"), "make"), start("j12"),
			named(end("j2"), "make"), named(retire("j2"), "make"), retire("j12"))))
		for _, id := range []messages.JobID{"j1", "j2", "j12"} {
			if e := byID(t, j, id); e.Job.UID != aJob(id).UID {
				t.Errorf("%s has the ULID %s", id, e.Job.UID)
			}
		}
		if e := byID(t, j, "j3"); e.Job.ID != "" {
			t.Errorf("a job that never was: got %+v", e)
		}
		e := byID(t, j, "j2")
		if e.Job.State != messages.Retired || e.Job.Seq != 5 {
			t.Errorf("j2 is %s as of fact %d", e.Job.State, e.Job.Seq)
		}
		if n, _ := j.LastJobNumber(); n != 12 {
			t.Errorf("the last number is %d, want 12", n)
		}
	})
}

func TestJobsInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		for n := 1; n <= 5; n++ {
			must(t, j.Append(number(messages.Seq(n), start(jobID(n)))))
		}
		must(t, j.Append(number(6, end("j4"), retire("j4"), end("j2"), retire("j5"), retire("j2"))))
		all, err := j.Live()
		if got := ids(t, all, err); got != "[j1 j3]" {
			t.Errorf("live are %s", got)
		}
		var seen []string
		for before := messages.Seq(0); ; {
			page, err := j.Finished(before, 2)
			if len(page) == 0 {
				break
			}
			seen = append(seen, ids(t, page, err))
			before = page[len(page)-1].Over
		}
		if got := fmt.Sprint(seen); got != "[[j2 j5] [j4]]" {
			t.Errorf("over are %s", got)
		}
		// What is said of a job behind its last word changes nothing.
		must(t, j.Append(number(11, start("j4"))))
		if e := byID(t, j, "j4"); e.Job.State != messages.Retired {
			t.Errorf("j4 is %s again", e.Job.State)
		}
	})
}

func TestJobsHaveKeys(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		k := journal.Key{Job: "j1", Principal: "ann", Key: "k", Digest: "d"}
		other := journal.Key{Job: "j2", Principal: "bob", Key: "k", Digest: "e"}
		must(t, j.Write(journal.Batch{Facts: life("j1", 1), Keys: []journal.Key{k, {Job: "j9", Key: "k"}}}))
		must(t, j.Write(journal.Batch{Facts: life("j2", 4), Keys: []journal.Key{k, other}}))
		for _, want := range []journal.Key{k, other} {
			if e := byKey(t, j, want.Principal, "k"); e.Key != want || e.Job.ID != want.Job {
				t.Errorf("got %+v of %s, want %+v", e.Key, e.Job.ID, want)
			}
		}
		if e := byKey(t, j, "", "k"); e.Job.ID != "" {
			t.Errorf("the key of a job that is not there: got %s", e.Job.ID)
		}
		must(t, j.Write(journal.Batch{Removed: []messages.JobID{"j1", "j9"}}))
		if e := byKey(t, j, "ann", "k"); e.Job.ID != "" {
			t.Errorf("the key of a job that was removed: got %s", e.Job.ID)
		}
		// A key that is given to another job is that job's alone.
		must(t, j.Write(journal.Batch{Facts: life("j3", 7), Keys: []journal.Key{{Job: "j3", Principal: "bob", Key: "k"}}}))
		if e := byKey(t, j, "bob", "k"); e.Job.ID != "j3" {
			t.Errorf("got %s, want j3", e.Job.ID)
		}
		if e := byID(t, j, "j2"); e.Key != (journal.Key{}) {
			t.Errorf("j2 still has %+v", e.Key)
		}
	})
}

func TestJobsAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		must(t, j.Append(append(life("j1", 1), number(4, start("j2"), end("j2"))...)))
		must(t, j.Write(journal.Batch{Removed: []messages.JobID{"j1", "j2"}}))
		if e := byID(t, j, "j1"); e.Job.ID != "" {
			t.Errorf("j1: got %+v", e)
		}
		if e := byID(t, j, "j2"); e.Job.ID != "j2" {
			t.Errorf("j2, which is not over: got %+v", e)
		}
		if n, _ := j.LastJobNumber(); n != 2 {
			t.Errorf("the last number is %d, want 2", n)
		}
	})
}

func TestOutboxRemembers(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		a := journal.Channel{ID: "a", Filter: messages.Filter{Scope: "main", Job: "j1", Ends: true}, Window: 9, Acked: 2}
		ack := func(id messages.ChannelID, n messages.Seq) {
			t.Helper()
			must(t, j.Write(journal.Batch{Acks: []messages.Acknowledge{{Channel: id, Seq: n}}}))
		}
		want := func(want ...journal.Channel) {
			t.Helper()
			got, err := j.Channels()
			must(t, err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		must(t, j.Write(journal.Batch{Facts: facts(1, 9), Channels: []journal.Channel{a, {ID: "b", Acked: 99}}}))
		want(a, journal.Channel{ID: "b", Acked: 9}) // a number that never was is none
		ack("a", 5)
		ack("a", 3) // late
		ack("z", 3) // of a channel that nobody knows
		a.Acked = 5
		want(a, journal.Channel{ID: "b", Acked: 9})
		ack("a", 99)
		a.Acked = 9
		want(a, journal.Channel{ID: "b", Acked: 9})
		a.Acked = 1 // it begins anew
		must(t, j.Write(journal.Batch{Channels: []journal.Channel{a}, Left: []messages.ChannelID{"b", "z"}}))
		want(a)
	})
}

func TestOutboxIsBounded(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		var b journal.Batch
		for n := range journal.DefaultChannels {
			b.Channels = append(b.Channels, journal.Channel{ID: messages.ChannelID(fmt.Sprintf("c%04d", n))})
		}
		must(t, j.Write(b))
		must(t, j.Write(journal.Batch{Channels: []journal.Channel{{ID: "new"}}}))
		got, err := j.Channels()
		must(t, err)
		if len(got) != journal.DefaultChannels || got[len(got)-1].ID != "new" {
			t.Errorf("%d channels are remembered", len(got))
		}
	})
}

// Names of any length and bytes are names.
func TestJobsOfOddNames(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		names := []string{"a", "a\x00", "\x00", "\xff\xff", strings.Repeat("x", 300), strings.Repeat("x", 40_000), strings.Repeat("x", 40_001)}
		for i, name := range names {
			job := aJob(messages.JobID(name + "-7"))
			job.Name, job.UID = name, messages.UID("u"+name)
			b := journal.Batch{
				Facts:    number(messages.Seq(i+1), messages.CommandRetired{Job: job}),
				Keys:     []journal.Key{{Job: job.ID, Principal: messages.Principal(name), Key: name}},
				Channels: []journal.Channel{{ID: messages.ChannelID(name)}},
			}
			must(t, j.Write(b))
		}
		for _, name := range names {
			for how, e := range map[string]journal.Entry{
				"id":  byID(t, j, messages.JobID(name+"-7")),
				"key": byKey(t, j, messages.Principal(name), name),
			} {
				if e.Job.Name != name || e.Job.UID != messages.UID("u"+name) {
					t.Errorf("%.9q by %s: got %.9q", name, how, e.Job.Name)
				}
			}
		}
		if all, err := j.Channels(); err != nil || len(all) != len(names) {
			t.Errorf("%d channels (%v)", len(all), err)
		}
		if n, _ := j.LastJobNumber(); n != 7 {
			t.Errorf("the last number is %d, want 7", n)
		}
	})
}

// Whatever is done, the file and the memory know the same, and the file knows it
// still when it was closed and opened.
func TestBoltKnowsWhatMemoryKnows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		path := place(t)
		m, b := journal.NewMemory(0), bolt(t, path, journal.BoltOptions{NoSync: true})
		last := messages.Seq(0)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			batch := drawBatch(r, last)
			must(t, m.Write(batch))
			must(t, b.Write(batch))
			last += messages.Seq(len(batch.Facts))
			if rapid.IntRange(0, 5).Draw(r, "again") == 0 {
				must(t, b.Close())
				b = bolt(t, path, journal.BoltOptions{NoSync: true})
			}
			same(r, m, b)
		}
	})
}

func drawBatch(r *rapid.T, last messages.Seq) journal.Batch {
	var b journal.Batch
	some := func(what string, most int) []struct{} {
		return make([]struct{}, rapid.IntRange(0, most).Draw(r, what))
	}
	id := func() messages.JobID { return jobID(rapid.IntRange(1, 6).Draw(r, "job")) }
	channel := func() messages.ChannelID {
		return messages.ChannelID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "channel"))
	}
	for range some("facts", 6) {
		of := id()
		fact := rapid.SampledFrom([]messages.Fact{start(of), end(of), retire(of), messages.ScopeOpened{Path: "main"}}).Draw(r, "fact")
		if f, ok := fact.(messages.CommandFact); ok {
			job := f.Record()
			job.Name = rapid.SampledFrom([]string{"", "make", "test"}).Draw(r, "name")
			if rapid.IntRange(0, 9).Draw(r, "other") == 0 {
				job.UID += "X" // the id was given twice
			}
			fact = f.With(job).(messages.Fact)
		}
		b.Facts = append(b.Facts, messages.FactRecorded{Seq: last + messages.Seq(len(b.Facts)) + 1, Fact: fact})
	}
	for range some("keys", 2) {
		b.Keys = append(b.Keys, journal.Key{Job: id(), Key: rapid.SampledFrom([]string{"", "k", "l"}).Draw(r, "key")})
	}
	for range some("channels", 1) {
		b.Channels = append(b.Channels, journal.Channel{ID: channel(), Acked: messages.Seq(rapid.IntRange(0, 20).Draw(r, "acked"))})
	}
	for range some("acks", 2) {
		b.Acks = append(b.Acks, messages.Acknowledge{Channel: channel(), Seq: messages.Seq(rapid.IntRange(0, 20).Draw(r, "seq"))})
	}
	for range some("left", 1) {
		b.Left = append(b.Left, channel())
	}
	for range some("removed", 1) {
		b.Removed = append(b.Removed, id())
	}
	return b
}

func same(r *rapid.T, x, y all) {
	for what, ask := range map[string]func(all) (any, error){
		"last":   func(j all) (any, error) { return j.Last() },
		"facts":  func(j all) (any, error) { return j.Read(0, 1000) },
		"number": func(j all) (any, error) { return j.LastJobNumber() },
		"live":   func(j all) (any, error) { return j.Live() },
		"over":   func(j all) (any, error) { return j.Finished(0, 10) },
		"second": func(j all) (any, error) { return j.Finished(20, 2) },
		"out":    func(j all) (any, error) { return j.Channels() },
	} {
		a, errA := ask(x)
		b, errB := ask(y)
		if !errors.Is(errB, errA) || !reflect.DeepEqual(a, b) {
			r.Fatalf("%s: memory has %+v (%v), the file %+v (%v)", what, a, errA, b, errB)
		}
	}
}

// What became of the notices of an end is known although the job is over; its place
// among those that are over stays, and all else about it.
func TestJobsAreNotifiedOf(t *testing.T) {
	each(t, func(t *testing.T, s all) {
		first, second := aJob("j1"), aJob("j2")
		first.OnFinish = messages.Notices([]string{"true", "https://h/"})
		told := first
		told.Name, told.OnFinish = "other", []messages.Notice{{To: "true", State: messages.NoticeDelivered, Seq: 1, Tries: 1}, first.OnFinish[1]}
		must(t, s.Append([]messages.FactRecorded{
			{Seq: 1, Fact: messages.CommandFinished{Job: first}},
			{Seq: 2, Fact: messages.CommandRetired{Job: first}},
			{Seq: 3, Fact: messages.CommandRetired{Job: second}},
			{Seq: 4, Fact: messages.CommandNotified{Job: told}},
		}))
		e := byID(t, s, "j1")
		if !reflect.DeepEqual(e.Job.OnFinish, told.OnFinish) || e.Over != 2 || e.Job.Seq != 4 {
			t.Errorf("j1 is %+v", e)
		}
		page, err := s.Finished(0, 10)
		must(t, err)
		if len(page) != 2 || page[0].Job.ID != "j2" || page[1].Job.ID != "j1" {
			t.Errorf("over are %+v", page)
		}
	})
}
