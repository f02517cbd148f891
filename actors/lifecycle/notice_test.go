package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// A notice waits longer after each failure, up to a bound, and is given up when it
// was tried too often or for too long; a receiver's own wish lengthens a wait.
func TestNoticeIsTriedAgain(t *testing.T) {
	end := time.Unix(1_000_000, 0)
	n, now := lifecycle.Notice{Ended: end}, end
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		var wait time.Duration
		var again bool
		n, wait, again = n.Failed(messages.Delivered{}, now, 1)
		if wait != want*time.Second || !again {
			t.Fatalf("after try %d: wait %s, again %v", i+1, wait, again)
		}
		now = now.Add(wait)
	}
	for name, c := range map[string]struct {
		n     lifecycle.Notice
		d     messages.Delivered
		after time.Duration
		wait  time.Duration
		again bool
	}{
		"half of it by chance": {wait: 500 * time.Millisecond, again: true},
		"as it was asked":      {d: messages.Delivered{After: time.Hour}, wait: time.Hour, again: true},
		"asked for too long":   {d: messages.Delivered{After: 25 * time.Hour}, wait: 25 * time.Hour},
		"gone for good":        {d: messages.Delivered{Gone: true}, wait: 500 * time.Millisecond},
		"too old":              {after: lifecycle.NoticeAge, wait: 500 * time.Millisecond},
		"the last try":         {n: lifecycle.Notice{Tries: lifecycle.NoticeTries - 1}, wait: lifecycle.NoticeMost / 2},
	} {
		c.n.Ended = end
		if _, wait, again := c.n.Failed(c.d, end.Add(c.after), 0); wait != c.wait || again != c.again {
			t.Errorf("%s: wait %s, again %v", name, wait, again)
		}
	}
}

// Whatever happens, the tries end within the bounds of number and time.
func TestNoticeEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := time.Unix(1_000_000, 0)
		n, now, again := lifecycle.Notice{Ended: end}, end, true
		for tries := 0; again; tries++ {
			if tries >= lifecycle.NoticeTries || now.Sub(end) > lifecycle.NoticeAge {
				t.Fatalf("try %d, %s behind the end", tries+1, now.Sub(end))
			}
			var wait time.Duration
			after := time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "after"))
			n, wait, again = n.Failed(messages.Delivered{After: after}, now, rapid.Float64Range(0, 1).Draw(t, "chance"))
			if wait < after || wait <= 0 {
				t.Fatalf("it waits %s, asked were %s", wait, after)
			}
			now = now.Add(wait)
		}
	})
}
