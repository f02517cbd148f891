package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// size is that of a file.
func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

// crowded opens a journal with many jobs that are over, and gives the number of the next fact.
func crowded(t testing.TB, jobs int, o journal.BoltOptions) (*journal.Bolt, string, messages.Seq) {
	t.Helper()
	path := place(t)
	o.NoSync = true
	b := bolt(t, path, o)
	next := messages.Seq(1)
	var batch []messages.FactRecorded
	for n := range jobs {
		batch = append(batch, life(jobID(n+1), next)...)
		next += 3
	}
	must(t, b.Append(batch))
	return b, path, next
}

// removed are the jobs from first to last.
func removed(first, last int) (b journal.Batch) {
	for n := first; n <= last; n++ {
		b.Removed = append(b.Removed, jobID(n))
	}
	return b
}

// The file of a journal shrinks when most of its jobs are removed, while it is in use, and tells
// what it told before.
func TestBoltShrinksAfterRemovals(t *testing.T) {
	o := journal.BoltOptions{CompactFrom: 1 << 20, NoSync: true}
	b, path, next := crowded(t, 2000, o)
	large := size(t, path)
	if large < o.CompactFrom {
		t.Fatalf("the file has %d bytes only", large)
	}
	var reader sync.WaitGroup
	stop, least := make(chan struct{}), next-1
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if last, err := b.Last(); err != nil || last < least {
				t.Errorf("the last is %d (%v), want %d", last, err, least)
				return
			}
		}
	})
	for first := 1; first <= 1951; first += 50 {
		must(t, b.Write(removed(first, first+49)))
	}
	for n := 0; b.Stats().Compactions == 0 && n < 100; n++ { // the facts of the removed ones go with what comes
		next = lives(t, b, next, 6000+n, 6000+n)
	}
	close(stop)
	reader.Wait()
	if small := size(t, path); small > large/2 {
		t.Errorf("the file has %d bytes of %d, after %d compactions", small, large, b.Stats().Compactions)
	}
	over, err := b.Finished(0, 1e4)
	told := ids(t, over, err)
	b = reopen(t, b, path, o)
	over, err = b.Finished(0, 1e4)
	if got := ids(t, over, err); got != told {
		t.Errorf("reopened, it tells of %s, want %s", got, told)
	}
	next = lives(t, b, next, 7000, 7010)
	if last, err := b.Last(); last != next-1 || err != nil {
		t.Errorf("the last is %d (%v), want %d", last, err, next-1)
	}
}

// A file that is too large to be compacted while writers wait is compacted when it is opened.
func TestBoltShrinksWhenItIsOpened(t *testing.T) {
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{CompactFrom: 1 << 40, NoSync: true})
	grow(t, b, 1, 8)
	large, told := size(t, path), state(t, b)
	must(t, os.WriteFile(path+".new", []byte("of a daemon that was killed"), 0o600))
	b = reopen(t, b, path, journal.BoltOptions{CompactFrom: 1 << 20, NoSync: true})
	if n, small := b.Stats().Compactions, size(t, path); n != 1 || small > large/2 {
		t.Errorf("%d compactions; the file has %d bytes of %d", n, small, large)
	}
	if state(t, b) != told {
		t.Error("it tells something else")
	}
	gone(t, path)
}

// grow makes a file that is mostly free: it records so many MiB of output with a job, and removes
// the job.
func grow(t testing.TB, b *journal.Bolt, from messages.Seq, mib int) messages.Seq {
	t.Helper()
	id := jobID(int(from))
	must(t, b.Write(journal.Batch{Facts: life(id, from), Outputs: []journal.Output{{Job: id, UID: aJob(id).UID, Data: make([]byte, mib<<20)}}}))
	must(t, b.Write(journal.Batch{Removed: []messages.JobID{id}, Facts: life(jobID(int(from)+3), from+3)}))
	return from + 6
}

// gone checks that no unfinished file is left.
func gone(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unfinished file is left: %v", err)
	}
}

// A compaction that fails leaves the journal as it was, and it goes on; only if the directory
// cannot be synced after the exchange nothing more is recorded, since it could be lost.
func TestFaultJournalCompactionFails(t *testing.T) {
	for _, step := range []string{"copied", "synced", "renamed"} {
		t.Run(step, func(t *testing.T) {
			fault, tries := syscall.EIO, 0
			o := journal.Interrupted(journal.BoltOptions{CompactFrom: 1 << 20, NoSync: true}, func(at string) error {
				if at == step {
					tries++
					return fault
				}
				return nil
			})
			path := place(t)
			b := bolt(t, path, o)
			next := grow(t, b, 1, 2)
			err := b.Append(life(jobID(int(next)), next))
			if broken := step == "renamed"; broken != errors.Is(err, fault) || broken != (b.Health() != nil) {
				t.Fatalf("the next write: %v; health %v", err, b.Health())
			}
			last := next - 1
			if err == nil {
				last += 3
			}
			if tries != 1 {
				t.Errorf("it was tried %d times", tries)
			}
			gone(t, path)
			_ = b.Close()
			b = bolt(t, path, journal.BoltOptions{CompactFrom: 1 << 20, NoSync: true})
			if got, err := b.Last(); got != last || err != nil {
				t.Errorf("the last is %d (%v), want %d", got, err, last)
			}
		})
	}
}

// No other process opens the journal during the exchange of its file, neither the old one nor
// the new one.
func TestFaultJournalIsOpenedDuringItsCompaction(t *testing.T) {
	path := place(t)
	var others sync.WaitGroup
	o := journal.Interrupted(journal.BoltOptions{CompactFrom: 1 << 20, NoSync: true}, func(at string) error {
		if _, err := journal.OpenBolt(path, journal.BoltOptions{Timeout: time.Millisecond}); at != "copied" && !errors.Is(err, journal.ErrInUse) {
			t.Errorf("%s: got %v", at, err)
		}
		others.Go(func() { // it waits for the lock of the file that it finds
			if b, err := journal.OpenBolt(path, journal.BoltOptions{Timeout: 100 * time.Millisecond}); !errors.Is(err, journal.ErrInUse) {
				t.Errorf("%s: got %v", at, err)
				_ = b.Close()
			}
		})
		return nil
	})
	b := bolt(t, path, o)
	next := grow(t, b, 1, 2)
	others.Wait()
	must(t, b.Append(life(jobID(int(next)), next)))
}

// compactMe tells the child of the kill test where it kills itself.
const compactMe = "compact:"

// compacting gives appendUntilKilled jobs whose large outputs make the file sparse when they are
// forgotten. The process kills itself at a step of a compaction, after it came there so many times.
func compacting(step string, times int) (journal.BoltOptions, func(n int, id messages.JobID) []journal.Output) {
	o := journal.Interrupted(journal.BoltOptions{CompactFrom: 1 << 20}, func(at string) error {
		if at == step {
			if times--; times < 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		return nil
	})
	return o, func(n int, id messages.JobID) []journal.Output {
		if n%30 != 0 {
			return nil
		}
		return []journal.Output{{Job: id, UID: aJob(id).UID, Data: make([]byte, 1<<20)}}
	}
}

// F14, F46: killed at any step of a compaction, the journal has all that it acknowledged, and no
// unfinished file outlasts the next opening.
func TestFaultJournalIsKilledWhileItIsCompacted(t *testing.T) {
	for _, step := range []string{"copied", "synced", "renamed", "swapped", "none"} {
		t.Run(step, func(t *testing.T) {
			path := place(t)
			known, sync := messages.Seq(0), ""
			for round := range 4 {
				lines := 1 << 20 // it kills itself
				if step == "none" {
					lines, sync = 20+rand.IntN(100), "nosync:" // a kill loses nothing of the page cache
				}
				acked := max(known, killed(t, fmt.Sprintf("%s%s%s:%d:%s", sync, compactMe, step, rand.IntN(2), path), lines))
				b, err := journal.OpenBolt(path, journal.BoltOptions{CompactFrom: 1 << 20})
				must(t, err)
				last, err := b.Last()
				must(t, err)
				if last != acked && last != acked+3 {
					t.Fatalf("round %d: %d was acknowledged, %d is recorded", round, acked, last)
				}
				judge(t, b, last)
				must(t, b.Close())
				gone(t, path)
				known = last
			}
			files, err := os.ReadDir(filepath.Dir(path))
			must(t, err)
			if len(files) != 1 {
				t.Errorf("there are %d files, want the journal alone", len(files))
			}
		})
	}
}

// parseCompact reads the assignment of a child.
func parseCompact(where string) (step string, times int, path string, is bool) {
	rest, is := strings.CutPrefix(where, compactMe)
	if !is {
		return "", 0, where, false
	}
	parts := strings.SplitN(rest, ":", 3)
	_, _ = fmt.Sscan(parts[1], &times)
	return parts[0], times, parts[2], true
}
