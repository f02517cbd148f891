package spill

import (
	"bytes"
	"io"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// fenced is a log of a command with its fence, and of the shell that runs it.
func fenced(t *testing.T, d *Disk, plan Plan) (w, rest *writer) {
	t.Helper()
	w = create(t, d, "command", plan)
	w.SetFence(testNonce)
	return w, create(t, d, "shell", plan)
}

const testFence = "\x1b]133;D;0;" + testNonce + "\a"

func add(t *testing.T, w *writer, p []byte) {
	t.Helper()
	if n, err := w.Append(p); n != len(p) || err != nil {
		t.Fatalf("append of %d: %d, %v", len(p), n, err)
	}
}

func cutAtFence(t *testing.T, w, rest *writer) {
	t.Helper()
	at, ok, err := w.Fence()
	if !ok || err != nil {
		t.Fatalf("no fence: %v", err)
	}
	must(t, w.Cut(at, rest))
}

// A log ends before its fence, and what is behind that is another's, in memory and in
// files, whichever way the kernel copies.
func TestFaultCut(t *testing.T) {
	for name, c := range map[string]struct {
		plan   Plan
		before int
		behind int
		refuse string // a call that the kernel does not know
	}{
		"nothing behind":        {Plan{}, 100, 0, ""},
		"nothing before":        {Plan{}, 0, 100, ""},
		"in memory":             {Plan{}, 1000, 500, ""},
		"in files":              {Plan{Inline: -1}, 200_000, 100_000, ""},
		"out of memory":         {Plan{}, 10, InlineLimit + 100, ""},
		"without sendfile":      {Plan{}, 1000, 500, "sendfile"},
		"in files, without it":  {Plan{Inline: -1}, 200_000, 300_000, "sendfile"},
		"on a disk, durable":    {Plan{Durability: FsyncOnExit}, 1000, 500, ""},
		"more than is kept":     {Plan{Quota: 50_000}, 200_000, 100, ""},
		"nearly all is dropped": {Plan{Quota: 50_000}, 1_000_000, 20_000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f faulty
			d := newDisk(t, func(o *Options) { o.Sys = &f })
			w, rest := fenced(t, d, c.plan)
			reader, err := d.Open("command", Merged)
			must(t, err)
			defer reader.Close()
			add(t, rest, []byte("first "))
			src := text(c.before + c.behind)
			add(t, w, src[:c.before])
			add(t, w, []byte(testFence))
			add(t, w, src[c.before:])
			if c.refuse != "" {
				f.set(func(call string) error {
					if call == c.refuse {
						return unix.ENOSYS
					}
					return nil
				})
			}
			if st := reader.State(); st.Size != int64(c.before) || st.Closed {
				t.Fatalf("before the cut: %+v", st)
			}
			cutAtFence(t, w, rest)
			st := reader.State()
			if st.Size != int64(c.before) || !st.Closed || st.Veiled || st.Flags != 0 {
				t.Fatalf("behind the cut: %+v", st)
			}
			p := make([]byte, c.before+100)
			n, err := reader.ReadAt(p, 0)
			expect := bytes.Clone(src[:c.before])
			gaps(st.Gaps).blank(expect, 0)
			if err != io.EOF || !bytes.Equal(p[:n], expect) {
				t.Fatalf("%d bytes are read of %d, %v", n, c.before, err)
			}
			if got, want := content(t, d, "shell"), append([]byte("first "), src[c.before:]...); !bytes.Equal(got, want) {
				t.Fatalf("the rest is %d bytes, want %d", len(got), len(want))
			}
			if st.File != "" {
				info, err := os.Stat(st.File)
				must(t, err)
				if info.Size() != st.Size {
					t.Errorf("the file has %d bytes, the log %d", info.Size(), st.Size)
				}
			}
			if _, err := w.Append([]byte("x")); err != ErrSealed {
				t.Errorf("more: %v", err)
			}
			must(t, rest.Seal())
			must(t, reader.Close())
			must(t, d.Remove("command"))
			must(t, d.Remove("shell"))
			if held := d.memory.Load(); held != 0 {
				t.Errorf("%d bytes of memory are counted", held)
			}
		})
	}
}

// A full disk keeps a log from being cut, and loses nothing: the next try goes on where
// that one stopped.
func TestFaultCutOnAFullDisk(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	w, rest := fenced(t, d, Plan{Inline: -1})
	add(t, rest, []byte("first "))
	add(t, w, append(text(1000), testFence...))
	add(t, w, text(200_000))
	calls := 0
	f.set(func(call string) error {
		if call == "sendfile" {
			if calls++; calls > 1 {
				return unix.ENOSPC
			}
		}
		return nil
	})
	at, ok, err := w.Fence()
	if !ok || err != nil {
		t.Fatalf("no fence: %v", err)
	}
	for range 3 {
		if err := w.Cut(at, rest); !isBlocked(err) {
			t.Fatalf("got %v", err)
		}
		if st := w.State(); st.Closed || st.Size != 1000 {
			t.Fatalf("%+v", st)
		}
	}
	if n := rest.State().Size; n <= 6 || n >= 200_000 {
		t.Fatalf("the rest has %d bytes", n)
	}
	f.set(nil)
	must(t, w.Cut(at, rest))
	if !bytes.Equal(content(t, d, "command"), text(1000)) || !bytes.Equal(content(t, d, "shell"), append([]byte("first "), text(200_000)...)) {
		t.Error("bytes were lost, or came twice")
	}
}

func isBlocked(err error) bool {
	_, ok := err.(*Blocked)
	return ok
}

// A log is not cut where it is not, nor into what is no other log of the store.
func TestCutElsewhere(t *testing.T) {
	d, other := newDisk(t), newDisk(t)
	w, rest := fenced(t, d, Plan{})
	add(t, w, text(100))
	strange := create(t, other, "j1", Plan{})
	for _, c := range []struct {
		at   Fence
		into Writer
	}{{Fence{0, 101}, rest}, {Fence{-1, 5}, rest}, {Fence{9, 5}, rest}, {Fence{0, 5}, w}, {Fence{0, 5}, strange}} {
		if err := w.Cut(c.at, c.into); err != errFence {
			t.Errorf("%v: %v", c.at, err)
		}
	}
	if st := w.State(); st.Closed || st.Size != 100 || rest.State().Size != 0 {
		t.Errorf("changed: %+v", st)
	}
	must(t, w.Seal())
	if err := w.Cut(Fence{0, 5}, rest); err != ErrSealed {
		t.Errorf("sealed: %v", err)
	}
}

// Who reads while a log is cut sees what is before the fence, and that nothing of it was
// tampered with.
func TestCutUnderReaders(t *testing.T) {
	for range 20 {
		d := newDisk(t)
		w, rest := fenced(t, d, Plan{Inline: -1})
		add(t, w, append(text(5000), testFence...))
		var all sync.WaitGroup
		for range 4 {
			l, err := d.Open("command", Merged)
			must(t, err)
			all.Go(func() {
				defer l.Close()
				p := make([]byte, 20_000)
				for range 200 {
					if n, err := l.ReadAt(p, 0); err != io.EOF || !bytes.Equal(p[:n], text(5000)) {
						t.Errorf("%d bytes, %v", n, err)
						return
					}
				}
			})
		}
		add(t, w, text(9000))
		cutAtFence(t, w, rest)
		all.Wait()
		if st := w.State(); st.Flags != 0 || len(st.Gaps) != 0 || st.Size != 5000 {
			t.Errorf("%+v", st)
		}
	}
}

// What a terminal says goes to one log and then to another, and the holding pipe is
// empty in between.
func TestFaultTerminalChangesItsLog(t *testing.T) {
	d := newDisk(t)
	w, rest := fenced(t, d, Plan{})
	master, slave := openTerminal(t)
	say(t, rest, master, slave, text(300))
	say(t, w, master, slave, append(text(50_000), testFence...))
	say(t, w, master, slave, text(20))
	if n := w.State().Size; n != 50_000 || w.Held() != 0 {
		t.Errorf("%d bytes are shown, %d are held", n, w.Held())
	}
	cutAtFence(t, w, rest)
	say(t, rest, master, slave, text(40))
	if !bytes.Equal(content(t, d, "command"), text(50_000)) {
		t.Error("the command's log is another")
	}
	if want := append(append(bytes.Clone(text(300)), text(20)...), text(40)...); !bytes.Equal(content(t, d, "shell"), want) {
		t.Error("the shell's log is another")
	}
}
