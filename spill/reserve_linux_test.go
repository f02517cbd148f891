package spill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// onTmpfs opens a store on a file system of size bytes.
func onTmpfs(t *testing.T, size int) (d *Disk, dir string) {
	t.Helper()
	dir = t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	need.Feature(t, err == nil, "the right to mount a file system")
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return newDisk(t, func(o *Options) { o.Root = filepath.Join(dir, "root") }), dir
}

// over makes a finished job with an output of n bytes.
func over(t *testing.T, d *Disk, id string, n int) {
	t.Helper()
	w := create(t, d, id, Plan{})
	_, err := w.Append(text(n))
	must(t, err)
	must(t, w.Seal())
}

// kept lists which logs the store has.
func kept(t *testing.T, d *Disk, ids ...string) (have []string) {
	t.Helper()
	for _, id := range ids {
		log, err := d.Open(id, Merged)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		must(t, err)
		must(t, log.Close())
		have = append(have, id)
	}
	return have
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A file system that is full takes the output of a live job, as long as there are outputs of
// finished ones: the least recently used go first. No byte of the live job is lost.
func TestFaultFinishedOutputsMakeRoom(t *testing.T) {
	d, dir := onTmpfs(t, 16<<20)
	for _, id := range []string{"a", "b", "c", "small"} {
		n := 3 << 20
		if id == "small" {
			n = 100
		}
		over(t, d, id, n)
	}
	same(t, "at first", kept(t, d, "b", "c", "a"), "b", "c", "a") // a is the most recently used one
	w, p := create(t, d, "live", Plan{}), newPipe(t)
	var all []byte
	for range 12 {
		push(t, w, p, text(1<<20))
		all = append(all, text(1<<20)...)
	}
	must(t, w.Seal())
	if !bytes.Equal(content(t, d, "live"), all) {
		t.Error("the output of the live job has other bytes")
	}
	have := kept(t, d, "a", "b", "c", "small")
	if len(have) == 0 || have[len(have)-1] != "small" {
		t.Errorf("an output in memory was removed: %v", have)
	}
	for _, id := range []string{"b", "c"} {
		if _, err := os.Stat(filepath.Join(dir, "root", testNode, "sessions", "default", id+".merged.log")); err == nil {
			t.Errorf("the file of %s is there", id)
		}
	}
}

// Where no finished output is left, or none is on the disk, a live job waits for room, and
// goes on.
func TestFaultNoFinishedOutputMakesRoom(t *testing.T) {
	d, dir := onTmpfs(t, 4<<20)
	over(t, d, "small", 100)
	over(t, d, "large", 100_000)
	fillDisk(t, filepath.Join(dir, "fill"))
	w, p := create(t, d, "live", Plan{}), newPipe(t)
	p.write(t, text(700_000))
	for {
		_, err := w.Splice(p.r, 1<<20)
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		must(t, err)
	}
	same(t, "on a full disk", kept(t, d, "small", "large"), "small")
	must(t, os.Remove(filepath.Join(dir, "fill")))
	for w.State().Size < 700_000 {
		_, err := w.Splice(p.r, 1<<20)
		must(t, err)
	}
	must(t, w.Seal())
	if !bytes.Equal(content(t, d, "live"), text(700_000)) {
		t.Error("bytes are lost")
	}
}

// Below the reserve the least recently used outputs go, until it is free: not all, and never
// the last.
func TestReserveIsKept(t *testing.T) {
	d, dir := onTmpfs(t, 32<<20) // of which 2 MiB are reserved
	for _, id := range []string{"a", "b", "c"} {
		over(t, d, id, 2<<20)
	}
	if d.makeRoom(false) {
		t.Error("outputs are removed although there is room")
	}
	fill, err := os.Create(filepath.Join(dir, "fill"))
	must(t, err)
	defer fill.Close()
	leave := func(most int64) {
		for {
			free, _, err := d.tree.free()
			must(t, err)
			if free <= most {
				return
			}
			_, err = fill.Write(make([]byte, 64<<10))
			must(t, err)
		}
	}
	leave(3 << 19)
	w := create(t, d, "live", Plan{Inline: -1})
	_, err = w.Append(text(reserveCheck)) // the next look at the free space
	must(t, err)
	same(t, "below the reserve", kept(t, d, "a", "b", "c"), "b", "c")
	leave(256 << 10)
	d.makeRoom(false)
	same(t, "with little free space", kept(t, d, "b", "c"), "c")
	d.makeRoom(false)
	same(t, "with nothing more to remove", kept(t, d, "c"), "c")
}

// A log that the user named may be on another disk: nothing is removed for it.
func TestNamedLogRemovesNothing(t *testing.T) {
	d := newDisk(t)
	over(t, d, "a", 100_000)
	over(t, d, "b", 100_000)
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700")
	need.Feature(t, err == nil, "the right to mount a file system")
	defer unix.Unmount(dir, unix.MNT_DETACH)
	w, p := create(t, d, "named", Plan{File: filepath.Join(dir, "out.log")}), newPipe(t)
	for {
		_, _ = unix.Write(p.w, text(64<<10)) // until the pipe is full
		_, err := w.Splice(p.r, 1<<20)
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		must(t, err)
	}
	same(t, "beside another full disk", kept(t, d, "a", "b"), "a", "b")
}

// fillDisk fills a file system.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for piece := make([]byte, 64<<10); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
}
