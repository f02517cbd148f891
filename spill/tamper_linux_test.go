package spill

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// outgrown is a log with a file of n bytes.
func outgrown(t *testing.T, d *Disk, id string, n int) (*writer, string) {
	t.Helper()
	w := create(t, d, id, Plan{})
	_, err := w.Append(text(n))
	must(t, err)
	path := w.State().File
	if path == "" {
		t.Fatalf("%d bytes are no file", n)
	}
	return w, path
}

// push gives bytes to the log by way of a pipe.
func push(t *testing.T, w *writer, p *pipe, b []byte) {
	t.Helper()
	p.write(t, b)
	for n := int64(0); n < int64(len(b)); {
		k, err := w.Splice(p.r, 1<<20)
		must(t, err)
		n += k
	}
}

// want compares a log with what it must hold; zeros stand in for its gaps.
func want(t *testing.T, d *Disk, id string, b []byte, gaps []Gap, flags Flags) {
	t.Helper()
	l, err := d.Open(id, Merged)
	must(t, err)
	defer l.Close()
	got := readAll(t, l)
	st := l.State()
	if len(st.Gaps) != len(gaps) || len(gaps) > 0 && st.Gaps[0] != gaps[0] {
		t.Errorf("the gaps are %v, want %v", st.Gaps, gaps)
	}
	if st.Flags != flags {
		t.Errorf("the flags are %b, want %b", st.Flags, flags)
	}
	b = bytes.Clone(b)
	for _, g := range gaps {
		clear(b[g.From:g.To])
	}
	if !bytes.Equal(got, b) {
		t.Errorf("the log has %d bytes that are not the %d expected", len(got), len(b))
	}
}

// F37: a file that is deleted beneath us is made anew, with all it had.
func TestFaultDeletedLogIsMadeAnew(t *testing.T) {
	for name, dead := range map[string]func(t *testing.T, d *Disk, path string){
		"the file":            func(t *testing.T, _ *Disk, path string) { must(t, os.Remove(path)) },
		"its directory":       func(t *testing.T, _ *Disk, path string) { must(t, os.RemoveAll(filepath.Dir(path))) },
		"the node":            func(t *testing.T, d *Disk, _ string) { must(t, os.RemoveAll(filepath.Join(d.Root(), testNode))) },
		"the root":            func(t *testing.T, d *Disk, _ string) { must(t, os.RemoveAll(d.Root())) },
		"replaced by another": func(t *testing.T, _ *Disk, path string) { replaceFile(t, path) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			w, path := outgrown(t, d, "j1", 100_000)
			p := newPipe(t)
			dead(t, d, path)
			push(t, w, p, text(150_000)[100_000:])
			want(t, d, "j1", text(150_000), nil, Unlinked)
			if got, err := os.ReadFile(w.State().File); err != nil || w.State().File != path || !bytes.Equal(got, text(150_000)) {
				t.Errorf("the new file %s has %d bytes: %v", w.State().File, len(got), err)
			}
			must(t, w.Seal())
			want(t, d, "j1", text(150_000), nil, Unlinked)
		})
	}
}

func replaceFile(t *testing.T, path string) {
	must(t, os.WriteFile(path+"2", []byte("something else"), 0o600))
	must(t, os.Rename(path+"2", path))
}

// The copy is made in steps, while more arrives, and again after it failed.
func TestFaultDeletedLogIsCopiedInSteps(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	const size = 3*repairStep + 1000
	w, path := outgrown(t, d, "j1", 100_000)
	all := bytes.Repeat(text(1<<20), size>>20+4)
	_, err := w.Append(all[100_000:size])
	must(t, err)
	must(t, os.Remove(path))
	f.set(func(call string) error {
		if call == "sendfile" {
			return unix.ENOSPC
		}
		return nil
	})
	p := newPipe(t)
	push(t, w, p, all[size:size+1000])
	if w.repairing != nil || w.repairAfter == 0 {
		t.Fatal("a copy that fails is not put off")
	}
	f.set(nil)
	must(t, w.Check())
	steps := 0
	for n := size + 1000; w.repairing != nil; n += 1000 {
		push(t, w, p, all[n:n+1000])
		steps++
	}
	if steps < 2 {
		t.Errorf("the copy took %d steps", steps)
	}
	n := int(w.State().Size)
	want(t, d, "j1", all[:n], nil, Unlinked)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, all[:n]) {
		t.Errorf("the new file has %d bytes: %v", len(got), err)
	}
}

// A file that was deleted while its descriptor was closed is lost: what it held
// is a gap, counted, and the log goes on behind it.
func TestFaultLostLogIsAGap(t *testing.T) {
	for _, first := range []string{"writer", "reader", "replaced"} {
		t.Run(first, func(t *testing.T) {
			d := newDisk(t, func(o *Options) { o.Limits.Files = 1 })
			w, path := outgrown(t, d, "j1", 100_000)
			outgrown(t, d, "j2", 60_000) // takes the only place in the cache
			if first == "replaced" {
				replaceFile(t, path)
			} else {
				must(t, os.Remove(path))
			}
			lost := []Gap{{0, 100_000}}
			if first == "reader" {
				want(t, d, "j1", text(100_000), lost, Unlinked)
				if f := w.State().File; f != "" {
					t.Errorf("the lost file is still called %s", f)
				}
			}
			push(t, w, newPipe(t), text(150_000)[100_000:])
			want(t, d, "j1", text(150_000), lost, Unlinked)
			must(t, w.Seal())
			want(t, d, "j1", text(150_000), lost, Unlinked)
		})
	}
}

// A descriptor whose file has no name is not closed to make room.
func TestFaultDeletedLogKeepsItsDescriptor(t *testing.T) {
	d := newDisk(t, func(o *Options) { o.Limits.Files = 1 })
	w, path := outgrown(t, d, "j1", 100_000)
	must(t, os.Remove(path))
	outgrown(t, d, "j2", 60_000)
	outgrown(t, d, "j3", 60_000)
	want(t, d, "j1", text(100_000), nil, 0)
	must(t, w.Check())
	want(t, d, "j1", text(100_000), nil, Unlinked)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("Check has not made the file anew: %v", err)
	}
}

func TestFaultTruncatedLogIsAGap(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		gaps   []Gap
	}{
		"cut":   {func(t *testing.T, path string) { must(t, os.Truncate(path, 1000)) }, []Gap{{1000, 100_000}}},
		"empty": {func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }, []Gap{{0, 100_000}}},
		"longer": {func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = io.WriteString(f, "by somebody else")
			must(t, err)
			f.Close()
		}, nil},
	} {
		noticed := []string{"writer", "check"}
		if name != "longer" { // a reader has no reason to look behind the end
			noticed = append(noticed, "reader", "sealed")
		}
		for _, notices := range noticed {
			t.Run(name+"/"+notices, func(t *testing.T) {
				d := newDisk(t)
				w, path := outgrown(t, d, "j1", 100_000)
				if notices == "sealed" {
					must(t, w.Seal())
				}
				c.change(t, path)
				switch notices {
				case "reader", "sealed":
					want(t, d, "j1", text(100_000), c.gaps, Tampered)
				case "check":
					must(t, w.Check())
					want(t, d, "j1", text(100_000), c.gaps, Tampered)
				}
				if notices != "sealed" {
					push(t, w, newPipe(t), text(150_000)[100_000:])
					want(t, d, "j1", text(150_000), c.gaps, Tampered)
				}
			})
		}
	}
}

// A log that drops what comes is not made longer over what somebody took of it.
func TestFaultTruncatedLogThatIsFullIsAGap(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j1", Plan{Inline: -1, Quota: 5000, Policy: KeepHead})
	_, err := w.Append(text(6000))
	must(t, err)
	must(t, os.Truncate(w.State().File, 3000))
	_, err = w.Append(text(7000)[6000:])
	must(t, err)
	want(t, d, "j1", text(7000), []Gap{{3000, 7000}}, Tampered)
}

// A log that is removed lives on for those who have it open, and leaves nothing.
func TestARemovedLogLivesOnForItsReaders(t *testing.T) {
	for _, n := range []int{1000, 100_000} {
		d := newDisk(t, func(o *Options) { o.Limits.Files = 1 })
		w := create(t, d, "j1", Plan{})
		_, err := w.Append(text(n))
		must(t, err)
		l, err := d.Open("j1", Merged)
		must(t, err)
		must(t, d.Remove("j1"))
		outgrown(t, d, "j2", 60_000)
		outgrown(t, d, "j3", 60_000)
		push(t, w, newPipe(t), text(n + 100_000)[n:])
		if !bytes.Equal(readAll(t, l), text(n+100_000)) || l.State().Flags != 0 {
			t.Errorf("a reader of %d bytes has lost them: %+v", n, l.State())
		}
		must(t, w.Seal())
		must(t, l.Close())
		must(t, l.Close())
		if _, err := l.ReadAt(make([]byte, 1), 0); err != ErrClosed {
			t.Errorf("a closed reader reads: %v", err)
		}
		if _, err := d.Open("j1", Merged); err != ErrNotFound {
			t.Errorf("a removed log can be opened: %v", err)
		}
		for _, f := range files(t, d.Root()) {
			if filepath.Base(f) == "j1.merged.log" {
				t.Errorf("%s is still there", f)
			}
		}
	}
}
