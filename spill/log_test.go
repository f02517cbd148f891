package spill

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// M1 and M2 of reliability.md 6.1.
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
