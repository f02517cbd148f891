package spill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// Ten thousand silent logs hold no descriptor, and as many files at most what the cache may
// keep.
func TestFaultManyLogsHoldFewDescriptors(t *testing.T) {
	base := openFiles()
	d := newDisk(t, func(o *Options) { o.Limits.Files = 32 })
	p := newPipe(t)
	var ws []*writer
	for i := range 10_000 {
		w := create(t, d, fmt.Sprintf("j%d", i), Plan{})
		if n, err := w.Splice(p.r, 1<<20); n != 0 || err != unix.EAGAIN {
			t.Fatalf("an empty pipe: %d, %v", n, err)
		}
		ws = append(ws, w)
	}
	if n := openFiles() - base - 2; n > 1 {
		t.Errorf("%d descriptors for silent logs", n)
	}
	for _, w := range ws[:300] {
		_, err := w.Append(text(InlineLimit + 1))
		must(t, err)
	}
	if n := openFiles() - base - 2; n > 32+5 {
		t.Errorf("%d descriptors for 300 files", n)
	}
	for i, w := range ws[:300] {
		if i%50 == 0 && !bytes.Equal(content(t, d, w.id), text(InlineLimit+1)) {
			t.Errorf("log %d is not what was written", i)
		}
		must(t, w.Seal())
	}
	if n := openFiles() - base - 2; n > 5 {
		t.Errorf("%d descriptors for files that are sealed", n)
	}
}

// M4: beyond the bounds of memory a log is a file from its first byte.
func TestFaultMemoryIsBounded(t *testing.T) {
	for name, limits := range map[string]Limits{
		"logs":  {Memfds: 3},
		"bytes": {Memory: 3 * 1000},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, func(o *Options) { o.Limits = limits })
			var first *writer
			for i := range 8 {
				id := fmt.Sprintf("j%d", i)
				w := create(t, d, id, Plan{})
				if i == 0 {
					first = w
				}
				push(t, w, newPipe(t), text(1000))
				if inFile := w.State().File != ""; inFile != (i >= 3) {
					t.Errorf("log %d is in a file: %v", i, inFile)
				}
				if !bytes.Equal(content(t, d, id), text(1000)) {
					t.Errorf("log %d is not what was written", i)
				}
			}
			must(t, d.Remove("j0"))
			must(t, first.Seal())
			if w := create(t, d, "j9", Plan{}); w != nil {
				push(t, w, newPipe(t), text(1000))
				if w.State().File != "" {
					t.Error("room that was given back is not used")
				}
			}
		})
	}
}

// Logs that grow together beyond the bound move out one by one.
func TestFaultMemoryIsBoundedWhileLogsGrow(t *testing.T) {
	d := newDisk(t, func(o *Options) { o.Limits.Memory = 50_000 })
	var ws []*writer
	for i := range 4 {
		ws = append(ws, create(t, d, fmt.Sprintf("j%d", i), Plan{}))
	}
	for range 40 {
		for _, w := range ws {
			_, err := w.Append(text(1000))
			must(t, err)
		}
	}
	if n := d.memory.Load(); n > 51_000 {
		t.Errorf("%d bytes in memory", n)
	}
}

// mountTmpfs mounts a file system of size bytes.
func mountTmpfs(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	need.Feature(t, err == nil, "the right to mount a file system")
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	return dir
}

// F31, M3: on a disk that is full the bytes stay in the pipe, and go on when
// there is room; memory that cannot move stays the log.
func TestFaultNoSpace(t *testing.T) {
	for name, plan := range map[string]Plan{"from memory": {}, "a file": {Inline: -1}} {
		t.Run(name, func(t *testing.T) {
			root := mountTmpfs(t, 1<<20)
			hog := filepath.Join(root, "hog")
			must(t, os.WriteFile(hog, make([]byte, 900<<10), 0o600))
			d, err := OpenStore(Options{Root: root, Node: testNode})
			must(t, err)
			w := create(t, d, "j1", plan)
			p := newPipe(t)
			all := text(900_000)
			p.write(t, all)
			var blocked *Blocked
			for i := 0; i < 100; i++ {
				if _, err = w.Splice(p.r, 1<<20); err != nil {
					break
				}
			}
			if !errors.As(err, &blocked) || !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("got %v", err)
			}
			must(t, os.Remove(hog))
			p.close()
			for err = nil; err == nil; {
				_, err = w.Splice(p.r, 1<<20)
			}
			if err != io.EOF || !bytes.Equal(content(t, d, "j1"), all) {
				t.Fatalf("after room was made: %v, %+v", err, w.State())
			}
			must(t, w.Seal())
			must(t, d.Close())
		})
	}
}

// F41: a file system that becomes read-only and writable again.
func TestFaultReadOnly(t *testing.T) {
	root := mountTmpfs(t, 1<<20)
	d, err := OpenStore(Options{Root: root, Node: testNode})
	must(t, err)
	defer d.Close()
	w := create(t, d, "j1", Plan{})
	_, err = w.Append(text(InlineLimit))
	must(t, err)
	must(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	p := newPipe(t)
	p.write(t, text(60_000)[InlineLimit:])
	for err = nil; err == nil; {
		_, err = w.Splice(p.r, 1<<20)
	}
	must(t, unix.Mount("", root, "", unix.MS_REMOUNT, ""))
	if !errors.Is(err, unix.EROFS) {
		t.Fatalf("got %v", err)
	}
	for err = nil; err == nil; {
		_, err = w.Splice(p.r, 1<<20)
	}
	if err != unix.EAGAIN || !bytes.Equal(content(t, d, "j1"), text(60_000)) {
		t.Fatalf("writable again: %v", err)
	}
}
