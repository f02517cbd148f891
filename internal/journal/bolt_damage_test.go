package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"troupe/internal/journal"
	"troupe/messages"
)

// state is all that a journal tells.
func state(t testing.TB, j all) string {
	t.Helper()
	facts, err := j.Read(0, 1e6)
	must(t, err)
	live, err := j.Live()
	must(t, err)
	over, err := j.Finished(0, 1e6)
	must(t, err)
	channels, err := j.Channels()
	must(t, err)
	last, err := j.Last()
	must(t, err)
	text, err := json.Marshal([]any{last, facts, live, over, channels})
	must(t, err)
	for _, f := range facts {
		text = fmt.Appendf(text, " %T", f.Fact)
	}
	return string(text)
}

// history is a file after each of its commits, and what it told then.
func history(t testing.TB, commits int) (files [][]byte, states []string) {
	t.Helper()
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{NoSync: true})
	next := messages.Seq(1)
	snap := func() {
		file, err := os.ReadFile(path)
		must(t, err)
		files, states = append(files, file), append(states, state(t, b))
	}
	snap()
	for n := range commits {
		var facts []messages.FactRecorded
		for i := range 1 + n%7 {
			facts = append(facts, life(jobID(10*n+i), next)...)
			next += 3
		}
		facts = append(facts, number(next, start(jobID(10*n+8)), end(jobID(10*n-2)))...)
		next += 2
		must(t, b.Write(journal.Batch{
			Facts:    facts,
			Keys:     []journal.Key{{Job: jobID(10 * n), Key: fmt.Sprint(n)}},
			Channels: []journal.Channel{{ID: "c", Acked: next}},
		}))
		snap()
	}
	return files, states
}

// opened opens a file of these bytes, and gives its state or its error.
func opened(t *testing.T, dir string, file []byte) (string, error) {
	t.Helper()
	path := filepath.Join(dir, "journal.db")
	must(t, os.WriteFile(path, file, 0o600))
	b, err := journal.OpenBolt(path, journal.BoltOptions{NoSync: true})
	if err != nil {
		if !errors.Is(err, journal.ErrDamaged) && !errors.Is(err, journal.ErrForeign) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, file) {
			t.Fatal("a file that was refused was changed")
		}
		return "", err
	}
	defer b.Close()
	return state(t, b), nil
}

func private(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dir, 0o700))
	return dir
}

const (
	sector = 512
	page   = 4096
)

// mixed is the newer file with each sector taken from the older one where old says so.
func mixed(older, newer []byte, old func(at int) bool) []byte {
	file := bytes.Clone(newer)
	for at := 0; at < len(older) && at < len(newer); at += sector {
		if old(at) {
			copy(file[at:at+sector], older[at:at+sector])
		}
	}
	return file
}

// Power that fails during a commit leaves the state before it or after it: what
// was written before the sync may be there in any part, the new beginning only
// when all else is.
func TestFaultJournalPowerCut(t *testing.T) {
	files, states := history(t, 40)
	dir, random := private(t), rand.New(rand.NewPCG(1, 2))
	for trial := range 100 {
		i := random.IntN(len(files) - 1)
		file := mixed(files[i], files[i+1], func(at int) bool { return at < 2*page || random.IntN(2) == 0 })
		if got, err := opened(t, dir, file); err != nil || got != states[i] {
			t.Fatalf("trial %d, before the new beginning: %v, and the state before is told: %t", trial, err, got == states[i])
		}
		file = bytes.Clone(files[i+1]) // all is there, and a part of the beginning
		for at := range 2 * page {
			if random.IntN(2) == 0 {
				file[at] = files[i][at]
			}
		}
		if got, err := opened(t, dir, file); err != nil || got != states[i] && got != states[i+1] {
			t.Fatalf("trial %d, within the new beginning: %v", trial, err)
		}
	}
}

// Whatever else happens to a file, it tells one of its true states or nothing.
func TestFaultJournalIsDamaged(t *testing.T) {
	files, states := history(t, 40)
	were := map[string]bool{}
	for _, s := range states {
		were[s] = true
	}
	dir, random := private(t), rand.New(rand.NewPCG(rand.Uint64(), 0))
	pick := func() []byte { return files[random.IntN(len(files))] }
	told := 0
	for name, damage := range map[string]func() []byte{
		"cut":          func() []byte { f := pick(); return f[:random.IntN(len(f))] },
		"cut at pages": func() []byte { f := pick(); return f[:random.IntN(len(f)/page)*page] },
		"torn":         func() []byte { return mixed(pick(), pick(), func(int) bool { return random.IntN(2) == 0 }) },
		"torn a little": func() []byte {
			i := random.IntN(len(files) - 2)
			return mixed(files[i], files[i+2], func(int) bool { return random.IntN(8) == 0 })
		},
		"a page of before": func() []byte {
			i := random.IntN(len(files) - 3)
			victim := random.IntN(len(files[i])/page) * page
			return mixed(files[i], files[i+3], func(at int) bool { return at/page*page == victim })
		},
		"zeroed sector": func() []byte {
			f := bytes.Clone(pick())
			at := random.IntN(len(f)/sector) * sector
			clear(f[at : at+sector])
			return f
		},
		"flipped bits": func() []byte {
			f := bytes.Clone(pick())
			for range 1 + random.IntN(4) {
				f[random.IntN(len(f))] ^= 1 << random.IntN(8)
			}
			return f
		},
		"noise in a page": func() []byte {
			f := bytes.Clone(pick())
			at := random.IntN(len(f)/page) * page
			for i := range 64 {
				f[at+i] = byte(random.Uint32())
			}
			return f
		},
		"swapped pages": func() []byte {
			f := bytes.Clone(pick())
			a, b := random.IntN(len(f)/page)*page, random.IntN(len(f)/page)*page
			was := bytes.Clone(f[a : a+page])
			copy(f[a:a+page], f[b:b+page])
			copy(f[b:b+page], was)
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			for trial := range 100 {
				got, err := opened(t, dir, damage())
				if err == nil && !were[got] {
					t.Fatalf("trial %d: it tells what never was", trial)
				}
				if err == nil {
					told++
				}
			}
		})
	}
	t.Logf("%d of 900 damaged files were whole where it matters", told)
}

// A beginning that says of itself that it is whole, and is not: bbolt would take
// it, and end the process.
func TestFaultJournalBeginsFalsely(t *testing.T) {
	files, states := history(t, 3)
	dir, last := private(t), len(files)-1
	for at := range 2 * page {
		if at%page >= 80 {
			continue // nothing of a beginning
		}
		for _, v := range []byte{0, 1, 0x30, 0xff} {
			file := bytes.Clone(files[last])
			file[at] = v
			journal.Begin(file)
			if got, err := opened(t, dir, file); err == nil && got != states[last] && got != states[last-1] {
				t.Errorf("with %d at %d it tells what never was", v, at)
			}
		}
	}
}

// Whatever is written over a file: looking at it ends, and what is let pass can be
// used, and tells what was true.
func FuzzFile(f *testing.F) {
	files, states := history(f, 30)
	for _, patch := range [][]byte{{0xff}, make([]byte, 8), make([]byte, 64), {1, 0, 0, 0, 0, 0, 0, 0}} {
		for _, at := range []uint32{16, 32, page + 48, 2 * page, 3*page + 10, 9*page + 12, 9*page + 16} {
			f.Add(at, patch, true)
			f.Add(at, patch, false)
		}
	}
	dir := private(f)
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, whole bool) {
		n := int(at) % len(files)
		file := bytes.Clone(files[n])
		copy(file[int(at)%len(file):], patch)
		if whole {
			journal.Begin(file)
		}
		if err := journal.Verify(file); err != nil {
			return
		}
		got, err := opened(t, dir, file)
		if err == nil && got != states[n] && got != states[max(n-1, 0)] {
			t.Fatal("it tells what never was")
		}
	})
}
