package journal_test

import (
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/journal"
	"troupe/messages"
)

func TestMemoryHoldsTheNewest(t *testing.T) {
	m := journal.NewMemory(4)
	if first := first(t, m); first != 0 {
		t.Fatalf("an empty journal begins at %d, want 0", first)
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
	first := first(t, m)
	last, _ := m.Last()
	if first != 3 || last != 6 {
		t.Errorf("holds %d to %d, want 3 to 6", first, last)
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
