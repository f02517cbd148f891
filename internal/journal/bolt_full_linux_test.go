package journal_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"troupe/internal/journal"
	"troupe/internal/test/need"
	"troupe/messages"
)

// F32 for the daemon's journal: on a full disk the error goes up and nothing of
// the batch is there; when there is room the same batch is taken.
func TestFaultJournalFullDisk(t *testing.T) {
	dir := smallDisk(t, "4m")
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
		filler := fillUp(t, dir)
		err := more()
		for ; err == nil; err = more() { // the pages that are free are used first
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
		if err := b.Health(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("round %d: its health is %v, want ENOSPC", round, err)
		}
		must(t, os.Remove(filler))
		for range 20 {
			must(t, more())
		}
		must(t, b.Health())
		b = reopen(t, b, path, journal.BoltOptions{})
		if got, err := b.Read(0, 1e6); err != nil || len(got) != int(next-1) {
			t.Fatalf("round %d: %d facts are there (%v), want %d", round, len(got), err, next-1)
		}
	}
}

// A full disk keeps nobody from opening a journal that is there: what has become too
// old is forgotten later.
func TestFaultJournalOpensOnAFullDisk(t *testing.T) {
	dir := smallDisk(t, "32m")
	path, few := filepath.Join(dir, "journal.db"), journal.BoltOptions{Retention: journal.Retention{Jobs: 1, Facts: 1}}
	b := bolt(t, path, journal.BoltOptions{})
	const jobs = 3000
	var facts []messages.FactRecorded
	for n := range jobs {
		facts = append(facts, life(jobID(n+1), messages.Seq(3*n+1))...)
	}
	must(t, b.Append(facts))
	filler := fillUp(t, dir)
	b = reopen(t, b, path, few)
	if got, err := b.Read(0, 1e6); err != nil || len(got) != 3*jobs || b.Stats().Trimmed > 0 {
		t.Fatalf("%d facts are there (%v), want %d: %d were forgotten", len(got), err, 3*jobs, b.Stats().Trimmed)
	}
	must(t, os.Remove(filler))
	b = reopen(t, b, path, few)
	if b.Stats().Trimmed == 0 {
		t.Error("with room, nothing was forgotten")
	}
}

// smallDisk is a file system of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(dir, 0o700))
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0700")
	need.Feature(t, err == nil, "the right to mount a file system")
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fillUp takes all room that is left, and gives the file that has it.
func fillUp(t *testing.T, dir string) string {
	t.Helper()
	filler, err := os.Create(filepath.Join(dir, "filler"))
	must(t, err)
	if _, err := io.Copy(filler, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk takes all: %v", err)
	}
	must(t, filler.Close())
	return filler.Name()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
