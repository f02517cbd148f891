package engine

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// unfetched is a kernel that gives so many descriptors out of another table and no
// more, or by which threads share theirs.
type unfetched struct {
	Sys
	left   atomic.Int64
	asked  atomic.Int64
	shared bool
}

func (u *unfetched) PidfdGetfd(pidfd, fd int) (int, error) {
	u.asked.Add(1)
	if u.left.Add(-1) < 0 {
		return -1, unix.EPERM
	}
	return u.Sys.PidfdGetfd(pidfd, fd)
}

func (u *unfetched) UnshareFiles() error {
	if u.shared {
		return unix.EPERM
	}
	return u.Sys.UnshareFiles()
}

// Where a thread cannot have a table of its own, or gets nothing into it, jobs are
// forked as before. One that wants another umask, too, if the table is not apart.
func TestForksWithoutATableOfTheirOwn(t *testing.T) {
	if !modeNow().own {
		return // a library forks with the table of its host
	}
	for name, c := range map[string]struct {
		left   int64
		shared bool
		masked bool // a job with another umask starts
	}{
		"no fetching":       {0, false, true},
		"no table":          {1 << 20, true, true},
		"nothing more":      {1, false, false},
		"half of a fork":    {2, false, false},
		"all as it must be": {1 << 20, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unfetched{Sys: kernel{}, shared: c.shared}
			u.left.Store(c.left)
			r := newRig(t, func(o *Options) { o.Sys, o.apart = u, -1 })
			for range 3 {
				e, x := r.run("ls /proc/self/fd | wc -l; exit 3")
				if x.Status.Code != 3 || strings.TrimSpace(r.output(e, messages.Merged)) != "4" { // 0, 1, 2 and the directory
					t.Errorf("%+v: %q", x, r.output(e, messages.Merged))
				}
			}
			spec := r.spec("umask")
			spec.Umask = 0o027
			e := r.start(spec)
			if c.masked {
				if x := e.over(); x.Status.Code != 0 || r.output(e, messages.Merged) != "0027\n" {
					t.Errorf("%+v: %q", x, r.output(e, messages.Merged))
				}
			} else if f := await[messages.ProcessFailed](e); f.Err.Code != messages.SpawnFailed {
				t.Errorf("%+v", f)
			}
			if u.asked.Load() == 0 {
				t.Error("nothing was asked for")
			}
		})
	}
}

// The table has nothing of the process, and the process nothing of the thread's.
func TestATableOfItsOwn(t *testing.T) {
	if !modeNow().own {
		return // a library forks with the table of its host
	}
	r := newRig(t, func(o *Options) { o.apart = -1 })
	r.run("true")
	held, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(held)
	err = r.e.host.forkers.with(-1, true, func(own *fdTable) {
		if own == nil {
			err = errors.New("there is none")
			return
		}
		names, lerr := listDir(kernel{}, unix.AT_FDCWD, "/proc/thread-self/fd")
		if err = lerr; err == nil && len(names) > 8 { // 0, 1, 2, what the runtime polls by, the pidfd, the directory
			err = errors.New(strings.Join(names, " "))
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// There are no more threads than fork at a time, and whoever finds all busy waits.
func TestForkersAreFew(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Spawners = 2 })
	fs := newForkers(r.e.host)
	defer fs.close()
	thread := func(hold <-chan struct{}) <-chan int {
		got := make(chan int, 1)
		go func() {
			_ = fs.with(-1, false, func(*fdTable) {
				got <- unix.Gettid()
				<-hold
			})
		}()
		return got
	}
	first := 0
	for range 5 {
		if err := fs.with(-1, false, func(*fdTable) {
			got := unix.Gettid()
			if first == 0 {
				first = got
			}
			if got != first {
				t.Errorf("thread %d, and %d before: one by one they need one", got, first)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	one, other := make(chan struct{}), make(chan struct{})
	defer close(other)
	if a, b := within(t, thread(one)), within(t, thread(other)); a == b {
		t.Errorf("two at a time in thread %d", a)
	}
	over := make(chan struct{})
	close(over)
	third := thread(over)
	select {
	case <-third:
		t.Error("a third at a time")
	case <-time.After(20 * time.Millisecond): // it would come at once
	}
	close(one)
	within(t, third)
}

// Behind the end nobody is forked, and nobody waits for it.
func TestForkersEnd(t *testing.T) {
	fs := newForkers(newRig(t).e.host)
	err := fs.with(-1, false, func(*fdTable) { fs.close() })
	if err != nil {
		t.Error(err)
	}
	if err = fs.with(-1, false, func(*fdTable) { t.Error("it was called") }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v, want %v", err, os.ErrClosed)
	}
}

// threadless makes one thread with a context of its own, and then fails so often.
type threadless struct {
	kernel
	made atomic.Int32
	left atomic.Int32
}

func (s *threadless) UnshareFS() error {
	if s.made.Add(1) > 1 && s.left.Add(-1) >= 0 {
		return unix.ENOMEM
	}
	return s.kernel.UnshareFS()
}

// A further thread that cannot be made is the failure of one fork: those that work stay.
func TestForkersOutliveOneThatIsNone(t *testing.T) {
	sys := &threadless{}
	sys.left.Store(1)
	r := newRig(t, func(o *Options) { o.Sys, o.Spawners = sys, 2 })
	fs := newForkers(r.e.host)
	defer fs.close()
	in, out := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() {
		first <- fs.with(-1, false, func(*fdTable) {
			close(in)
			<-out
		})
	}()
	within(t, in)
	if err := fs.with(-1, false, func(*fdTable) { t.Error("there is no thread for it") }); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("%v, want %v", err, unix.ENOMEM)
	}
	if err := fs.with(-1, false, func(*fdTable) {}); err != nil {
		t.Errorf("the next: %v", err)
	}
	close(out)
	if err := within(t, first); err != nil {
		t.Error(err)
	}
	if len(fs.free) != 2 {
		t.Errorf("%d threads, want 2", len(fs.free))
	}
}

// unlisted cannot list the descriptors of a thread.
type unlisted struct {
	kernel
	on atomic.Bool
}

func (s *unlisted) OpenAt(dir int, path string, flags int) (int, error) {
	if s.on.Load() && path == "/proc/thread-self/fd" {
		return -1, unix.EMFILE
	}
	return s.kernel.OpenAt(dir, path, flags)
}

// A thread whose table could not be cleared does not keep what is others' in it.
func TestATableThatIsNotCleared(t *testing.T) {
	if !modeNow().own {
		return // a library forks with the table of its host
	}
	sys := &unlisted{}
	r := newRig(t, func(o *Options) { o.Sys, o.apart, o.Spawners = sys, -1, 1 })
	rd, wr, err := sys.Pipe() // as another start has it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(rd)
	sys.on.Store(true)
	if _, x := r.run("exit 7"); x.Status.Code != 7 {
		t.Errorf("%+v", x)
	}
	sys.on.Store(false)
	unix.Close(wr)
	until(t, func() bool {
		hung, _ := sys.HungUp(rd)
		return hung
	})
	if _, x := r.run("exit 7"); x.Status.Code != 7 {
		t.Errorf("the next: %+v", x)
	}
}
