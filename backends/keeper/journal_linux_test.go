package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends/engine"
	"troupe/internal/test/need"
	"troupe/messages"
	"troupe/spill"
)

func openTestJournal(t testing.TB, path string) *journal {
	t.Helper()
	dir, err := openDir(path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	j, err := openJournal(dir, false, func(err error) {
		if !strings.Contains(err.Error(), "torn or damaged") { // which some of the tests make it
			t.Errorf("fault: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func history(id messages.UID) []entry {
	return []entry{
		{Kind: string(engine.RecordStarted), Job: id, PID: 7, StartTime: 8, Meta: []byte("first")},
		{Kind: entryNoted, Job: id, Meta: []byte("second")},
		{Kind: string(engine.RecordExited), Job: id, Status: messages.ExitStatus{Code: 3}},
		{Kind: string(engine.RecordDrained), Job: id, Status: messages.ExitStatus{Code: 3}, Sizes: messages.Sizes{9}, Seq: 11},
		{Kind: entrySettled, Job: id, Seq: 11},
		{Kind: string(engine.RecordForgotten), Job: id},
	}
}

// What a journal reserves on the disk is free again when its keeper has ended, and when
// one that was killed is found.
func TestJournalGivesBack(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	blocks := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(path, journalName), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	j := openTestJournal(t, path)
	for _, e := range history("A")[:4] {
		j.append(e)
	}
	j.last = true
	had := blocks()
	need.Feature(t, had >= journalReserve, "a file system that reserves")
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if left := blocks(); left > journalLow {
		t.Errorf("%d bytes are taken behind the end, %d before", left, had)
	}

	if err := os.WriteFile(filepath.Join(path, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j = openTestJournal(t, path)
	had = blocks()
	Sweep(root, time.Hour)
	if left := blocks(); had < journalReserve || left > journalLow {
		t.Errorf("%d bytes are taken behind a death, %d before", left, had)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	j = openTestJournal(t, path)
	if got := j.table.entries(); len(got) == 0 {
		t.Error("what was recorded is lost")
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

// Wherever a journal is cut off, what is whole before it counts, and what is
// written next stands behind that (F14).
func TestTornJournal(t *testing.T) {
	var whole []byte
	var ends []int
	entries := append([]entry{{Kind: entryOpened, Keeper: "K", BootID: "B"}}, history("A")...)
	for _, e := range entries {
		var err error
		if whole, err = appendRecord(whole, e); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(whole))
	}
	dir := filepath.Join(t.TempDir(), "k")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(filepath.Join(dir, journalName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := tableOf(nil)
		for i, end := range ends {
			if end <= cut {
				want.note(entries[i])
			}
		}
		j := openTestJournal(t, dir)
		if got := j.past(); !reflect.DeepEqual(got.jobs["A"] == nil, want.jobs["A"] == nil) || got.highest != want.highest {
			t.Fatalf("cut at %d: %+v, want %+v", cut, got, want)
		}
		j.append(entry{Kind: string(engine.RecordStarted), Job: "B", PID: 9})
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
		j = openTestJournal(t, dir)
		if p := j.past().jobs["B"]; p == nil || p.started.PID != 9 {
			t.Fatalf("cut at %d: what was written behind it is lost", cut)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What was written anew says the same.
func TestCompactedJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "k")
	j := openTestJournal(t, dir)
	j.append(entry{Kind: entryOpened, Keeper: "K", BootID: "B"})
	for i := range 50 {
		id := messages.UID(fmt.Sprintf("J%02d", i))
		all := history(id)
		for _, e := range all[:i%len(all)+1] {
			j.append(e)
		}
	}
	before := j.past()
	size := j.size
	if err := j.compact(); err != nil {
		t.Fatal(err)
	}
	if j.size >= size {
		t.Errorf("%d bytes became %d", size, j.size)
	}
	j.append(entry{Kind: entryNoted, Job: "J01", Meta: []byte("third")})
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	j = openTestJournal(t, dir)
	defer j.close()
	after := j.past()
	if got := string(after.jobs["J01"].meta); got != "third" {
		t.Errorf("noted behind it: %q", got)
	}
	after.jobs["J01"].meta, before.jobs["J01"].meta = nil, nil
	after.jobs["J01"].started.Meta, before.jobs["J01"].started.Meta = nil, nil
	if !reflect.DeepEqual(before.jobs, after.jobs) || before.highest != after.highest || !reflect.DeepEqual(before.opened.Keeper, after.opened.Keeper) {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
}

// On a full disk exits are recorded in what was reserved, and nothing is started
// (F32).
func TestJournalOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nobody else may mount
	}
	place := t.TempDir()
	if err := unix.Mount("troupe", place, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		t.Logf("no file system can be mounted: %v", err)
		return
	}
	defer unix.Unmount(place, unix.MNT_DETACH)
	j := openTestJournal(t, filepath.Join(place, "k"))
	if e := j.full(); e != nil {
		t.Fatalf("with room: %v", e)
	}
	fill, err := os.Create(filepath.Join(place, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer fill.Close()
	for {
		if _, err := fill.Write(make([]byte, 64<<10)); err != nil {
			break
		}
	}
	for range 20_000 { // about 2 MiB
		j.append(history("A")[1])
	}
	if j.full() != nil {
		t.Log("starts are refused before the reserve is used up")
	}
	for j.full() == nil {
		j.append(history("A")[1])
	}
	for range 10_000 {
		j.append(history("A")[1])
	}
	if j.failed || len(j.backlog) > 0 {
		t.Error("an exit could not be recorded")
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
}

func FuzzJournal(f *testing.F) {
	var whole []byte
	for _, e := range history("A") {
		whole, _ = appendRecord(whole, e)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Fuzz(func(t *testing.T, p []byte) {
		entries, good, damaged, _ := readRecords(p)
		if good > len(p) || len(damaged) > len(entries) {
			t.Fatal("more than there is")
		}
		l := tableOf(entries)
		again := tableOf(l.entries())
		if len(again.jobs) != len(l.jobs) {
			t.Fatalf("%d jobs became %d", len(l.jobs), len(again.jobs))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j := openTestJournal(b, filepath.Join(b.TempDir(), "k"))
	defer j.close()
	for b.Loop() {
		j.append(entry{Kind: string(engine.RecordExited), Job: "01JD0000000000000000000000", At: time.Now(), Status: messages.ExitStatus{Code: 1}})
	}
}

// The bounds of the logs are known before those are counted, also behind a compaction.
func TestJournalKeepsLimits(t *testing.T) {
	path := t.TempDir()
	_ = os.Chmod(path, 0o700)
	j := openTestJournal(t, path)
	want := spill.Limits{Stored: 5, Finished: 7}
	j.append(entry{Kind: entryLimited, Limits: &spill.Limits{Stored: 1}})
	j.append(entry{Kind: entryLimited, Limits: &want})
	if err := j.compact(); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	j = openTestJournal(t, path)
	defer j.close()
	if got := j.limits(); got == nil || *got != want {
		t.Errorf("got %+v", got)
	}
}

// A disk that takes nothing for long costs no record: what counts is written anew
// when it does, in bounded memory meanwhile.
func TestJournalOverALongShortage(t *testing.T) {
	path := t.TempDir()
	_ = os.Chmod(path, 0o700)
	dir, err := openDir(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	j, err := openJournal(dir, false, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	first := messages.UID("first")
	j.append(entry{Kind: string(engine.RecordStarted), Job: first, PID: 7})
	full, err := os.Open(filepath.Join(path, journalName)) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	good := j.file
	j.file = full
	j.mu.Unlock()
	for i := range 300 {
		j.append(entry{Kind: string(engine.RecordStarted), Job: messages.UID(fmt.Sprintf("j%d", i)), PID: 1 + i, Meta: make([]byte, 4096)})
	}
	j.append(entry{Kind: string(engine.RecordExited), Job: first, Status: messages.ExitStatus{Code: 3}})
	j.mu.Lock()
	if len(j.backlog) > maxBacklog+8192 {
		t.Errorf("%d bytes wait", len(j.backlog))
	}
	j.mu.Unlock()
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	good.Close()
	j, err = openJournal(dir, false, func(err error) { t.Errorf("fault: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	past := j.past()
	if p := past.jobs[first]; len(past.jobs) != 301 || p == nil || p.exited == nil || p.exited.Status.Code != 3 {
		t.Errorf("%d jobs, the first is %+v", len(past.jobs), p)
	}
}

// What could not be synced is not taken for safe at the next try.
func TestJournalSyncsAgain(t *testing.T) {
	path := t.TempDir()
	_ = os.Chmod(path, 0o700)
	dir, err := openDir(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	file, err := os.CreateTemp(path, "x")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	j := &journal{dir: dir, file: file, dirty: true, table: tableOf(nil)}
	for range 2 {
		if err := j.sync(); err == nil {
			t.Fatal("a file that is closed was synced")
		}
	}
}

// What a keeper says of its faults does not grow for ever.
func TestFaultsAreBounded(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "err"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	say := saysFaults(f, maxErrors)
	for range 300 {
		say("job", errors.New(strings.Repeat("x", 10_000)))
	}
	if st, err := f.Stat(); err != nil || st.Size() > maxErrors+20_000 || st.Size() == 0 {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
}

// A job whose keeper died before it had ended is over for who looks, as soon as the
// next keeper has begun; and still when the journal was written anew.
func TestALostJobIsOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "k")
	j := openTestJournal(t, dir)
	j.append(entry{Kind: entryOpened, Keeper: "K1", BootID: "B"})
	j.append(entry{Kind: string(engine.RecordStarted), Job: "A", PID: 9, StartTime: 1})
	over := func(want bool) {
		t.Helper()
		if seen, err := Inspect(dir); err != nil || !seen.Known || seen.Over != want {
			t.Errorf("%+v, %v", seen, err)
		}
	}
	over(false)
	if err := j.compact(); err != nil {
		t.Fatal(err)
	}
	over(false)
	j.append(entry{Kind: entryOpened, Keeper: "K2", BootID: "B"})
	over(true)
	if err := j.compact(); err != nil {
		t.Fatal(err)
	}
	over(true)
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

// The room that a journal has counts for the keeper that opens it again.
func TestAKeeperNeedsTheRoomThatItsJournalLacks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "k")
	if got := DiskNeeded(dir); got != journalReserve {
		t.Errorf("without a journal %d", got)
	}
	j := openTestJournal(t, dir)
	j.append(history("A")[0])
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if got := DiskNeeded(dir); j.room > 0 && got > 1<<10 {
		t.Errorf("with the room of one %d", got)
	}
}
