package spill

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// openTerminal makes one that changes no byte.
func openTerminal(t *testing.T) (master int, slave *os.File) {
	t.Helper()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	need.Feature(t, err == nil, "a terminal: /dev/ptmx")
	t.Cleanup(func() { unix.Close(master) })
	must(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	must(t, err)
	modes, err := unix.IoctlGetTermios(master, unix.TCGETS)
	must(t, err)
	modes.Oflag &^= unix.OPOST
	must(t, unix.IoctlSetTermios(master, unix.TCSETS, modes))
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// say has b come out of the terminal and into the log, a little at a time.
func say(t *testing.T, w *writer, master int, slave *os.File, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n := min(len(b), 3000)
		if _, err := slave.Write(b[:n]); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
		for {
			if _, err := w.Splice(master, 1<<20); err == unix.EAGAIN {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a terminal says is in the log, whatever the kernel can do with it; where it
// can, no byte of it passes through the memory of this process.
func TestFaultATerminalWithoutSplice(t *testing.T) {
	for name, c := range map[string]struct {
		refused func(call string, nth int) error
		read    bool // by read and write
	}{
		"all there": {func(string, int) error { return nil }, false},
		"no splice": {func(call string, _ int) error {
			if call == "splice" {
				return unix.EINVAL
			}
			return nil
		}, true},
		"no pipe": {func(call string, _ int) error {
			if call == "pipe2" {
				return unix.EMFILE
			}
			return nil
		}, true},
		"not into the file": {func(call string, nth int) error { // the fourth is the first out of the pipe
			if call == "splice" && nth == 4 {
				return unix.EINVAL
			}
			return nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f faulty
			d := newDisk(t, func(o *Options) { o.Sys = &f })
			w := create(t, d, "j1", Plan{})
			master, slave := openTerminal(t)
			nth := map[string]int{}
			f.set(func(call string) error {
				nth[call]++
				return c.refused(call, nth[call])
			})
			say(t, w, master, slave, text(200_000))
			slave.Close()
			if _, err := w.Splice(master, 1<<20); err != io.EOF {
				t.Errorf("the end: %v", err)
			}
			if (w.pump != nil) != c.read || (nth["read"] > 0) != c.read {
				t.Errorf("%d reads", nth["read"])
			}
			want(t, d, "j1", text(200_000), nil, 0)
		})
	}
}

// What a full disk refuses stays in the holding pipe, and comes before what follows.
func TestFaultATerminalOnAFullDisk(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	w := create(t, d, "j1", Plan{Inline: -1})
	master, slave := openTerminal(t)
	say(t, w, master, slave, text(1000))
	splices := 0
	f.set(func(call string) error {
		if call == "splice" {
			if splices++; splices > 1 { // out of the terminal it goes
				return unix.ENOSPC
			}
		}
		return nil
	})
	if _, err := slave.Write(text(2000)[1000:]); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.Splice(master, 1<<20); err == nil || err == unix.EAGAIN {
			t.Fatalf("got %v", err)
		}
	}
	if w.Held() != 1000 {
		t.Errorf("%d bytes are held", w.Held())
	}
	f.set(nil)
	say(t, w, master, slave, text(5000)[2000:])
	want(t, d, "j1", text(5000), nil, 0)
	if w.staging != nil || w.pump != nil {
		t.Error("the holding pipe was not given back")
	}
}

// More terminals than there are holding pipes have one each, for as long as a full
// disk keeps their bytes; then no more are left than there may be.
func TestFaultManyTerminalsOnAFullDisk(t *testing.T) {
	const many = maxStaging + 5
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	var writers []*writer
	var masters []int
	var slaves []*os.File
	for i := range many {
		w := create(t, d, "j"+strconv.Itoa(i), Plan{Inline: -1})
		master, slave := openTerminal(t)
		say(t, w, master, slave, text(10))
		splices := 0
		f.set(func(call string) error {
			if call == "splice" {
				if splices++; splices > 1 {
					return unix.ENOSPC
				}
			}
			return nil
		})
		if _, err := slave.Write(text(20)[10:]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Splice(master, 1<<20); err == nil {
			t.Fatal("there was room")
		}
		f.set(nil)
		writers, masters, slaves = append(writers, w), append(masters, master), append(slaves, slave)
	}
	if d.spare.made != many {
		t.Errorf("%d holding pipes of %d terminals", d.spare.made, many)
	}
	for i, w := range writers {
		say(t, w, masters[i], slaves[i], text(30)[20:])
		if got := content(t, d, "j"+strconv.Itoa(i)); !bytes.Equal(got, text(30)) {
			t.Errorf("%d: %q", i, got)
		}
	}
	if d.spare.made != maxStaging {
		t.Errorf("%d holding pipes are left", d.spare.made)
	}
}
