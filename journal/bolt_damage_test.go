package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"troupe/journal"
	"troupe/messages"
)

// state is all that a journal tells.
func state(t testing.TB, j all) string {
	t.Helper()
	facts, err := j.Read(0, 1e6)
	must(t, err)
	live, err := j.Live()
	must(t, err)
	over, err := j.Over(0, 1e6)
	must(t, err)
	channels, err := j.Channels()
	must(t, err)
	last, err := j.Last()
	must(t, err)
	return fmt.Sprint(last, facts, live, over, channels)
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
func TestBoltSurvivesAPowerCut(t *testing.T) {
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
func TestBoltNeverTellsWrongFacts(t *testing.T) {
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

// Whatever the bytes are, looking at them ends, with an error of a kind.
func FuzzFile(f *testing.F) {
	files, _ := history(f, 2)
	f.Add(files[0])
	f.Add(files[len(files)-1])
	f.Add([]byte("hello"))
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, file []byte) {
		must(t, os.WriteFile(path, file, 0o600))
		_ = journal.Verify(path)
	})
}
