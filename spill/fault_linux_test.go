package spill

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// life is one job's output from its first byte to its seal: through memory, the
// move to a file, a flood through the holding pipe, and under Elide the quota.
type life struct {
	t       testing.TB
	d       *Disk
	w       *writer
	p       *pipe
	written []byte
	moved   int64
}

func newLife(t testing.TB, f *faulty, plan Plan) *life {
	d, err := OpenStore(Options{Root: t.TempDir() + "/root", Node: testNode, Sys: f})
	must(t, err)
	return &life{t: t, d: d, p: newPipe(t), w: create(t, d, "j1", plan)}
}

// say writes to the pipe and moves it to the log; tries bounds how often a store
// that refuses is asked again. It returns what was in the way last.
func (l *life) say(b []byte, tries int) error {
	l.p.write(l.t, b)
	l.written = append(l.written, b...)
	return l.drain(tries)
}

func (l *life) drain(tries int) error {
	for {
		n, err := l.w.Splice(l.p.r, 1<<20)
		l.moved += n
		switch {
		case err == nil:
			continue
		case n != 0:
			l.t.Fatalf("%d bytes and %v", n, err)
		case err == unix.EAGAIN || err == io.EOF:
			return err
		}
		if tries--; tries < 0 {
			return err
		}
	}
}

// The sizes are small, since a life is lived once for each call that can fail.
const (
	lifeInline = 8 << 10
	lifeQuota  = 64 << 10
)

var script = []int{1, 5000, lifeInline - 5001, 1, 10_000, 40_000, 3, 60_000, 20_000}

// run plays the script with at most tries for each step.
func (l *life) run(tries int) {
	all := text(256 << 10)
	for _, n := range script {
		off := len(l.written)
		_ = l.say(all[off:off+n], tries)
	}
	l.p.close()
	_ = l.drain(tries)
}

// check compares the log with what the job wrote: what is not in the log is in
// the pipe, in the writer's hold, or a gap that the policy has made.
func (l *life) check(err error) {
	l.t.Helper()
	waiting := int64(0)
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(l.p.r, buf)
		if n <= 0 || err != nil {
			break
		}
		waiting += int64(n)
	}
	st := l.w.State()
	if st.Size != l.moved || st.Size+l.w.pending()+waiting != int64(len(l.written)) {
		l.t.Fatalf("%d bytes in the log, %d said to be moved, %d held, %d in the pipe: %d were written (%v)",
			st.Size, l.moved, l.w.pending(), waiting, len(l.written), err)
	}
}

func (l *life) compare() {
	l.t.Helper()
	st := l.w.State()
	got := content(l.t, l.d, "j1")
	want := bytes.Clone(l.written[:st.Size])
	gaps(st.Gaps).blank(want, 0)
	if !bytes.Equal(got, want) {
		l.t.Fatalf("the log differs from what was written, gaps %v", st.Gaps)
	}
	if st.File != "" {
		if fi, err := os.Stat(st.File); err != nil || fi.Size() != st.Size {
			l.t.Fatalf("the file is not where it is said to be: %v", err)
		}
	}
	if l.w.plan.Policy != Elide && len(st.Gaps) > 0 || st.Flags != 0 {
		l.t.Fatalf("a fault has made a gap: %+v", st)
	}
}

// Whatever call fails, once or for good, no byte is lost and none is dropped in silence.
func TestFaultInAnyCall(t *testing.T) {
	plans := map[string]Plan{
		"memory":    {Inline: lifeInline},
		"elide":     {Inline: lifeInline, Quota: lifeQuota, Policy: Elide},
		"from zero": {Inline: -1},
		"os-crash":  {Durability: OSCrash},
	}
	for name, plan := range plans {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for the disk
			for _, c := range []struct {
				errno   unix.Errno
				forGood bool
			}{{unix.ENOSPC, false}, {unix.ENOSPC, true}, {unix.EMFILE, false}} {
				n := 1
				for ; playFault(t, plan, c.errno, c.forGood, n); n++ {
				}
				if n < 20 {
					t.Fatalf("only %d calls were made", n)
				}
			}
		})
	}
}

// playFault fails the nth call and reports whether there was one.
func playFault(t *testing.T, plan Plan, errno unix.Errno, forGood bool, nth int) bool {
	t.Helper()
	var f faulty
	l := newLife(t, &f, plan)
	defer func() {
		must(t, l.d.Close())
		if left := files(t, l.d.tree.given); len(left) > 1 {
			t.Errorf("the store leaves %v", left)
		}
	}()
	calls, failed := 0, ""
	f.set(func(call string) error {
		if calls++; calls == nth || forGood && calls > nth {
			if failed == "" {
				failed = call
			}
			return errno
		}
		return nil
	})
	defer func() {
		if t.Failed() {
			t.Logf("call %d, %s, fails with %v, for good %v", nth, failed, errno, forGood)
		}
	}()
	tries := 8
	if forGood {
		tries = 1
	}
	l.run(tries)
	if !forGood {
		if err := l.drain(tries); err != io.EOF {
			t.Fatalf("after one fault in %s the log does not go on: %v", failed, err)
		}
	}
	_, err := l.w.Splice(l.p.r, 1)
	f.set(nil)
	l.compare()
	if err != nil && err != io.EOF {
		// The fault is mended: everything arrives after all.
		if err := l.drain(0); err != io.EOF {
			t.Fatalf("the store works again, the log does not: %v", err)
		}
		l.compare()
	}
	l.check(err)
	if err := l.w.Seal(); err != nil {
		t.Fatal(err)
	}
	if int64(len(l.written)) != l.w.State().Size {
		t.Fatalf("%d bytes were written, the log has %d", len(l.written), l.w.State().Size)
	}
	return failed != ""
}

// What a full disk refuses is told as such, and stays where it was.
func TestFaultFullDiskBlocks(t *testing.T) {
	var f faulty
	l := newLife(t, &f, Plan{})
	defer l.d.Close()
	_ = l.say(text(InlineLimit), 0)
	f.set(func(call string) error {
		if call == "sendfile" || call == "splice" {
			return unix.ENOSPC
		}
		return nil
	})
	err := l.say(text(1 << 20)[:200_000], 3)
	var blocked *Blocked
	if !errors.As(err, &blocked) || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	if st := l.w.State(); st.File != "" || st.Size != InlineLimit {
		t.Fatalf("the memory is no longer the log: %+v", st)
	}
	f.set(nil)
	l.p.close()
	if err := l.drain(0); err != io.EOF {
		t.Fatal(err)
	}
	l.check(nil)
}
