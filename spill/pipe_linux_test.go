package spill

import (
	"errors"
	"io"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// Where a file system cannot splice, and on a terminal, bytes go by read and
// write; what was read and could not be written is not lost.
func TestFaultWithoutSplice(t *testing.T) {
	var f faulty
	l := newLife(t, &f, Plan{})
	defer l.d.Close()
	writes := 0
	f.set(func(call string) error {
		switch call {
		case "splice":
			return unix.EINVAL
		case "memfd_create", "sendfile", "pipe2":
			return unix.ENOSYS
		case "pwrite":
			if writes++; writes%3 != 0 {
				return unix.ENOSPC
			}
		}
		return nil
	})
	l.run(1000)
	l.compare()
	l.check(nil)
	if l.w.State().Size != int64(len(l.written)) {
		t.Errorf("%d bytes of %d", l.w.State().Size, len(l.written))
	}
}

// Where nothing can be punched out of a file, Elide keeps the beginning.
func TestFaultWithoutPunch(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	f.set(func(call string) error {
		if call == "fallocate" {
			return unix.EOPNOTSUPP
		}
		return nil
	})
	w := create(t, d, "j1", Plan{Quota: 100_000})
	p := newPipe(t)
	push(t, w, p, text(300_000))
	want(t, d, "j1", text(300_000), []Gap{{100_000, 300_000}}, 0)
}

// A log whose memory takes no more is a file from then on.
func TestFaultMemoryThatFailsBecomesAFile(t *testing.T) {
	for _, n := range []int{0, 1000} {
		var f faulty
		d := newDisk(t, func(o *Options) { o.Sys = &f })
		w := create(t, d, "j1", Plan{})
		_, err := w.Append(text(n))
		must(t, err)
		f.set(func(call string) error {
			if call == "pwrite" && w.file == nil {
				return unix.ENOMEM
			}
			return nil
		})
		_, err = w.Append(text(2000)[n:])
		must(t, err)
		if w.State().File == "" {
			t.Error("it is not")
		}
		want(t, d, "j1", text(2000), nil, 0)
	}
}

// Room that could not be made is made before more is written.
func TestFaultElisionIsMadeUpFor(t *testing.T) {
	var f faulty
	d := newDisk(t, func(o *Options) { o.Sys = &f })
	const quota = 256 << 10
	w := create(t, d, "j1", Plan{Quota: quota})
	p := newPipe(t)
	push(t, w, p, text(quota))
	f.set(func(call string) error {
		if call == "fallocate" && w.probed {
			return unix.EIO
		}
		return nil
	})
	p.write(t, text(quota + 20_000)[quota:])
	var blocked *Blocked
	if _, err := w.Splice(p.r, 1<<20); !errors.As(err, &blocked) {
		t.Fatalf("got %v", err)
	}
	f.set(nil)
	if _, err := w.Splice(p.r, 1<<20); err != nil {
		t.Fatal(err)
	}
	if s := stat(t, w.State().File); s.Blocks*512 > quota+pageSize {
		t.Errorf("the file takes %d bytes of a quota of %d", s.Blocks*512, quota)
	}
	want(t, d, "j1", text(quota+20_000), w.State().Gaps, 0)
}

// The end of a terminal is EIO, which is no error.
func TestATerminalEnds(t *testing.T) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	need.Feature(t, err == nil, "a terminal: /dev/ptmx")
	defer unix.Close(master)
	must(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	must(t, err)
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	_, err = slave.WriteString("hello\n")
	must(t, err)
	d := newDisk(t)
	w := create(t, d, "j1", Plan{})
	for err == nil {
		_, err = w.Splice(master, 100)
	}
	if err != unix.EAGAIN {
		t.Fatalf("a terminal in use: %v", err)
	}
	slave.Close()
	for err = nil; err == nil || err == unix.EAGAIN; {
		_, err = w.Splice(master, 100)
	}
	if err != io.EOF || string(content(t, d, "j1")) != "hello\r\n" {
		t.Errorf("%v, %q", err, content(t, d, "j1"))
	}
}

// A log that is sealed while its bytes cannot be stored counts them as a gap.
func TestFaultWhatCannotBeSavedIsCounted(t *testing.T) {
	var f faulty
	l := newLife(t, &f, Plan{Inline: -1})
	defer l.d.Close()
	_ = l.say(text(100_000), 0)
	if !l.w.flows {
		t.Fatal("a flood is not taken for one")
	}
	splices := 0
	f.set(func(call string) error {
		if call == "splice" {
			if splices++; splices > 1 {
				return unix.ENOSPC
			}
		}
		return nil
	})
	_ = l.say(text(20_000), 0)
	if l.w.Held() != 20_000 {
		t.Fatalf("%d bytes are held", l.w.Held())
	}
	must(t, l.w.Seal())
	if st := l.w.State(); st.Size != 120_000 || len(st.Gaps) != 1 || st.Gaps[0] != (Gap{100_000, 120_000}) {
		t.Errorf("%+v", st)
	}
}

// Under kill the quota is told once; what comes after it is counted and dropped,
// so that the pipe can be drained.
func TestFaultQuotaKillIsToldOnce(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j1", Plan{Quota: 1000, Policy: Kill})
	p := newPipe(t)
	push(t, w, p, text(1000))
	if _, err := w.Splice(p.r, 100); err != unix.EAGAIN {
		t.Fatalf("at the quota, and nothing more: %v", err)
	}
	p.write(t, text(5000))
	if n, err := w.Splice(p.r, 1<<20); n != 0 || err != ErrQuota {
		t.Fatalf("%d, %v", n, err)
	}
	p.close()
	if n, err := w.Splice(p.r, 1<<20); n != 5000 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := w.Splice(p.r, 1<<20); err != io.EOF {
		t.Fatalf("%v", err)
	}
	want(t, d, "j1", text(6000), []Gap{{1000, 6000}}, 0)
}

// The quota is told even if it is met in the middle of a call, whose answer is
// how much was moved: the next call says it.
func TestFaultQuotaKillIsToldAfterAMove(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j1", Plan{Quota: 1000, Policy: Kill})
	p := newPipe(t)
	p.write(t, text(3000))
	if n, err := w.Splice(p.r, 1<<20); n != 1000 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := w.Splice(p.r, 1<<20); n != 0 || err != ErrQuota {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := w.Splice(p.r, 1<<20); n != 2000 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// Under pause the bytes stay in the pipe, and an end is still seen.
func TestFaultQuotaPauseKeepsThePipe(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j1", Plan{Quota: 1000, Policy: Pause})
	p := newPipe(t)
	p.write(t, text(3000))
	if n, err := w.Splice(p.r, 1<<20); n != 1000 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	for range 2 {
		if n, err := w.Splice(p.r, 1<<20); n != 0 || err != ErrPaused {
			t.Fatalf("%d, %v", n, err)
		}
	}
	b := make([]byte, 5000)
	if n, err := unix.Read(p.r, b); n != 2000 || err != nil {
		t.Fatalf("the pipe has %d bytes: %v", n, err)
	}
	p.close()
	if _, err := w.Splice(p.r, 1<<20); err != io.EOF {
		t.Fatalf("%v", err)
	}
}
