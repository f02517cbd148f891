package engine

import (
	"fmt"
	"os"
	signals "os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// tracedVar makes the test program one that asks its parent for a trace when that is the
// process of this number; 0: whatever it is.
const tracedVar = "TROUPE_ENGINE_TRACED"

// beTraced asks for a trace and stops in its exec, as a program under a debugger does.
func beTraced(parent string) {
	runtime.LockOSThread()
	parents := make(chan os.Signal, 1)
	signals.Notify(parents, unix.SIGUSR1)
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGUSR1), 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "PR_SET_PDEATHSIG:", err)
		os.Exit(1)
	}
	for n, _ := strconv.Atoi(parent); n != 0 && os.Getppid() != n; {
		<-parents
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_PTRACE, syscall.PTRACE_TRACEME, 0, 0); e != 0 {
		fmt.Fprintln(os.Stderr, "PTRACE_TRACEME:", e)
		os.Exit(1)
	}
	err := syscall.Exec("/bin/sleep", []string{"sleep", "600"}, os.Environ())
	fmt.Fprintln(os.Stderr, "exec:", err)
	os.Exit(1)
}

// stopsSys counts the stops that waits for all children report.
type stopsSys struct {
	kernel
	stops   atomic.Int32
	noEpoll bool // a library's host waits for exits in threads
}

func (s *stopsSys) EpollCreate() (int, error) {
	if s.noEpoll {
		return -1, unix.ENOSYS
	}
	return s.kernel.EpollCreate()
}

func (s *stopsSys) Waitid(kind, id int, info *unix.Siginfo, options int) error {
	err := s.kernel.Waitid(kind, id, info, options)
	if err == nil && kind == unix.P_ALL && info.Code == cldTrapped {
		s.stops.Add(1)
	}
	return err
}

// tracedText is the text of a job of such a program. Without preemption by signals, of which one
// would stop it before its exec.
func tracedText(t *testing.T, parent int) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("GODEBUG=asyncpreemptoff=1 %s=%d exec '%s'", tracedVar, parent, self)
}

// untilTraced waits until a process has stopped in a trace.
func untilTraced(t *testing.T, pid int) {
	t.Helper()
	until(t, func() bool {
		p, ok := statProc(kernel{}, pid)
		return ok && p.state == 't'
	})
}

// A program that asks the engine for a trace stays stopped, and its stop is no exit. Others
// are reaped meanwhile, and a stop ends it.
func TestFaultJobAsksForATrace(t *testing.T) {
	for name, sys := range map[string]*stopsSys{"events": {}, "threads": {noEpoll: true}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Sys = sys })
			e := r.start(r.spec(tracedText(t, 0)))
			untilTraced(t, await[messages.ProcessStarted](e).PID)
			j, end := r.e.find(e.id), mainExit{}
			if r.e.host.hasExited(&j.proc) || j.peekExit(&end) {
				t.Error("its stop is taken for an exit")
			}
			r.othersEnd(sys)
			if has[messages.ProcessExited](e) {
				t.Errorf("it has ended: %+v", e.all())
			}
			e.proc.Stop(client(), 50*time.Millisecond)
			if x := e.over(); x.Status.Signal != "KILL" || len(x.Survivors) > 0 {
				t.Errorf("%+v", x)
			}
		})
	}
}

// othersEnd runs jobs beside one that has stopped in a trace.
func (r *rig) othersEnd(sys *stopsSys) {
	r.t.Helper()
	for range 10 {
		if _, x := r.run("exit 3"); x.Status.Code != 3 {
			r.t.Fatalf("%+v", x)
		}
	}
	if n := sys.stops.Load(); n > 10 {
		r.t.Errorf("the stop was reported %d times", n)
	}
}

// The same holds for an orphan, which the engine has not started.
func TestFaultOrphanAsksForATrace(t *testing.T) {
	if !modeNow().own {
		return // orphans are not ours
	}
	sys := &stopsSys{}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	e := r.start(r.spec("(" + tracedText(t, os.Getpid()) + ") & echo $!"))
	await[messages.ProcessExited](e)
	var pid int
	if _, err := fmt.Sscan(r.output(e, messages.Merged), &pid); err != nil {
		t.Fatal(err)
	}
	untilTraced(t, pid)
	r.othersEnd(sys)
	e.proc.Stop(client(), 0)
	e.over()
}
