package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// unforked refuses to fork, as the kernel does at a limit of processes.
type unforked struct {
	kernel
	left, tried atomic.Int32
}

func (u *unforked) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	u.tried.Add(1)
	if u.left.Add(-1) >= 0 {
		return 0, unix.EAGAIN
	}
	return u.kernel.Fork(path, argv, attr)
}

// A fork that is refused is tried three times, at growing distances, and no more
// (F35).
func TestFaultForkIsRefused(t *testing.T) {
	for _, c := range []struct{ refused, tries int32 }{{2, 3}, {3, 3}} {
		t.Run(fmt.Sprint(c.refused), func(t *testing.T) {
			sys := &unforked{}
			r := newRig(t, func(o *Options) { o.Sys = sys })
			sys.left.Store(c.refused)
			began := time.Now()
			e := r.start(r.spec("echo up"))
			if c.refused < maxForks {
				if x := e.over(); x.Status.Code != 0 || r.output(e, messages.Merged) != "up\n" {
					t.Errorf("%+v", x)
				}
			} else if f := await[messages.ProcessFailed](e); f.Err.Code != messages.SpawnFailed || f.Err.Reason != "EAGAIN" || f.Err.Hint == "" {
				t.Errorf("%+v", f)
			}
			if n, took := sys.tried.Load(), time.Since(began); n != c.tries || took < forkPause+forkFactor*forkPause {
				t.Errorf("%d tries in %s", n, took)
			}
			sys.left.Store(0)
			if _, x := r.run("exit 7"); x.Status.Code != 7 {
				t.Errorf("the next job: %+v", x)
			}
		})
	}
}

// An engine without descriptors, or with too few, refuses by the right name,
// harms nobody, and goes on when there are some (F33).
func TestFaultNoDescriptors(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Fault = func(_ messages.UID, err error) { // a job may be without its cgroup then
			if !errors.Is(err, unix.EMFILE) {
				t.Errorf("fault: %v", err)
			}
		}
	})
	up := r.up("echo up; sleep 100")
	refused, taken := untilItStarts(t, func() *ear { return r.start(r.spec("exit 7")) })
	if refused == 0 || len(taken) == 0 {
		t.Errorf("%d jobs were refused, %d descriptors are taken", refused, len(taken))
	}
	for _, fd := range taken {
		unix.Close(fd)
	}
	next, x := r.run("exit 7")
	if x.Status.Code != 7 || await[messages.ProcessStarted](next).Isolation != await[messages.ProcessStarted](up).Isolation {
		t.Errorf("the next job: %+v", next.all())
	}
	up.proc.Stop(client(), 0)
	up.over()
}

// What the store can open again keeps no job from its start.
func TestFaultOutputsHoldTheDescriptors(t *testing.T) {
	r := newRig(t)
	for range 40 {
		e, _ := r.run("head -c 200000 /dev/zero")
		log := r.log(e, messages.Merged)
		defer log.Close() // it stays in use
		if _, err := log.ReadAt(make([]byte, 1), 0); err != nil {
			t.Fatal(err)
		}
	}
	taken := allDescriptors(t)
	e := r.start(r.spec("echo up; exit 7"))
	if x := e.over(); x.Status.Code != 7 {
		t.Errorf("%+v", e.all())
	}
	for _, fd := range taken {
		unix.Close(fd)
	}
	if got := r.output(e, messages.Merged); got != "up\n" {
		t.Errorf("it said %q", got)
	}
}

// untilItStarts takes all descriptors of the process, and gives back one for each job that
// is refused for want of them. It says how many were, and which are taken still.
func untilItStarts(t *testing.T, start func() *ear) (refused int, taken []int) {
	t.Helper()
	for taken = allDescriptors(t); len(taken) > 0; taken = taken[1:] {
		e := start()
		e.hears("end", func(facts []messages.ProcessFact) bool { return len(facts) > 0 })
		f, ok := e.all()[0].(messages.ProcessFailed)
		if !ok {
			e.over()
			break
		}
		if f.Err.Code != messages.ResourceExhausted || f.Err.Reason != "EMFILE" || f.Err.Hint == "" {
			t.Errorf("with %d spare: %+v", refused, f)
		}
		refused++
		unix.Close(taken[0])
	}
	return refused, taken
}

// allDescriptors takes all descriptors that this process may have.
func allDescriptors(t *testing.T) (taken []int) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	highest := uint64(0)
	for _, n := range names { // none that is open is beyond the limit
		fd, _ := strconv.ParseUint(n.Name(), 10, 64)
		highest = max(highest, fd)
	}
	few := unix.Rlimit{Cur: min(before.Cur, highest+16), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) })
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return taken
		}
		taken = append(taken, fd)
	}
}
