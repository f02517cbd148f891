package spill

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// What a reader still has of a log whose store died is a log of the next store, in memory
// and then in a file. No byte is shown that was not written.
func TestImport(t *testing.T) {
	for name, c := range map[string]struct {
		stored int // bytes of the descriptor
		known  State
		size   int64
		gaps   []Gap
	}{
		"as the reader knows it":         {stored: 100, known: State{Size: 100}, size: 100},
		"grown since then":               {stored: 9000, known: State{Size: 100}, size: 9000},
		"with a gap":                     {stored: 9000, known: State{Size: 9000, Gaps: []Gap{{10, 20}}}, size: 9000, gaps: []Gap{{10, 20}}},
		"with a gap that may have grown": {stored: 9000, known: State{Size: 8000, Gaps: []Gap{{10, 20}}}, size: 9000, gaps: []Gap{{10, 9000}}},
		"with hidden bytes":              {stored: 100, known: State{Size: 80, Veiled: true}, size: 100, gaps: []Gap{{80, 100}}},
		"with the rest in a lost file":   {stored: 9000, known: State{Size: 70_000}, size: 70_000, gaps: []Gap{{9000, 70_000}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			f := memoryFile(t, text(c.stored))
			must(t, d.Import("log", Merged, f, c.known))
			if err := d.Import("log", Merged, f, c.known); !errors.Is(err, ErrExists) {
				t.Errorf("a second time: %v", err)
			}
			must(t, f.Close())
			want := make([]byte, c.size)
			copy(want, text(c.stored))
			gaps(c.gaps).blank(want, 0)
			check := func(inFile bool) {
				t.Helper()
				st := create0(t, d, "log")
				if st.Size != c.size || !st.Closed || !slices.Equal(st.Gaps, c.gaps) || (st.File != "") != inFile {
					t.Errorf("%+v", st)
				}
				if !bytes.Equal(content(t, d, "log"), want) {
					t.Error("the bytes differ")
				}
			}
			check(false)
			must(t, d.Persist("log", 1<<20)) // however small it is
			check(true)
			if n := d.memory.Load(); n != 0 || d.memfds.Load() != 0 {
				t.Errorf("%d bytes of %d logs count as memory", n, d.memfds.Load())
			}
		})
	}
}

// A part of a log that was freed is no output, although no reader knew that.
func TestImportFindsHoles(t *testing.T) {
	d := newDisk(t)
	f := memoryFile(t, text(10*pageSize))
	must(t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4*pageSize, 2*pageSize))
	must(t, d.Import("log", Merged, f, State{}))
	st := create0(t, d, "log")
	if want := []Gap{{3 * pageSize, 7 * pageSize}}; st.Size != 10*pageSize || !slices.Equal(st.Gaps, want) {
		t.Errorf("%+v", st)
	}
}

// memoryFile returns a descriptor of a file in memory.
func memoryFile(t *testing.T, p []byte) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	must(t, err)
	f := os.NewFile(uintptr(fd), "log")
	t.Cleanup(func() { f.Close() })
	_, err = f.Write(p)
	must(t, err)
	return f
}
