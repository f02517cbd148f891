package spill

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// M1, M2: at the inline limit a log has no file; one byte more makes one.
func TestFaultLogOutgrowsItsMemory(t *testing.T) {
	for _, how := range []string{"splice", "append"} {
		t.Run(how, func(t *testing.T) {
			d := newDisk(t)
			w := create(t, d, "j1", Plan{Group: "build"})
			early, err := d.Open("j1", Merged)
			must(t, err)
			defer early.Close()
			p := newPipe(t)
			want := text(InlineLimit + 1)
			add := func(b []byte) {
				t.Helper()
				var n int64
				var err error
				if how == "splice" {
					p.write(t, b)
					n, err = w.Splice(p.r, 1<<20)
				} else {
					var k int
					k, err = w.Append(b)
					n = int64(k)
				}
				must(t, err)
				if n != int64(len(b)) {
					t.Fatalf("%d of %d bytes went in", n, len(b))
				}
			}
			add(want[:InlineLimit])
			if got := files(t, d.tree.given); len(got) != 0 {
				t.Fatalf("there are files at the limit: %v", got)
			}
			if got := readAll(t, early); !bytes.Equal(got, want[:InlineLimit]) {
				t.Fatal("the memory does not hold what was written")
			}
			add(want[InlineLimit:])
			path := filepath.Join(d.tree.given, testNode, "sessions", "build", "j1.merged.log")
			if st := early.State(); st.File != path || st.Size != InlineLimit+1 {
				t.Fatalf("one byte more: %+v, want the file %s", st, path)
			}
			onDisk, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(onDisk, want) || !bytes.Equal(readAll(t, early), want) {
				t.Fatal("the file does not hold what was written")
			}
			p.close()
			if how == "splice" {
				if n, err := w.Splice(p.r, 10); n != 0 || err != io.EOF {
					t.Fatalf("at the end: %d, %v", n, err)
				}
			}
			must(t, w.Seal())
			if !early.State().Closed {
				t.Fatal("a reader that was open does not see the seal")
			}
		})
	}
}

// Logs that are planned alike have one plan, and those that are not have their own, also
// where they are made in turns.
func TestLogsKeepToTheirPlans(t *testing.T) {
	d := newDisk(t)
	for i := range 2 {
		for name, c := range map[string]struct {
			plan Plan
			err  error
			kept int64
		}{
			"large": {Plan{Group: "one", Inline: -1}, nil, 300},
			"head":  {Plan{Group: "two", Inline: -1, Quota: 100, Policy: KeepHead}, nil, 100},
			"pause": {Plan{Group: "one", Inline: -1, Quota: 100, Policy: Pause}, ErrPaused, 100},
			"kill":  {Plan{Group: "two", Inline: -1, Quota: 100, Policy: Kill}, ErrQuota, 100},
		} {
			w, err := d.Create(fmt.Sprintf("%s%d", name, i), Merged, c.plan)
			must(t, err)
			if _, err := w.Append(text(300)); err != c.err {
				t.Errorf("%s: %v, want %v", name, err, c.err)
			}
			s := w.State()
			if kept := s.Size - gaps(s.Gaps).total(); kept != c.kept {
				t.Errorf("%s: %d bytes were kept, want %d", name, kept, c.kept)
			}
			if group := filepath.Base(filepath.Dir(s.File)); group != c.plan.Group {
				t.Errorf("%s: its file is in the directory of %q", name, group)
			}
			must(t, w.Seal())
		}
	}
}
