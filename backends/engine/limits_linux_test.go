package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// lookAtLimits prints what a job has of its limits.
const lookAtLimits = "ulimit -S -n; ulimit -H -n; ulimit -S -c; ulimit -S -f; nice; grep Cpus_allowed_list /proc/self/status"

// otherLimits are limits that this process has not, and what a job with them prints.
func otherLimits(t *testing.T) (l messages.Limits, printed string) {
	t.Helper()
	own := OwnLimits()
	cpus, ok := messages.ParseCPUs(own.CPUs)
	if !ok {
		t.Fatalf("CPUs %q", own.CPUs)
	}
	l = messages.Limits{
		Rlimits: []string{"nofile=77:88", "core=0:", "fsize=1048576"}, Nice: min(own.Nice+3, 19), CPUs: fmt.Sprint(cpus[len(cpus)-1]),
	}
	return l, fmt.Sprintf("77\n88\n0\n1024\n%d\nCpus_allowed_list:\t%s\n", l.Nice, l.CPUs)
}

// inKinds calls do for a job of each kind of output.
func inKinds(t *testing.T, do func(t *testing.T, change func(*backends.Spec))) {
	for name, change := range map[string]func(*backends.Spec){
		"pipe":     func(*backends.Spec) {},
		"separate": func(s *backends.Spec) { s.Stdio.Streams = messages.SeparateStreams },
		"terminal": func(s *backends.Spec) { s.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80} },
		"umask":    func(s *backends.Spec) { s.Umask = 0o27 },
	} {
		t.Run(name, func(t *testing.T) { do(t, change) })
	}
}

// whole is all that a job has printed.
func (r *rig) whole(e *ear, s backends.Spec) string {
	r.t.Helper()
	stream := messages.Merged
	if s.Stdio.Streams == messages.SeparateStreams {
		stream = messages.Stdout
	}
	return strings.ReplaceAll(r.output(e, stream), "\r", "")
}

// A job has the limits, the nice value and the CPUs of its request, and a process of the
// engine's own gives them before the first instruction.
func TestJobHasItsLimits(t *testing.T) {
	limits, want := otherLimits(t)
	inKinds(t, func(t *testing.T, change func(*backends.Spec)) {
		r := newRig(t, func(o *Options) { o.SoftLimits = map[int]uint64{unix.RLIMIT_FSIZE: 4096} })
		for range 5 {
			g, text := newGate(t), lookAtLimits
			if !modeNow().own { // a library's host gives them a moment later
				text = "read x < " + g.path + "; " + text
			}
			s := r.spec(text)
			s.Attr.Limits = limits
			change(&s)
			e := r.start(s)
			if !modeNow().own {
				await[messages.ProcessStarted](e)
				g.open()
			}
			x := e.over()
			if got := r.whole(e, s); got != want || len(x.Flags) > 0 {
				t.Fatalf("%q, want %q; flags %v", got, want, x.Flags)
			}
		}
	})
}

// A live shell has the limits of its session, and so has all that runs in it.
func TestLiveShellHasItsLimits(t *testing.T) {
	limits, want := otherLimits(t)
	r := newRig(t)
	s, _ := r.shell(func(s *backends.Spec) { s.Attr.Limits = limits })
	for range 2 {
		if got, _ := r.say(s.ID, "bash -c '"+lookAtLimits+"'"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The names of requests are those that the engine knows.
func TestNamesOfLimits(t *testing.T) {
	var names []string
	for _, r := range resources {
		names = append(names, r.name)
	}
	err := messages.RunCommand{Program: messages.Program{Text: "true"}, ProcAttr: messages.ProcAttr{Limits: messages.Limits{Rlimits: []string{"x=1"}}}}.Check()
	if want := "the names are " + strings.Join(names, ", "); err == nil || err.Hint != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// The limits of this process, as a request has them, change nothing: a start makes no call for
// them.
func TestOwnLimitsCostNothing(t *testing.T) {
	sys := &givingSys{}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	sys.calls.Store(0) // the engine's own
	s := r.spec("ulimit -S -n")
	s.Attr.Limits = OwnLimits()
	e := r.start(s)
	e.over()
	own, _ := r.run("ulimit -S -n")
	if a, b := r.output(e, messages.Merged), r.output(own, messages.Merged); a != b {
		t.Errorf("with its own limits a job has %q open files, else %q", a, b)
	}
	if n := sys.calls.Load(); n > 0 {
		t.Errorf("%d calls", n)
	}
}

// givingSys counts the calls that give limits, and can refuse them.
type givingSys struct {
	kernel
	calls           atomic.Int32
	refuse, noTrace bool
	refused         atomic.Int32 // forks with a trace
	atTrace         func(pid int)
}

func (s *givingSys) Prlimit(pid, resource int, set, was *unix.Rlimit) error {
	s.calls.Add(1)
	if s.refuse && set != nil && set.Max == 1<<40 {
		return unix.EPERM
	}
	return s.kernel.Prlimit(pid, resource, set, was)
}

func (s *givingSys) SetNice(pid, nice int) error {
	s.calls.Add(1)
	if s.refuse {
		return unix.EACCES
	}
	return s.kernel.SetNice(pid, nice)
}

func (s *givingSys) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	if s.noTrace && attr.Sys.Ptrace {
		s.refused.Add(1)
		return 0, unix.EPERM
	}
	return s.kernel.Fork(path, argv, attr)
}

func (s *givingSys) EndTrace(pid int) error {
	if s.atTrace != nil {
		s.atTrace(pid)
	}
	return s.kernel.EndTrace(pid)
}

// What the kernel refuses is the nearest that it allows, and the record has a flag.
func TestFaultLimitsThatTheKernelRefuses(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Sys = &givingSys{refuse: true} })
	own, _ := r.run("ulimit -H -c; nice")
	for name, l := range map[string]messages.Limits{
		"hard": {Rlimits: []string{"core=0:1099511627776"}},
		"soft": {Rlimits: []string{"nofile=18446744073709551614:"}}, // a hard limit of open files is always lower
		"nice": {Nice: 19},
		"CPUs": {CPUs: "1023"}, // this machine has fewer
	} {
		if l.Nice != 0 && l.Nice == OwnLimits().Nice {
			continue
		}
		s := r.spec("ulimit -H -c; nice")
		s.Attr.Limits = l
		e := r.start(s)
		if x := e.over(); !slices.Contains(x.Flags, messages.FlagLimitsRefused) || x.Status.Code != 0 {
			t.Errorf("%s: %+v", name, x)
		}
		if got, want := r.output(e, messages.Merged), r.output(own, messages.Merged); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Where a process may not be traced, it and its children have their limits when its start is
// reported.
func TestLimitsWithoutATrace(t *testing.T) {
	limits, want := otherLimits(t)
	sys := &givingSys{noTrace: true}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	g := newGate(t)
	s := r.spec("read x < " + g.path + "; " + lookAtLimits)
	s.Attr.Limits = limits
	e := r.start(s)
	await[messages.ProcessStarted](e)
	g.open()
	if x := e.over(); len(x.Flags) > 0 {
		t.Errorf("flags %v", x.Flags)
	}
	if got := r.output(e, messages.Merged); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := sys.refused.Load() == 1, modeNow().own; got != want {
		t.Errorf("%d forks with a trace", sys.refused.Load())
	}
}

// earlySignals has signals stop a traced process before its exec does.
type earlySignals struct {
	kernel
	send  []syscall.Signal
	swaps int
}

func (s *earlySignals) Waitid(kind, id int, info *unix.Siginfo, options int) error {
	err := s.kernel.Waitid(kind, id, info, options)
	if err != nil || kind != unix.P_PID || options&unix.WSTOPPED == 0 || len(s.send) == 0 || s.swaps > 0 {
		return err
	}
	s.swaps++
	return s.next(id, info, options)
}

// next lets a process continue up to its next signal.
func (s *earlySignals) next(pid int, info *unix.Siginfo, options int) error {
	sig := unix.SIGTRAP // as if of its exec
	if len(s.send) > 0 {
		sig, s.send = s.send[0], s.send[1:]
	}
	if err := unix.Kill(pid, sig); err != nil {
		return err
	}
	if err := s.kernel.ContinueTrace(pid); err != nil || info == nil {
		return err
	}
	return s.kernel.Waitid(unix.P_PID, pid, info, options)
}

func (s *earlySignals) ContinueTrace(pid int) error { return s.next(pid, nil, 0) }

// A signal that stops a traced process before its exec does reaches it with its limits.
func TestFaultSignalBeforeTheLimits(t *testing.T) {
	if !modeNow().own {
		return // it is not traced
	}
	for name, c := range map[string]struct {
		send []syscall.Signal
		want string
	}{
		"ends it":     {[]syscall.Signal{unix.SIGWINCH, unix.SIGXFSZ}, "XFSZ"},
		"leaves it":   {[]syscall.Signal{unix.SIGWINCH, unix.SIGCHLD}, ""},
		"nothing yet": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Sys = &earlySignals{send: c.send} })
			s := r.spec("ulimit -S -n; ulimit -H -n")
			s.Attr.Limits.Rlimits = []string{"nofile=77:88"}
			e := r.start(s)
			x := e.over()
			if x.Status.Signal != c.want || len(x.Flags) > 0 {
				t.Errorf("%+v", x)
			}
			if got := r.output(e, messages.Merged); c.want == "" && got != "77\n88\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

// A process that is killed while it waits for its limits has ended by that signal, and others
// are reaped meanwhile.
func TestFaultKillBeforeTheLimits(t *testing.T) {
	limits, _ := otherLimits(t)
	sys := &givingSys{atTrace: func(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }}
	if !modeNow().own {
		sys.atTrace = nil // it is not traced
	}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	for range 5 {
		s := r.argv("sleep", "600")
		s.Attr.Limits = limits
		e, other := r.start(s), r.start(r.spec("exit 3"))
		if sys.atTrace == nil {
			await[messages.ProcessStarted](e)
			e.proc.Stop(client(), 0)
		}
		if x := e.over(); x.Status.Signal != "KILL" {
			t.Errorf("%+v", x)
		}
		if x := other.over(); x.Status.Code != 3 {
			t.Errorf("%+v", x)
		}
	}
}
