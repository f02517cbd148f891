package engine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// lateFork returns from a fork when the new process has a child, which has written its
// number to a fifo.
type lateFork struct {
	kernel
	fifo  string
	child chan int
	time  atomic.Int64
}

func (s *lateFork) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	pid, err := s.kernel.Fork(path, argv, attr)
	if err == nil {
		text, _ := os.ReadFile(s.fifo)
		child, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		s.child <- child
	}
	return pid, err
}

// Boottime lets a second pass with each call.
func (s *lateFork) Boottime() (time.Duration, error) {
	return time.Duration(s.time.Add(1)) * time.Second, nil
}

// newLateRig makes an engine whose forks are late.
func newLateRig(t *testing.T, change func(*Options)) (*rig, *lateFork) {
	t.Helper()
	sys := &lateFork{fifo: filepath.Join(t.TempDir(), "fifo"), child: make(chan int, 1)}
	if err := unix.Mkfifo(sys.fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return newRig(t, change, func(o *Options) { o.Sys = sys }), sys
}

// Jobs have the soft limits of the user if this process has raised its own, and so do their
// children, even those that are there before the engine knows of the fork.
func TestJobsHaveTheSoftLimitsOfTheUser(t *testing.T) {
	soft := map[int]uint64{unix.RLIMIT_FSIZE: 1 << 30, unix.RLIMIT_DATA: 1 << 32}
	t.Run("job", func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.SoftLimits = soft })
		g := newGate(t)
		e := r.start(r.spec("read x < " + g.path + "; bash -c 'ulimit -S -f; ulimit -S -d'; ulimit -H -f"))
		await[messages.ProcessStarted](e)
		g.open()
		e.over()
		if got := r.output(e, messages.Merged); got != "1048576\n4194304\nunlimited\n" {
			t.Errorf("a child has %q", got)
		}
	})
	r, sys := newLateRig(t, func(o *Options) { o.SoftLimits = soft })
	g := newGate(t)
	e := r.start(r.spec("(ulimit -S -d 1000; echo $BASHPID > " + sys.fifo + "; read x < " + g.path + ") & wait"))
	child := within(t, sys.child)
	await[messages.ProcessStarted](e)
	for resource, want := range map[int]uint64{unix.RLIMIT_FSIZE: 1 << 30, unix.RLIMIT_DATA: 1000 << 10} {
		var l unix.Rlimit
		if err := unix.Prlimit(child, resource, nil, &l); err != nil || l.Cur != want {
			t.Errorf("limit %d of the child is %d, want %d: %v", resource, l.Cur, want, err)
		}
	}
	g.open()
	e.over()
}
