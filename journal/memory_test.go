package journal_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"troupe/journal"
	"troupe/messages"
)

var _ journal.Store = (*journal.Memory)(nil)

// facts are those numbered from to to; each carries its number in its record.
func facts(from, to messages.Seq) []messages.FactRecorded {
	var out []messages.FactRecorded
	for n := from; n <= to; n++ {
		out = append(out, messages.FactRecorded{Seq: n, Fact: messages.CommandQueued{Job: messages.Job{Seq: n}}})
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

func TestMemoryHoldsTheNewest(t *testing.T) {
	m := journal.NewMemory(4)
	if first, err := m.First(); first != 0 || err != nil {
		t.Fatalf("an empty journal begins at %d (%v), want 0", first, err)
	}
	if got := numbers(t, m, 0, 10); got != "[]" {
		t.Fatalf("an empty journal reads %s", got)
	}
	must(t, m.Append(facts(1, 3)))
	must(t, m.Append(facts(4, 6)))
	for _, c := range []struct {
		after messages.Seq
		limit int
		want  string
	}{
		{0, 10, "[3 4 5 6]"}, // 1 and 2 are forgotten, and the first number tells
		{2, 10, "[3 4 5 6]"},
		{3, 2, "[4 5]"},
		{5, 10, "[6]"},
		{6, 10, "[]"},
		{99, 10, "[]"},
		{0, 0, "[]"},
		{0, -1, "[]"},
	} {
		if got := numbers(t, m, c.after, c.limit); got != c.want {
			t.Errorf("after %d, at most %d: got %s, want %s", c.after, c.limit, got, c.want)
		}
	}
	first, _ := m.First()
	last, _ := m.Last()
	if first != 3 || last != 6 {
		t.Errorf("holds %d to %d, want 3 to 6", first, last)
	}
}

func TestMemoryTakesARetry(t *testing.T) {
	m := journal.NewMemory(0)
	must(t, m.Append(facts(1, 3)))
	must(t, m.Append(facts(2, 5)))
	must(t, m.Append(facts(1, 5)))
	must(t, m.Append(nil))
	if got := numbers(t, m, 0, 10); got != "[1 2 3 4 5]" {
		t.Errorf("got %s, want each once", got)
	}
}

func TestMemoryRefusesAHole(t *testing.T) {
	m := journal.NewMemory(0)
	for _, bad := range [][]messages.FactRecorded{
		facts(2, 3),
		append(facts(1, 2), facts(4, 4)...),
		append(facts(1, 2), facts(2, 2)...),
	} {
		if err := m.Append(bad); !errors.Is(err, journal.ErrHole) {
			t.Errorf("got %v, want ErrHole", err)
		}
		if last, _ := m.Last(); last != 0 {
			t.Errorf("a refused batch left %d facts", last)
		}
	}
}

func TestMemoryIsClosed(t *testing.T) {
	m := journal.NewMemory(0)
	must(t, m.Append(facts(1, 1)))
	must(t, m.Close())
	must(t, m.Close())
	_, first := m.First()
	_, last := m.Last()
	_, read := m.Read(0, 1)
	for _, err := range []error{first, last, read, m.Append(facts(2, 2))} {
		if !errors.Is(err, journal.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}

// What is read is what a journal of the same bound that keeps everything in a
// list would give.
func TestMemoryIsALog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		m := journal.NewMemory(limit)
		last := messages.Seq(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			n := messages.Seq(rapid.IntRange(0, 9).Draw(t, "more"))
			again := min(last, messages.Seq(rapid.IntRange(0, 3).Draw(t, "again")))
			if err := m.Append(facts(last-again+1, last+n)); err != nil {
				t.Fatal(err)
			}
			last += n
			after := messages.Seq(rapid.IntRange(0, int(last)+1).Draw(t, "after"))
			most := rapid.IntRange(0, 10).Draw(t, "most")
			got, err := m.Read(after, most)
			if err != nil {
				t.Fatal(err)
			}
			want := max(after, last-min(last, messages.Seq(limit))) + 1
			if count := min(max(0, int(last)-int(want)+1), most); len(got) != count {
				t.Fatalf("read %d facts, want %d", len(got), count)
			}
			for i, f := range got {
				if f.Seq != want+messages.Seq(i) || f.Fact.(messages.CommandQueued).Job.Seq != f.Seq {
					t.Fatalf("fact %d has the number %d", want+messages.Seq(i), f.Seq)
				}
			}
		}
	})
}

func TestMemoryIsShared(t *testing.T) {
	m := journal.NewMemory(64)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			after := messages.Seq(0)
			for after < 1000 {
				got, err := m.Read(after, 16)
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range got {
					if f.Seq <= after {
						t.Errorf("fact %d came after %d", f.Seq, after)
						return
					}
					after = f.Seq
				}
			}
		})
	}
	for n := messages.Seq(1); n <= 1000; n += 10 {
		must(t, m.Append(facts(n, n+9)))
	}
	all.Wait()
}
