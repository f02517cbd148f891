package spill

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// rotated is a log whose file another program takes away once: its bytes before, after, and
// in each file.
type rotated struct {
	d      *Disk
	w      *writer
	pipe   *pipe
	path   string
	before []byte
	plan   Plan
}

func rotating(t *testing.T, change ...func(*Plan)) *rotated {
	t.Helper()
	dir := t.TempDir()
	r := &rotated{d: newDisk(t), pipe: newPipe(t), path: filepath.Join(dir, "out.log"), before: []byte(strings.Repeat("before\n", 2000))}
	r.plan = Plan{File: r.path, Mark: filepath.Join(dir, "gaps")}
	for _, c := range change {
		c(&r.plan)
	}
	r.w = create(t, r.d, "log", r.plan)
	push(t, r.w, r.pipe, r.before)
	return r
}

// check compares the files by name, and the log in this store and in the next one.
func (r *rotated) check(t *testing.T, after []byte, files map[string]string) {
	t.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(filepath.Dir(r.path), name))
		must(t, err)
		if string(got) != want {
			t.Errorf("%s has %d bytes with %d NULs, want %d", name, len(got), bytes.Count(got, []byte{0}), len(want))
		}
	}
	gone := int64(len(r.before))
	text := append(make([]byte, gone), after...)
	log, err := r.d.Open("log", Merged)
	must(t, err)
	defer log.Close()
	same := func(who string, l Log) {
		t.Helper()
		st := l.State()
		if st.Size != int64(len(text)) || !slices.Equal(st.Gaps, []Gap{{0, gone}}) {
			t.Errorf("%s: %+v", who, st)
		}
		if got := readAll(t, l); !bytes.Equal(got, text) {
			t.Errorf("%s reads %d bytes, want %d", who, len(got), len(text))
		}
		one := make([]byte, 3)
		if n, _ := l.ReadAt(one, gone-1); n != 3 || !bytes.Equal(one, text[gone-1:gone+2]) {
			t.Errorf("%s reads %q where the file begins", who, one)
		}
	}
	same("this store", log)
	if !log.State().Flags.Has(Tampered) {
		t.Error("the log has no flag")
	}
	next, err := OpenStore(Options{Root: filepath.Join(t.TempDir(), "root"), Node: testNode})
	must(t, err)
	defer next.Close()
	must(t, next.Reclaim("log", Merged, r.path, r.plan.Mark))
	found, err := next.Open("log", Merged)
	must(t, err)
	defer found.Close()
	same("the next store", found)
}

// A file that the user named is copied and truncated, or renamed: the log goes on in the file
// of that name, without NULs, and its offsets stay.
func TestFaultNamedLogIsRotated(t *testing.T) {
	after := []byte(strings.Repeat("after\n", 3000))
	for name, c := range map[string]struct {
		rotate func(t *testing.T, path string)
		files  func(before string) map[string]string
	}{
		"copied and truncated": {
			func(t *testing.T, path string) {
				text, err := os.ReadFile(path)
				must(t, err)
				must(t, os.WriteFile(path+".1", text, 0o600))
				must(t, os.Truncate(path, 0))
			},
			func(before string) map[string]string {
				return map[string]string{"out.log": string(after), "out.log.1": before}
			},
		},
		"truncated to its beginning": {
			func(t *testing.T, path string) { must(t, os.Truncate(path, 3)) },
			func(before string) map[string]string { return map[string]string{"out.log": before[:3] + string(after)} },
		},
		"renamed": {
			func(t *testing.T, path string) { must(t, os.Rename(path, path+".1")) },
			func(before string) map[string]string {
				return map[string]string{"out.log": string(after), "out.log.1": before}
			},
		},
		"renamed and created": {
			func(t *testing.T, path string) {
				must(t, os.Rename(path, path+".1"))
				must(t, os.WriteFile(path, nil, 0o640))
			},
			func(before string) map[string]string {
				return map[string]string{"out.log": string(after), "out.log.1": before}
			},
		},
		"renamed, created and removed": {
			func(t *testing.T, path string) {
				must(t, os.Rename(path, path+".1"))
				must(t, os.WriteFile(path, nil, 0o600))
				must(t, os.Remove(path+".1"))
			},
			func(string) map[string]string { return map[string]string{"out.log": string(after)} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rotating(t)
			reader, err := r.d.Open("log", Merged) // opened before
			must(t, err)
			defer reader.Close()
			c.rotate(t, r.path)
			push(t, r.w, r.pipe, after)
			r.check(t, after, c.files(string(r.before)))
			must(t, r.w.Seal())
			r.check(t, after, c.files(string(r.before)))
			if got := readAll(t, reader); !bytes.Equal(got[len(r.before):], after) {
				t.Error("a reader from before has other bytes")
			}
		})
	}
}

// A file is rotated again and again, in each way, at each size.
func TestNamedLogIsRotatedAgain(t *testing.T) {
	r := rotating(t)
	for i := range 60 {
		next := bytes.Repeat([]byte{byte('a' + i%26)}, 1+i*i)
		if i%2 == 0 {
			must(t, os.Rename(r.path, r.path+".old"))
		} else {
			must(t, os.Truncate(r.path, 0))
		}
		push(t, r.w, r.pipe, next)
		if i%7 == 0 { // the file grows between two rotations
			push(t, r.w, r.pipe, next)
			next = append(next, next...)
		}
		if i%5 == 0 {
			r.check(t, next, map[string]string{"out.log": string(next)})
		}
		r.before = make([]byte, r.w.State().Size)
	}
}

// A reader during rotations gets the bytes of the offsets that it asked for, or a gap.
func TestNamedLogIsReadDuringRotations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.log")
	d, p := newDisk(t), newPipe(t)
	w := create(t, d, "log", Plan{File: path, Mark: filepath.Join(dir, "gaps")})
	at := func(off int64) byte { return byte('a' + off%23) }
	done := make(chan struct{})
	read := make(chan error, 1)
	go func() {
		read <- func() error {
			log, err := d.Open("log", Merged)
			if err != nil {
				return err
			}
			defer log.Close()
			b := make([]byte, 300)
			for {
				select {
				case <-done:
					return nil
				default:
				}
				off := max(0, log.State().Size-rand.Int64N(1000))
				n, err := log.ReadAt(b, off)
				if err != nil && err != io.EOF {
					return err
				}
				after := gaps(log.State().Gaps)
				for i := range int64(n) {
					if b[i] != at(off+i) && (b[i] != 0 || !after.cover(off+i, off+i+1)) {
						return fmt.Errorf("byte %d is %q, want %q", off+i, b[i], at(off+i))
					}
				}
			}
		}()
	}()
	for i := range 300 {
		from := w.State().Size
		next := make([]byte, 1+rand.IntN(2000))
		for k := range next {
			next[k] = at(from + int64(k))
		}
		push(t, w, p, next)
		switch i % 3 {
		case 0:
			must(t, os.Truncate(path, 0))
		case 1:
			must(t, os.Rename(path, path+".1"))
		}
	}
	close(done)
	must(t, <-read)
}

// A quota counts from the new beginning of the file, and a log that dropped its bytes keeps
// them again.
func TestNamedLogIsRotatedAtItsQuota(t *testing.T) {
	for _, policy := range []Policy{Elide, KeepHead} {
		t.Run(string(policy), func(t *testing.T) {
			r := rotating(t, func(p *Plan) { p.Policy, p.Quota = policy, 8<<10 })
			must(t, os.Truncate(r.path, 0))
			after := []byte(strings.Repeat("after\n", 1000))
			push(t, r.w, r.pipe, after)
			r.check(t, after, map[string]string{"out.log": string(after)})
			push(t, r.w, r.pipe, bytes.Repeat([]byte("more\n"), 10_000))
			st := r.w.State()
			if kept := st.Size - st.Missing(); kept > 8<<10 || kept < 2<<10 {
				t.Errorf("%d bytes are kept: %+v", kept, st)
			}
		})
	}
}

// What has the name of a renamed log and is not an empty file of the user is left alone. A
// deleted log is not created again.
func TestNamedLogHasNoSuccessor(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, path string){
		"a file with bytes": func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("of another"), 0o600)) },
		"a link":            func(t *testing.T, path string) { must(t, os.Symlink("elsewhere", path)) },
		"a directory":       func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) },
		"a FIFO":            func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) },
		"a second name": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o600))
			must(t, os.Link(path, path+".link"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rotating(t)
			must(t, os.Rename(r.path, r.path+".1"))
			put(t, r.path)
			push(t, r.w, r.pipe, []byte("after"))
			got, err := os.ReadFile(r.path + ".1")
			must(t, err)
			if string(got) != string(r.before)+"after" {
				t.Errorf("the renamed file has %d bytes", len(got))
			}
			if name == "a file with bytes" {
				if text, err := os.ReadFile(r.path); err != nil || string(text) != "of another" {
					t.Errorf("the other file has %q, %v", text, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(r.path), "elsewhere")); err == nil {
				t.Error("a link was followed")
			}
			want(t, r.d, "log", append(bytes.Clone(r.before), "after"...), nil, 0)
		})
	}
	t.Run("deleted", func(t *testing.T) {
		r := rotating(t)
		must(t, os.Remove(r.path))
		push(t, r.w, r.pipe, []byte("after"))
		if _, err := os.Lstat(r.path); err == nil {
			t.Error("a deleted log was created again")
		}
		want(t, r.d, "log", append(bytes.Clone(r.before), "after"...), nil, Unlinked)
	})
}

// A file is truncated between the look at it and the write: the bytes of that write are a gap,
// and the file has no NULs.
func TestNamedLogIsTruncatedDuringAWrite(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	dir := t.TempDir()
	path := filepath.Join(dir, "out.log")
	w := create(t, d, "log", Plan{File: path, Mark: filepath.Join(dir, "gaps")})
	p := newPipe(t)
	push(t, w, p, text(10*pageSize))
	f.set(func(call string) error {
		if call == "splice" {
			must(t, os.Truncate(path, 0))
		}
		return nil
	})
	push(t, w, p, []byte("lost\n"))
	f.set(nil)
	push(t, w, p, []byte("after\n"))
	got, err := os.ReadFile(path)
	must(t, err)
	if string(got) != "after\n" {
		t.Errorf("the file has %d bytes with %d NULs", len(got), bytes.Count(got, []byte{0}))
	}
	st := w.State()
	if end := int64(10*pageSize + len("lost\n")); st.Size != end+6 || !slices.Equal(st.Gaps, []Gap{{0, end}}) {
		t.Errorf("%+v", st)
	}
}

// The gap file has the offset of the first byte, beside as many gaps as a log may have.
func TestMarkHasTheBase(t *testing.T) {
	var many gaps
	for i := range int64(maxGaps) {
		many = many.add(i*100, i*100+50)
	}
	for _, g := range []gaps{nil, {{0, 500}}, many} {
		b := &sharedLog{gaps: g, base: 450}
		got, base := decodeMark(encodeMark(b.toMark()), 1<<20)
		if base != 450 || !slices.Equal(got, g) {
			t.Errorf("%v became %v from %d", g, got, base)
		}
		if b.base = 0; !slices.Equal(b.toMark(), g) {
			t.Errorf("without one: %v", b.toMark())
		}
	}
}
