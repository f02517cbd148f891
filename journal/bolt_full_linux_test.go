package journal_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"troupe/journal"
	"troupe/messages"
	"troupe/supervision_test/need"
)

// F32 for the daemon's journal: on a full disk the error goes up and nothing of
// the batch is there; when there is room the same batch is taken.
func TestFaultJournalFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(dir, 0o700))
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=0700")
	need.Feature(t, err == nil, "the right to mount a file system")
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })

	path := filepath.Join(dir, "journal.db")
	b := bolt(t, path, journal.BoltOptions{})
	next := messages.Seq(1)
	more := func() error {
		err := b.Append(life(jobID(int(next)), next))
		if err == nil {
			next += 3
		}
		return err
	}
	for range 10 {
		must(t, more())
	}
	for round := range 5 {
		filler, err := os.Create(filepath.Join(dir, "filler"))
		must(t, err)
		if _, err := io.Copy(filler, zeros{}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk takes all: %v", err)
		}
		must(t, filler.Close())
		for err = more(); err == nil; err = more() { // the pages that are free are used first
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("round %d: got %v, want ENOSPC", round, err)
		}
		if last, err := b.Last(); err != nil || last != next-1 {
			t.Fatalf("round %d: %d facts are recorded (%v), want %d", round, last, err, next-1)
		}
		if err := more(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("round %d, again: got %v, want ENOSPC", round, err)
		}
		must(t, os.Remove(filler.Name()))
		for range 20 {
			must(t, more())
		}
		b = reopen(t, b, path, journal.BoltOptions{})
		if got, err := b.Read(0, 1e6); err != nil || len(got) != int(next-1) {
			t.Fatalf("round %d: %d facts are there (%v), want %d", round, len(got), err, next-1)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
