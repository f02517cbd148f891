package keeper

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"troupe/backends/engine"
	"troupe/messages"
	"troupe/spill"
)

// recorded returns a journal of three jobs, its entries, and where each record begins.
func recorded(t *testing.T) (whole []byte, entries []entry, begins []int) {
	t.Helper()
	entries = []entry{{Kind: entryOpened, Keeper: "K", BootID: "B"}, {Kind: entryLimited, Limits: &spill.Limits{Stored: 1 << 30}}}
	for _, id := range []messages.UID{"A", "B", "C"} {
		entries = append(entries, history(id)[:5]...)
	}
	for i, e := range entries {
		begins = append(begins, len(whole))
		var err error
		if whole, err = appendRecord(whole, e); err != nil {
			t.Fatal(err)
		}
		entries[i], _, _ = readRecord(whole[begins[i]:]) // as it is read
	}
	return whole, entries, append(begins, len(whole))
}

// A flipped bit costs the record that it is in, and no other, wherever it is.
func TestDamagedJournal(t *testing.T) {
	whole, entries, begins := recorded(t)
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1 << (i % 8)
		hit := 0
		for begins[hit+1] <= i {
			hit++
		}
		got, good, ranges, err := readRecords(damaged)
		if err != nil {
			t.Fatalf("a flip at %d: %v", i, err)
		}
		want := append(append([]entry(nil), entries[:hit]...), entries[hit+1:]...)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("a flip at %d, in record %d of %d: %d entries", i, hit, len(entries), len(got))
		}
		if last := hit == len(entries)-1; last && (good != begins[hit] || ranges != nil) {
			t.Fatalf("a flip in the last record: %d bytes, damaged %v", good, ranges)
		} else if is := (spill.Gap{From: int64(begins[hit]), To: int64(begins[hit+1])}); !last && (good != len(whole) || len(ranges) != 1 || ranges[0] != is) {
			t.Fatalf("a flip at %d: %d bytes, damaged %v, want %v", i, good, ranges, is)
		}
	}
}

// So does any other damage: a range of zeros, one of garbage, and two flips.
func TestJournalWithDamagedRanges(t *testing.T) {
	whole, entries, begins := recorded(t)
	garbage := bytes.Repeat([]byte{0x05, 0, 0, 0, 0xff, 7}, len(whole))
	for name, c := range map[string]struct {
		damage func(p []byte)
		lost   []int
		ranges int
	}{
		"zeros":       {func(p []byte) { clear(p[begins[3]+2 : begins[6]-1]) }, []int{3, 4, 5}, 1},
		"garbage":     {func(p []byte) { copy(p[begins[2]:begins[4]], garbage) }, []int{2, 3}, 1},
		"two records": {func(p []byte) { p[begins[1]] ^= 4; p[begins[9]+9] ^= 4 }, []int{1, 9}, 2},
		"the first":   {func(p []byte) { p[0] = 0xff }, []int{0}, 1},
		"a torn tail": {func(p []byte) { p[begins[4]] ^= 1; clear(p[begins[16]+3:]) }, []int{4, 16}, 1},
	} {
		p := bytes.Clone(whole)
		c.damage(p)
		var want []entry
		for i, e := range entries {
			if len(c.lost) > 0 && c.lost[0] == i {
				c.lost = c.lost[1:]
				continue
			}
			want = append(want, e)
		}
		got, _, ranges, err := readRecords(p)
		if err != nil || !reflect.DeepEqual(got, want) || len(ranges) != c.ranges {
			t.Errorf("%s: %d entries, want %d; damaged %v", name, len(got), len(want), ranges)
		}
	}
}

// Without any one of its records a job has the end that the others show, and so has the
// keeper.
func TestAJobWithoutOneOfItsRecords(t *testing.T) {
	_, entries, _ := recorded(t)
	entries = append([]entry{entries[0]}, entries...) // a keeper says twice that it was opened
	for i, lost := range entries {
		l := tableOf(nil)
		for k, e := range entries {
			if k != i {
				l.note(e)
			}
		}
		if l.opened == nil || l.opened.Keeper != "K" {
			t.Errorf("without %s: the keeper is %+v", lost.Kind, l.opened)
		}
		l.note(entry{Kind: entryOpened, Keeper: "next"})
		for _, id := range []messages.UID{"A", "B", "C"} {
			p := l.jobs[id]
			if p == nil || !p.over() || p.lost || p.started.PID != 7 && lost.Kind != string(engine.RecordStarted) {
				t.Fatalf("without %s of %s: %+v", lost.Kind, lost.Job, p)
			}
			if end := p.drained; end == nil && (p.exited == nil || lost.Kind != string(engine.RecordDrained)) || end != nil && end.Status.Code != 3 {
				t.Errorf("without %s of %s: %+v", lost.Kind, lost.Job, p)
			}
		}
	}
}

// A journal that was damaged counts, goes on behind the damage, and is whole again when its
// keeper has ended.
func TestAKeeperRewritesADamagedJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "k")
	j := openTestJournal(t, dir)
	for _, id := range []messages.UID{"A", "B"} {
		for _, e := range history(id)[:4] {
			j.append(e)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if Damage(dir) != "" {
		t.Error("a whole journal counts as damaged")
	}
	path := filepath.Join(dir, journalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 0x20
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(Damage(dir), "are damaged, first at byte") {
		t.Errorf("the damage is %q", Damage(dir))
	}
	where, err := openDir(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer where.Close()
	var faults []string
	if j, err = openJournal(where, false, func(err error) { faults = append(faults, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	if len(faults) != 1 || faults[0] != j.damage || !strings.Contains(j.damage, "are damaged") {
		t.Errorf("the keeper says %q", faults)
	}
	j.append(history("C")[0])
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if Damage(dir) != "" {
		t.Error("the damage is still there")
	}
	j = openTestJournal(t, dir)
	defer j.close()
	for _, id := range []messages.UID{"A", "B", "C"} {
		if p := j.past().jobs[id]; p == nil || id != "C" && !p.over() {
			t.Errorf("%s: %+v", id, p)
		}
	}
}
