package spill

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// What a quota took is a gap for the store that finds the log, too, exactly: also
// where it leaves no hole in the file, and zeros beside it are the job's own.
func TestGapsAreFoundAgain(t *testing.T) {
	root, outside := filepath.Join(t.TempDir(), "root"), t.TempDir()
	open := func() *Disk {
		d, err := OpenStore(Options{Root: root, Node: "keeper"})
		must(t, err)
		must(t, d.Recover())
		return d
	}
	type left struct {
		text  []byte
		state State
		plan  Plan
	}
	logs := map[string]left{}
	d := open()
	for _, policy := range []Policy{Elide, KeepHead, Kill} {
		for _, quota := range []int64{1, 100, 3000, 4096, 10_000, 100_000} {
			for _, part := range []int{7, 1000, 9000} {
				for place, p := range map[string]Plan{"memory": {}, "file": {Inline: -1}, "safe": {Durability: OSCrash}, "given": {}} {
					id := fmt.Sprintf("%s-%d-%d-%s", policy, quota, part, place)
					p.Policy, p.Quota = policy, quota
					if place == "given" {
						p.File, p.Mark = filepath.Join(outside, id+".log"), filepath.Join(outside, id+".mark")
					}
					w := create(t, d, id, p)
					text := bytes.Repeat([]byte("one\x00\x00two\n"), int(quota)/3+3)[:3*quota/2+20]
					for off := 0; off < len(text); {
						n, err := w.Append(text[off:min(off+part, len(text))])
						if off += n; err != nil && err != ErrQuota {
							t.Fatal(err)
						}
					}
					if place == "memory" {
						must(t, w.toFile())
					}
					logs[id] = left{text, w.State(), p}
				}
			}
		}
	}
	die(d)
	d = open()
	defer d.Close()
	for id, l := range logs {
		if l.plan.File != "" {
			must(t, d.Reclaim(id, Merged, l.plan.File, l.plan.Mark))
		}
		got := create0(t, d, id)
		if got.Size != int64(len(l.text)) || !slices.Equal(got.Gaps, l.state.Gaps) {
			t.Errorf("%s: %d bytes without %v became %d without %v", id, len(l.text), l.state.Gaps, got.Size, got.Gaps)
			continue
		}
		want := slices.Clone(l.text)
		gaps(got.Gaps).blank(want, 0)
		if !bytes.Equal(content(t, d, id), want) {
			t.Errorf("%s: bytes were invented, or lost", id)
		}
		must(t, d.Remove(id))
	}
	if names, err := os.ReadDir(filepath.Join(root, "keeper", "sessions", "default")); err != nil || len(names) > 0 {
		t.Errorf("%v is left, %v", names, err)
	}
}

// Nothing is taken out of a file before the mark of it is written.
func TestNothingGoesUnmarked(t *testing.T) {
	for _, policy := range []Policy{Elide, KeepHead} {
		root := filepath.Join(t.TempDir(), "root")
		var f faulty
		d, err := OpenStore(Options{Root: root, Node: "keeper", Sys: &f})
		must(t, err)
		w := create(t, d, "j", Plan{Quota: 8000, Policy: policy, Inline: -1})
		written := text(12_000)
		_, err = w.Append(written[:8000])
		must(t, err)
		marks := false // writes of them alone are refused: the log is where it is already
		f.set(func(call string) error {
			if marks = marks || call == "openat"; marks && call == "pwrite" {
				return unix.ENOSPC
			}
			return nil
		})
		_, err = w.Append(written[8000:])
		if policy == Elide && err == nil {
			t.Error("something was taken out")
		}
		die(d)
		d, err = OpenStore(Options{Root: root, Node: "keeper"})
		must(t, err)
		must(t, d.Recover())
		if got := content(t, d, "j"); !bytes.Equal(got, written[:8000]) {
			t.Errorf("%s: the next store finds %d bytes, or others", policy, len(got))
		}
		must(t, d.Close())
	}
}

// A mark without its log is of no use.
func TestMarkWithoutItsLogGoes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d, err := OpenStore(Options{Root: root, Node: "keeper"})
	must(t, err)
	w := create(t, d, "j", Plan{Quota: 100, Inline: -1})
	_, err = w.Append(text(1000))
	must(t, err)
	must(t, os.Remove(w.State().File))
	mark := w.State().File + markSuffix
	if _, err := os.Stat(mark); err != nil {
		t.Fatal(err)
	}
	die(d)
	d, err = OpenStore(Options{Root: root, Node: "keeper"})
	must(t, err)
	defer d.Close()
	must(t, d.Recover())
	if _, err := os.Stat(mark); err == nil {
		t.Error("it is there")
	}
}

// By a mark that is damaged all may be missing, and by an empty one nothing is.
func TestMarkThatIsDamaged(t *testing.T) {
	const size = 1 << 20
	var many gaps
	for i := range int64(maxGaps) {
		many = many.add(i*100, i*100+50)
	}
	for _, g := range []gaps{{{5, 1000}}, {{0, 1}, {7, size}}, many} {
		text := encodeMark(g)
		if got, _ := decodeMark(append(bytes.Clone(text), "of a longer one"...), size); !slices.Equal(got, g) {
			t.Errorf("%v became %v", g, got)
		}
		damaged := [][]byte{make([]byte, 8), make([]byte, pageSize)}
		for i := range text {
			flipped := bytes.Clone(text)
			flipped[i] ^= 0x10
			damaged = append(damaged, text[:i], flipped)
		}
		for _, text := range damaged {
			if got, _ := decodeMark(text, size); !slices.Equal(got, gaps{{0, size}}) && len(text) > 0 {
				t.Errorf("a damaged one says %v: %x", got, text)
			}
		}
	}
	if got, _ := decodeMark(nil, size); got != nil {
		t.Errorf("an empty one says %v", got)
	}
	if got, _ := decodeMark(encodeMark(gaps{{5, 10}, {20, 1 << 62}, {1 << 62, 1 << 63 >> 1}}), 30); !slices.Equal(got, gaps{{5, 10}, {20, 30}}) {
		t.Errorf("one that says more than there is: %v", got)
	}
}

// Without its mark the gap of a log is told wider, if the file system knows of it.
func TestMarkThatIsDeleted(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d, err := OpenStore(Options{Root: root, Node: "keeper"})
	must(t, err)
	states := map[string]State{}
	for id, p := range map[string]Plan{"elide": {Policy: Elide}, "head": {Policy: KeepHead}, "many": {Quota: 64 << 20}} {
		if p.Inline = -1; p.Quota == 0 {
			p.Quota = 21_001
		}
		w := create(t, d, id, p)
		for off := 0; off < 100_000; off += 1000 {
			_, err := w.Append(text(100_000)[off : off+1000])
			must(t, err)
		}
		states[id] = w.State()
		if id != "many" {
			must(t, os.Remove(w.State().File+markSuffix))
		}
	}
	f, err := os.OpenFile(states["many"].File, os.O_WRONLY, 0)
	must(t, err)
	for i := range int64(2 * maxHoles) {
		_, err := f.WriteAt([]byte("x"), 100_000+i*2*pageSize)
		must(t, err)
	}
	must(t, f.Close())
	die(d)
	d, err = OpenStore(Options{Root: root, Node: "keeper"})
	must(t, err)
	defer d.Close()
	must(t, d.Recover())
	for id, before := range states {
		got := create0(t, d, id)
		for _, g := range before.Gaps {
			if !gaps(got.Gaps).cover(g.From, g.To) {
				t.Errorf("%s: without %v became without %v", id, before.Gaps, got.Gaps)
			}
		}
		switch g := got.Gaps; {
		case id != "many":
			if got.Missing() > before.Missing()+2*pageSize {
				t.Errorf("%s: without %v became without %v", id, before.Gaps, g)
			}
		case len(g) == 0 || len(g) > maxGaps || g[len(g)-1].To != got.Size:
			t.Errorf("what was not looked at is told as if it were there: %v of %d", g, got.Size)
		}
	}
}

// A log of which nothing is missing has no mark, and no call is made for one.
func TestMarkCostsNothingWithoutGaps(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	w := create(t, d, "j", Plan{Inline: -1})
	_, err := w.Append(text(10))
	must(t, err)
	var calls []string
	f.set(func(call string) error { calls = append(calls, call); return nil })
	_, err = w.Append(text(10))
	f.set(nil)
	must(t, err)
	if !slices.Equal(calls, []string{"poll", "fstat", "pwrite"}) && !slices.Equal(calls, []string{"fstat", "pwrite"}) {
		t.Errorf("calls: %v", calls)
	}
	must(t, w.Seal())
	for _, name := range files(t, d.Root()) {
		if filepath.Ext(name) == markSuffix {
			t.Error("there is", name)
		}
	}
}
