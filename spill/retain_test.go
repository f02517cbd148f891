package spill

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

func finished(t *testing.T, d *Disk, id string, n int) {
	t.Helper()
	w := create(t, d, id, Plan{})
	_, err := w.Append(text(n))
	must(t, err)
	must(t, w.Seal())
}

func known(d *Disk, id string) bool {
	l, err := d.Open(id, Merged)
	if err == nil {
		l.Close()
	}
	return !errors.Is(err, ErrNotFound)
}

// The store forgets finished jobs, the one used least first, and never one that
// runs.
func TestFaultRetentionIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		size   int
	}{
		"by number":    {Limits{Finished: 3}, 10},
		"by memory":    {Limits{Sealed: 3 * 1000}, 1000},
		"by the files": {Limits{Stored: 3 * 60_000}, 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, func(o *Options) { o.Limits = c.limits })
			live := create(t, d, "live", Plan{})
			_, err := live.Append(text(c.size))
			must(t, err)
			for i := range 3 {
				finished(t, d, fmt.Sprintf("j%d", i), c.size)
			}
			path := d.Path("j1", Merged)
			if !known(d, "j0") { // and this is a use
				t.Fatal("within the bounds a job is forgotten")
			}
			finished(t, d, "j3", c.size)
			for id, want := range map[string]bool{"live": true, "j0": true, "j1": false, "j2": true, "j3": true} {
				if known(d, id) != want {
					t.Errorf("%s is known: %v", id, !want)
				}
			}
			if path != "" {
				if _, err := os.Stat(path); err == nil {
					t.Error("the file of a forgotten job stays")
				}
			}
		})
	}
}

// The last job is never forgotten, however large it is: somebody is about to read it.
func TestTheLastJobIsNotForgotten(t *testing.T) {
	d := newDisk(t, func(o *Options) { o.Limits.Sealed = 10 })
	finished(t, d, "j0", 1000)
	if !known(d, "j0") {
		t.Error("it is")
	}
	finished(t, d, "j1", 1000)
	if known(d, "j0") || !known(d, "j1") {
		t.Error("the one before it stays")
	}
	if n := d.memory.Load(); n != 1000 {
		t.Errorf("%d bytes are counted", n)
	}
}
