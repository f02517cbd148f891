package journal_test

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// keeping opens a journal with small bounds.
func keeping(t testing.TB, r journal.Retention) (*journal.Bolt, string) {
	path := place(t)
	return bolt(t, path, journal.BoltOptions{Retention: r, NoSync: true}), path
}

// lives records the whole lives of jobs, one after the other, and gives the
// number that comes next.
func lives(t testing.TB, b *journal.Bolt, from messages.Seq, first, last int) messages.Seq {
	t.Helper()
	for n := first; n <= last; n++ {
		must(t, b.Append(life(jobID(n), from)))
		from += 3
	}
	return from
}

func firstLast(t testing.TB, b *journal.Bolt) string {
	t.Helper()
	first := first(t, b)
	last, err := b.Last()
	must(t, err)
	return fmt.Sprintf("%d to %d", first, last)
}

// The jobs that ended last are kept with their facts; of the others nothing is
// left but that there were as many.
func TestBoltKeepsTheNewestJobs(t *testing.T) {
	b, path := keeping(t, journal.Retention{Jobs: 10, Facts: 5000})
	lives(t, b, 1, 1, 2000)
	over, err := b.Finished(0, 99)
	if got := ids(t, over, err); got != "[j2000 j1999 j1998 j1997 j1996 j1995 j1994 j1993 j1992 j1991]" {
		t.Errorf("kept are %s", got)
	}
	if got := firstLast(t, b); got != "4977 to 6000" { // the newest 1,024, among them those of the ten
		t.Errorf("the facts are %s", got)
	}
	b = reopen(t, b, path, journal.BoltOptions{})
	if n, _ := b.LastJobNumber(); n != 2000 {
		t.Errorf("the last number is %d", n)
	}
}

// Who has more of a job than its record hears when that is let go, also while the
// journal is being opened, and not of what was removed.
func TestBoltTellsWhatItForgets(t *testing.T) {
	path := place(t)
	var heard []messages.UID
	o := journal.BoltOptions{NoSync: true, Retention: journal.Retention{Jobs: 3}, Forgot: func(jobs []messages.UID) { heard = append(heard, jobs...) }}
	wants := func(what string, numbers ...int) {
		t.Helper()
		var all []messages.UID
		for _, n := range numbers {
			all = append(all, aJob(jobID(n)).UID)
		}
		if !slices.Equal(heard, all) {
			t.Errorf("%s: heard of %v, want %v", what, heard, all)
		}
		heard = nil
	}
	b := bolt(t, path, o)
	lives(t, b, 1, 1, 5)
	wants("too many", 1, 2)
	must(t, b.Write(journal.Batch{Removed: []messages.JobID{"j3"}}))
	wants("removed")
	o.Retention.Jobs = 1
	b = reopen(t, b, path, o)
	wants("at the opening", 4)
	must(t, b.Write(journal.Batch{Removed: []messages.JobID{"j5"}}))
	wants("the last one")
}

// A job that runs holds its facts, and so all that came later, to the bound; its
// record beyond that.
func TestBoltKeepsWhatRuns(t *testing.T) {
	b, _ := keeping(t, journal.Retention{Jobs: 10, Facts: 2000})
	must(t, b.Append(number(1, start("j1"))))
	next := lives(t, b, 2, 2, 600)
	if got := firstLast(t, b); got != "1 to 1798" {
		t.Errorf("with room: the facts are %s", got)
	}
	next = lives(t, b, next, 601, 1000)
	if got := firstLast(t, b); got != "999 to 2998" {
		t.Errorf("at the bound: the facts are %s", got)
	}
	if e := byID(t, b, "j1"); e.Job.State != messages.Running {
		t.Errorf("the job that runs: got %+v", e.Job.State)
	}
	must(t, b.Append(number(next, end("j1"), retire("j1"))))
	lives(t, b, next+2, 1001, 1010)
	if got := firstLast(t, b); got != "2007 to 3030" {
		t.Errorf("when it is over: the facts are %s", got)
	}
}

// A subscriber that is behind holds what it has not acknowledged, to the bound.
func TestBoltKeepsWhatIsUnacknowledged(t *testing.T) {
	b, _ := keeping(t, journal.Retention{Jobs: 10, Facts: 2000})
	must(t, b.Write(journal.Batch{Facts: life("j1", 1), Channels: []journal.Channel{{ID: "slow", Acked: 2}, {ID: "quick", Acked: 3}}}))
	next := lives(t, b, 4, 2, 500)
	if got := firstLast(t, b); got != "3 to 1500" {
		t.Errorf("with room: the facts are %s", got)
	}
	next = lives(t, b, next, 501, 1000)
	if got := firstLast(t, b); got != "1001 to 3000" {
		t.Errorf("at the bound: the facts are %s", got)
	}
	must(t, b.Write(journal.Batch{Acks: []messages.Acknowledge{{Channel: "slow", Seq: 2900}, {Channel: "quick", Seq: 2900}}}))
	lives(t, b, next, 1001, 1010)
	if got := firstLast(t, b); got != "2007 to 3030" {
		t.Errorf("when it has come after: the facts are %s", got)
	}
}

// What is too old goes when the journal is opened, and with what comes.
func TestBoltForgetsWhatIsOld(t *testing.T) {
	b, path := keeping(t, journal.Retention{})
	old := aJob("j1")
	old.End.At, old.State = time.Now().Add(-8*24*time.Hour), messages.Retired
	must(t, b.Append(append(number(1, messages.CommandRetired{Job: old}), life("j2", 2)...)))
	b = reopen(t, b, path, journal.BoltOptions{})
	over, err := b.Finished(0, 9)
	if got := ids(t, over, err); got != "[j2]" {
		t.Errorf("kept are %s", got)
	}
	b = reopen(t, b, path, journal.BoltOptions{Retention: journal.Retention{Age: time.Nanosecond}})
	if over, err := b.Finished(0, 9); len(over) > 0 || err != nil {
		t.Errorf("kept are %v (%v)", over, err)
	}
}

// When nothing is left of the facts their numbers go on.
func TestBoltNeverRepeatsANumber(t *testing.T) {
	tiny := journal.Retention{Jobs: 1, Bytes: 1}
	b, path := keeping(t, tiny)
	next := lives(t, b, 1, 1, 20)
	for range 3 {
		b = reopen(t, b, path, journal.BoltOptions{Retention: tiny})
		if facts, over, size := b.Held(); facts+over+size != 0 {
			t.Fatalf("%d facts and %d jobs of %d bytes are left", facts, over, size)
		}
		if first := first(t, b); first != 0 {
			t.Errorf("the first is %d, want none", first)
		}
		if err := b.Append(life("j1", 1)); err != nil {
			t.Errorf("what was recorded once: got %v", err)
		}
		if last, _ := b.Last(); last != next-1 {
			t.Errorf("the last is %d, want %d", last, next-1)
		}
		if n, _ := b.LastJobNumber(); n < 20 {
			t.Errorf("the last number is %d, want 20 or more", n)
		}
		next = lives(t, b, next, 21, 22)
	}
}

// Large commands are bounded by their bytes.
func TestBoltIsBoundedInBytes(t *testing.T) {
	b, path := keeping(t, journal.Retention{Bytes: 8 << 20})
	for n := 1; n <= 100; n++ {
		job := aJob(jobID(n))
		job.Command = string(make([]byte, 1<<20))
		must(t, b.Append(number(messages.Seq(n), messages.CommandRetired{Job: job})))
	}
	if _, _, size := b.Held(); size > 8<<20 {
		t.Errorf("%d bytes are held", size)
	}
	if size := onDisk(t, path); size > 40<<20 {
		t.Errorf("the file has %d MiB", size>>20)
	}
	if e := byID(t, b, "j100"); e.Job.ID != "j100" {
		t.Errorf("the newest: got %+v", e.Job.ID)
	}
}

func onDisk(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used < info.Size() {
		return used
	}
	return info.Size()
}

// Fifty thousand jobs leave no more behind than ten thousand.
func TestBoltDoesNotGrow(t *testing.T) {
	b, path := keeping(t, journal.Retention{})
	next, half := messages.Seq(1), int64(0)
	const jobs, together = 50_000, 50
	for n := 1; n <= jobs; n += together {
		var facts []messages.FactRecorded
		for i := range together {
			facts = append(facts, life(jobID(n+i), next)...)
			next += 3
		}
		must(t, b.Append(facts))
		if n == jobs/2+1 {
			half = onDisk(t, path)
		}
	}
	facts, over, bytes := b.Held()
	size := onDisk(t, path)
	t.Logf("%d facts and %d jobs of %d bytes in a file of %d KiB: %d bytes a job; %d KiB after half of them",
		facts, over, bytes, size>>10, size/int64(over), half>>10)
	if over != journal.DefaultJobs || facts > 3*journal.DefaultJobs+3*together || size > 64<<20 || size > half+half/4 {
		t.Errorf("it grows without bound: %d facts, %d jobs, %d KiB", facts, over, size>>10)
	}
	start := time.Now()
	b = reopen(t, b, path, journal.BoltOptions{})
	t.Logf("opened in %s", time.Since(start))
	if last, _ := b.Last(); last != next-1 {
		t.Errorf("the last is %d, want %d", last, next-1)
	}
}

// However much is out of bounds, each commit forgets a little.
func TestBoltForgetsALittleAtATime(t *testing.T) {
	b, path := keeping(t, journal.Retention{})
	next := lives(t, b, 1, 1, 1000)
	b = reopen(t, b, path, journal.BoltOptions{NoSync: true, Retention: journal.Retention{Jobs: 1, Facts: 1}})
	for commits := uint64(1); ; commits++ {
		facts, over, _ := b.Held()
		s := b.Stats()
		if s.Commits != commits || s.Trimmed > commits*(128+2*3) {
			t.Fatalf("%d commits forgot %d facts", s.Commits, s.Trimmed)
		}
		if facts == 1 && over == 1 {
			break
		}
		next = lives(t, b, next, int(next), int(next))
	}
}

// A job whose end is still to be told is passed over by those that came later, whether
// they are too many or it is too old, up to as many as are kept otherwise.
func TestBoltKeepsWhatIsToBeTold(t *testing.T) {
	untold := func(n int, from messages.Seq, state messages.NoticeState) []messages.FactRecorded {
		all := life(jobID(n), from)
		for i, f := range all {
			fact := f.Fact.(messages.CommandFact)
			job := fact.Record()
			job.OnFinish = []messages.Notice{{To: "tell", State: state, Seq: from + 1}}
			all[i].Fact = fact.With(job).(messages.Fact)
		}
		return all
	}
	o := journal.BoltOptions{NoSync: true, Retention: journal.Retention{Jobs: 40}}
	path := place(t)
	b := bolt(t, path, o)
	next := messages.Seq(1)
	for n := range 30 {
		state := messages.NoticePending
		if n%2 == 1 {
			state = messages.NoticeDelivered
		}
		must(t, b.Append(untold(n+1, next, state)))
		next += 3
	}
	kept := func() string {
		over, err := b.Finished(0, 99)
		return ids(t, over, err)
	}
	o.Retention.Jobs = 3
	b = reopen(t, b, path, o)
	if got := kept(); got != "[j30 j29 j28 j5 j3 j1]" {
		t.Errorf("after a setting that keeps fewer: %s", got)
	}
	o.Retention.Age = time.Nanosecond
	b = reopen(t, b, path, o)
	if got := kept(); got != "[j5 j3 j1]" {
		t.Errorf("after a bound of the age: %s", got)
	}
	for n, id := range []messages.JobID{"j1", "j3"} {
		job := aJob(id)
		job.State, job.OnFinish = messages.Retired, []messages.Notice{{To: "tell", State: messages.NoticeGivenUp, Seq: 2}}
		must(t, b.Append(number(next+messages.Seq(n), messages.CommandNotified{Job: job})))
	}
	if got := kept(); got != "[j5]" {
		t.Errorf("when they were told: %s", got)
	}
}
