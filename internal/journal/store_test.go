package journal_test

import (
	"errors"
	"sync"
	"testing"

	"troupe/internal/journal"
	"troupe/messages"
)

func TestStoreBegins(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		first := first(t, j)
		last, err := j.Last()
		must(t, err)
		if first != 0 || last != 0 || numbers(t, j, 0, 10) != "[]" {
			t.Errorf("an empty journal holds %d to %d", first, last)
		}
	})
}

func TestStoreReads(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		must(t, j.Append(facts(1, 3)))
		must(t, j.Append(facts(4, 6)))
		for _, c := range []struct {
			after messages.Seq
			limit int
			want  string
		}{
			{0, 10, "[1 2 3 4 5 6]"},
			{3, 2, "[4 5]"},
			{5, 10, "[6]"},
			{6, 10, "[]"},
			{99, 10, "[]"},
			{^messages.Seq(0), 10, "[]"},
			{0, 0, "[]"},
			{0, -1, "[]"},
		} {
			if got := numbers(t, j, c.after, c.limit); got != c.want {
				t.Errorf("after %d, at most %d: got %s, want %s", c.after, c.limit, got, c.want)
			}
		}
		first := first(t, j)
		last, _ := j.Last()
		if first != 1 || last != 6 {
			t.Errorf("holds %d to %d, want 1 to 6", first, last)
		}
	})
}

func TestStoreTakesARetry(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		must(t, j.Append(facts(1, 3)))
		must(t, j.Append(facts(2, 5)))
		must(t, j.Append(facts(1, 5)))
		must(t, j.Append(nil))
		if got := numbers(t, j, 0, 10); got != "[1 2 3 4 5]" {
			t.Errorf("got %s, want each once", got)
		}
	})
}

func TestStoreRefusesAHole(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		for _, bad := range [][]messages.FactRecorded{
			facts(2, 3),
			append(facts(1, 2), facts(4, 4)...),
			append(facts(1, 2), facts(2, 2)...),
		} {
			if err := j.Write(journal.Batch{Facts: bad, Channels: []journal.Channel{{ID: "c"}}}); !errors.Is(err, journal.ErrHole) {
				t.Errorf("got %v, want ErrHole", err)
			}
			if last, _ := j.Last(); last != 0 {
				t.Errorf("a refused batch left %d facts", last)
			}
			if all, _ := j.Channels(); len(all) > 0 {
				t.Errorf("a refused batch left %v", all)
			}
		}
	})
}

func TestStoreIsClosed(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		must(t, j.Append(facts(1, 1)))
		must(t, j.Close())
		must(t, j.Close())
		_, last := j.Last()
		_, read := j.Read(0, 1)
		_, live := j.Live()
		_, over := j.Finished(0, 1)
		_, number := j.LastJobNumber()
		_, channels := j.Channels()
		for _, err := range []error{last, read, live, over, number, channels, j.Append(facts(2, 2))} {
			if !errors.Is(err, journal.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
		}
	})
}

func TestStoreIsShared(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				after := messages.Seq(0)
				for after < 300 {
					got, err := j.Read(after, 16)
					if err != nil {
						t.Error(err)
						return
					}
					for _, f := range got {
						if f.Seq != after+1 {
							t.Errorf("fact %d came after %d", f.Seq, after)
							return
						}
						after = f.Seq
					}
				}
			})
		}
		for n := messages.Seq(1); n <= 300; n += 10 {
			must(t, j.Append(facts(n, n+9)))
		}
		all.Wait()
	})
}

// Many write at once, in no order but that of the numbers.
func TestStoreTakesAllAtOnce(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		const writers = 64
		var all sync.WaitGroup
		for n := messages.Seq(1); n <= writers; n++ {
			all.Go(func() {
				for {
					switch err := j.Append(facts(n, n)); {
					case errors.Is(err, journal.ErrHole): // the one before has not come yet
						continue
					case err != nil:
						t.Error(err)
					}
					return
				}
			})
		}
		all.Wait()
		if last, _ := j.Last(); last != writers {
			t.Errorf("%d facts were recorded, want %d", last, writers)
		}
	})
}

// A journal that is closed while many write lets none of them wait, and has what
// it said it had.
func TestStoreIsClosedMeanwhile(t *testing.T) {
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{})
	var all sync.WaitGroup
	begun := make(chan struct{}, 8)
	done := make([]int, 8)
	for i := range done {
		all.Go(func() {
			id := messages.ChannelID(rune('a' + i))
			for n := 1; ; n++ {
				err := b.Write(journal.Batch{Channels: []journal.Channel{{ID: id, Window: n}}})
				if err != nil {
					if !errors.Is(err, journal.ErrClosed) {
						t.Error(err)
					}
					return
				}
				done[i] = n
				if n == 2 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range done {
		<-begun
	}
	again := reopen(t, b, path, journal.BoltOptions{})
	all.Wait()
	channels, err := again.Channels()
	must(t, err)
	for i, c := range channels {
		if c.Window != done[i] {
			t.Errorf("channel %s: %d was recorded, %d acknowledged", c.ID, c.Window, done[i])
		}
	}
}
