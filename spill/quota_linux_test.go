package spill

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// removable is a store whose place can be removed, and whether it is gone for good.
func removable(t *testing.T, change ...func(*Options)) (d *Disk, remove func()) {
	t.Helper()
	place, gone := filepath.Join(t.TempDir(), "place"), false
	must(t, os.Mkdir(place, 0o700))
	d = newDisk(t, append(change, func(o *Options) {
		o.Root, o.Gone = filepath.Join(place, "root"), func() bool { return gone }
	})...)
	return d, func() {
		must(t, os.RemoveAll(place))
		gone = true
	}
}

// feed gives a log n bytes of the text behind what it has, a piece at a time, and says
// how many it took.
func feed(t *testing.T, w *writer, n int) (int, error) {
	t.Helper()
	p, had := newPipe(t), int(w.State().Size)
	for done := 0; done < n; {
		piece := text(had + n)[had+done:][:min(n-done, 10_000)]
		p.write(t, piece)
		for left := int64(len(piece)); left > 0; {
			k, err := w.Splice(p.r, left)
			if err != nil {
				return done, err
			}
			left -= k
			done += int(k)
		}
	}
	return n, nil
}

// F37: a log that needs a file, and whose place is gone for good, goes on in memory: its
// head and its tail are there, and what is between is told to be missing.
func TestFaultLogWithoutAPlaceGoesOn(t *testing.T) {
	for name, p := range map[string]Plan{
		"as any": {}, "waits at its quota": {Policy: Pause}, "ends its job at its quota": {Policy: Kill}, "from its first byte": {Durability: OSCrash},
	} {
		t.Run(name, func(t *testing.T) {
			d, remove := removable(t)
			w := create(t, d, "j", p)
			if p.Durability == "" {
				_, err := feed(t, w, 30_000)
				must(t, err)
			}
			remove()
			all := int(w.State().Size) + 500_000
			if _, err := feed(t, w, 500_000); err != nil {
				t.Fatal(err)
			}
			_ = w.Seal()
			st := w.State()
			if st.Size != int64(all) || len(st.Gaps) != 1 || st.Flags != Unlinked || st.File != "" {
				t.Fatalf("it is %+v", st)
			}
			gap, got := st.Gaps[0], content(t, d, "j")
			if gap.From < 10_000 || int64(all)-gap.To < 20_000 {
				t.Errorf("%v is missing", gap)
			}
			if !bytes.Equal(got[:gap.From], text(all)[:gap.From]) || !bytes.Equal(got[gap.To:], text(all)[gap.To:]) {
				t.Error("what it kept is not what was written")
			}
			if n := d.memory.Load(); n > noFileQuota {
				t.Errorf("%d bytes in memory", n)
			}
		})
	}
}

// Beyond the bounds of memory such a log keeps nothing more, and counts all of it.
func TestFaultLogsWithoutAPlaceAreBounded(t *testing.T) {
	d, remove := removable(t, func(o *Options) { o.Limits.Memory, o.Limits.Memfds = 100_000, 3 })
	remove()
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		w := create(t, d, id, Plan{})
		if _, err := feed(t, w, 200_000); err != nil {
			t.Fatal(err)
		}
		must(t, w.Seal())
		if st := w.State(); st.Size != 200_000 || len(st.Gaps) == 0 {
			t.Errorf("%s is %+v", id, st)
		}
	}
	if n := d.memory.Load(); n > 100_000+10_000 {
		t.Errorf("%d bytes in memory", n)
	}
}

// A quota goes on freeing room in a file whose place is gone, though the mark beside it
// cannot be written: no later store will read that.
func TestFaultQuotaWithoutAPlace(t *testing.T) {
	d, remove := removable(t)
	w := create(t, d, "j", Plan{Quota: 400_000})
	_, err := feed(t, w, 100_000)
	must(t, err)
	remove()
	if _, err := feed(t, w, 1_000_000); err != nil {
		t.Fatal(err)
	}
	must(t, w.Seal())
	if st := w.State(); st.Size != 1_100_000 || len(st.Gaps) != 1 || st.Flags != Unlinked {
		t.Errorf("it is %+v", st)
	}
}

// A place that may come back is waited for.
func TestFaultLogWaitsForAPlaceThatMayComeBack(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	d := newDisk(t, func(o *Options) { o.Root, o.Gone = filepath.Join(place, "root"), func() bool { return false } })
	w := create(t, d, "j", Plan{})
	p := newPipe(t)
	p.write(t, text(100_000))
	taken, err := w.Splice(p.r, 100_000)
	for err == nil {
		var n int64
		n, err = w.Splice(p.r, 100_000)
		taken += n
	}
	if blocked := (*Blocked)(nil); !errors.As(err, &blocked) {
		t.Fatalf("it took %d, %v", taken, err)
	}
	must(t, os.Mkdir(place, 0o700))
	for taken < 100_000 {
		n, err := w.Splice(p.r, 100_000)
		must(t, err)
		taken += n
	}
	must(t, w.Seal())
	want(t, d, "j", text(100_000), nil, 0)
}
