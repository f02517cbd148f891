package spill

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A store that dies leaves its files, and the next one has them; what was in
// memory is gone, and a gap stays a gap.
func TestRecover(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	open := func() *Disk {
		d, err := OpenStore(Options{Root: root, Node: "keeper"})
		must(t, err)
		return d
	}
	d := open()
	must(t, d.Recover())
	text := strings.Repeat("0123456789abcdef", 64<<10)
	for id, p := range map[string]Plan{
		"large": {Group: "s 1"}, "small": {}, "file": {Inline: -1}, "elided": {Quota: 256 << 10}, "short": {Quota: 10_000, Inline: -1},
	} {
		w := create(t, d, id, p)
		size := len(text)
		if id == "small" || id == "file" {
			size = 10
		}
		for off := 0; off < size; off += 1 << 10 {
			_, err := w.Append([]byte(text[off:min(size, off+1<<10)]))
			must(t, err)
		}
	}
	gaps, short := create0(t, d, "elided").Gaps, create0(t, d, "short")
	if s := stat(t, short.File); s.Blocks*512 > 10_000+3*pageSize {
		t.Errorf("the file takes %d bytes of a quota of 10,000", s.Blocks*512)
	}
	must(t, os.WriteFile(filepath.Join(root, "keeper", "sessions", "default", "x.merged.log.new"), nil, 0o600))
	if err := open().Recover(); err == nil {
		t.Error("the directory of a living store was taken over")
	}
	die(d)

	d = open()
	defer d.Close()
	must(t, d.Recover())
	for id, want := range map[string]string{"large": text, "file": text[:10]} {
		log, err := d.Open(id, Merged)
		must(t, err)
		got, err := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
		must(t, err)
		if string(got) != want || !log.State().Closed || log.State().File == "" {
			t.Errorf("%s: %d bytes, %+v", id, len(got), log.State())
		}
		must(t, log.Close())
	}
	if _, err := d.Open("small", Merged); err != ErrNotFound {
		t.Errorf("what was in memory: %v", err)
	}
	if now := create0(t, d, "elided").Gaps; len(gaps) != 1 || len(now) != 1 || now[0] != gaps[0] {
		t.Errorf("gaps %v became %v", gaps, now)
	}
	if now := create0(t, d, "short").Gaps; len(short.Gaps) != 1 || len(now) != 1 || now[0] != short.Gaps[0] {
		t.Errorf("gaps %v between pages became %v", short.Gaps, now)
	}
	if _, err := os.Stat(filepath.Join(root, "keeper", "sessions", "default", "x.merged.log.new")); err == nil {
		t.Error("what was not whole is left")
	}
}

func create0(t *testing.T, d *Disk, id string) State {
	t.Helper()
	log, err := d.Open(id, Merged)
	must(t, err)
	defer log.Close()
	return log.State()
}

// die plays the death of a store: its lock is free, and nothing was removed.
func die(d *Disk) {
	if d.tree.lock != nil {
		d.tree.lock.free()
	}
	d.tree.lock = newHandle(d.sys, -1)
}

// What is exported can be read and not be written, in memory and behind the move.
func TestExport(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j", Plan{})
	if f, s, err := d.Export("j", Merged); f != nil || s.Size != 0 || err != nil {
		t.Errorf("before the first byte: %v, %+v, %v", f, s, err)
	}
	for _, size := range []int{10, InlineLimit + 1} {
		_, err := w.Append(bytes.Repeat([]byte("x"), size))
		must(t, err)
		f, s, err := d.Export("j", Merged)
		must(t, err)
		got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		must(t, err)
		if int64(len(got)) != s.Size || strings.Trim(string(got), "x") != "" {
			t.Errorf("read %d bytes of %d", len(got), s.Size)
		}
		if _, err := f.WriteAt([]byte("y"), 0); err == nil {
			t.Error("it could be written")
		}
		must(t, f.Close())
	}
	if _, _, err := d.Export("k", Merged); err != ErrNotFound {
		t.Errorf("one that is not there: %v", err)
	}
	f := &faulty{}
	d = newDisk(t, func(o *Options) { o.Sys = f })
	w = create(t, d, "j", Plan{})
	_, err := w.Append([]byte("x"))
	must(t, err)
	f.set(func(call string) error {
		if call == "reopen" {
			return unix.EMFILE
		}
		return nil
	})
	if _, _, err := d.Export("j", Merged); err != unix.EMFILE {
		t.Errorf("without a descriptor left: %v", err)
	}
}

// What a finished job has in memory becomes files, if there is much of it; then the
// next store has it, with the order of its streams.
func TestPersist(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	open := func() *Disk {
		d, err := OpenStore(Options{Root: root, Node: "keeper"})
		must(t, err)
		must(t, d.Recover())
		return d
	}
	d := open()
	want := map[string][]Segment{}
	for id, n := range map[string]int{"small": 2, "large": 200, "long": 20_000} {
		out, err := apart(t, d, id)
		for range n {
			for _, w := range []*writer{out, err} {
				_, aerr := w.Append(text(100))
				must(t, aerr)
			}
		}
		must(t, out.Seal())
		must(t, err.Seal())
		must(t, d.Persist(id, 4<<10))
		want[id], _ = pieces(t, d, id)
		if got := create0s(t, d, id, Stderr); got.Size != int64(n*100) || (got.File != "") != (n > 40) {
			t.Errorf("%s: %+v", id, got)
		}
	}
	holes := create(t, d, "holes", Plan{Quota: 10, Policy: KeepHead})
	_, err := holes.Append(text(100))
	must(t, err)
	must(t, holes.Seal())
	must(t, d.Persist("holes", 4<<10))
	if got := create0s(t, d, "holes", Merged); got.File == "" || got.Missing() != 90 {
		t.Errorf("one with a gap: %+v", got)
	}
	if sealed := d.sealed; sealed < 400 || sealed > 20_000 {
		t.Errorf("%d bytes count as in memory", sealed)
	}
	running, other := apart(t, d, "running")
	for _, w := range []*writer{running, other, running} {
		_, err := w.Append(text(InlineLimit + 1))
		must(t, err)
	}
	must(t, d.Persist("small", 0))
	if err := d.Persist("running", 0); err != ErrNotFound {
		t.Errorf("what runs: %v", err)
	}
	die(d)

	d = open()
	for _, id := range []string{"small", "large", "long"} {
		got, whole := pieces(t, d, id)
		if !whole || len(got) != len(want[id]) || got[len(got)-1] != want[id][len(got)-1] {
			t.Errorf("%s: %d pieces of %d, whole %v", id, len(got), len(want[id]), whole)
		}
		must(t, d.Remove(id))
	}
	if _, err := d.Order("running"); err != ErrNotFound {
		t.Errorf("the order of what ran, of which nothing was in a file: %v", err)
	}
	must(t, d.Close())
}

func create0s(t *testing.T, d *Disk, id string, stream uint8) State {
	t.Helper()
	log, err := d.Open(id, stream)
	must(t, err)
	defer log.Close()
	return log.State()
}
