package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
	"troupe/messages"
)

// leaver makes texts whose processes leave the cgroup of their job.
type leaver struct {
	t    testing.TB
	r    *rig
	gate gate // through which an escapee gives its pid
}

func newLeaver(t testing.TB, r *rig) *leaver {
	t.Helper()
	need.Feature(t, r.e.host.orphans != nil && r.e.host.cgroups != nil, "a cgroup for each job, and its orphans")
	return &leaver{t, r, newGate(t)}
}

// leave moves the shell into the cgroup of this process.
func (l *leaver) leave() string {
	return fmt.Sprintf("echo $$ > %s/cgroup.procs\n", filepath.Dir(l.r.e.host.cgroups.path))
}

// bare runs a shell text without an environment. It says when it does.
func (l *leaver) bare(text string) string {
	return fmt.Sprintf("env -i /bin/sh -c 'echo $$ > %s; %s' </dev/null >/dev/null 2>&1", l.gate.path, text)
}

// echoes prints the pid of the escapee.
func (l *leaver) echoes() string { return fmt.Sprintf("\nread pid < %s; echo $pid", l.gate.path) }

// pid returns what a job has printed.
func (l *leaver) pid(e *ear) int {
	l.t.Helper()
	e.grown(messages.Merged, 0)
	n, err := strconv.Atoi(strings.TrimSpace(l.r.output(e, messages.Merged)))
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func lives(pid int) bool {
	p, ok := statProc(kernel{}, pid)
	return ok && !p.dead()
}

// kinds are ways to leave: all become children of the engine's process when the job has
// ended.
func (l *leaver) kinds() map[string]string {
	return map[string]string{
		"setsid":         l.leave() + "setsid " + l.bare("exec sleep 1000") + " &" + l.echoes(),
		"nohup":          l.leave() + "nohup " + l.bare("exec sleep 1000") + " &" + l.echoes(),
		"double fork":    l.leave() + "(" + l.bare("exec sleep 1000") + " &)" + l.echoes(),
		"daemon":         l.leave() + "(setsid " + l.bare("exec sleep 1000") + " &)" + l.echoes(),
		"only the child": "sh -c '" + strings.TrimSpace(l.leave()) + "; exec \"$@\"' sh setsid -f " + l.bare("exec sleep 1000") + l.echoes(),
	}
}

// A process that leaves the cgroup of its job and drops its environment is named in the
// job's record, runs on, and ends with a stop of the job.
func TestFaultAnEscapeeIsNamed(t *testing.T) {
	r := newRig(t)
	l := newLeaver(t, r)
	for kind, text := range l.kinds() {
		for _, on := range []string{"pipe", "terminal"} {
			s := r.spec(text)
			if on == "terminal" {
				s.Argv[len(s.Argv)-1] = "trap '' HUP\n" + text // the hangup at the end of the main process
				s.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80}
			}
			e := r.start(s)
			pid := l.pid(e)
			x := await[messages.ProcessExited](e)
			if x.Children != 1 || len(x.Survivors) != 1 || x.Survivors[0].PID != pid || x.Survivors[0].Why != messages.LeftCgroup {
				t.Fatalf("%s on a %s, process %d: %+v", kind, on, pid, x)
			}
			if has[messages.TreeEnded](e) || !lives(pid) {
				t.Fatalf("%s on a %s: process %d has ended", kind, on, pid)
			}
			e.proc.Stop(client(), 0)
			if end := await[messages.TreeEnded](e); len(end.Survivors) > 0 || lives(pid) {
				t.Fatalf("%s on a %s, process %d after a stop: %+v", kind, on, pid, end)
			}
			e.over()
		}
	}
}

// The record of an escapee that ends by itself, or with its job, says so.
func TestAnEscapeeEnds(t *testing.T) {
	r := newRig(t)
	l := newLeaver(t, r)
	end := newGate(t)
	e := r.start(r.spec(l.leave() + "setsid " + l.bare("read x < "+end.path) + " &" + l.echoes()))
	if x := await[messages.ProcessExited](e); x.Children != 1 {
		t.Fatalf("%+v", x)
	}
	end.open()
	if x := await[messages.TreeEnded](e); len(x.Survivors) > 0 {
		t.Errorf("%+v", x)
	}
	e.over()

	s := r.spec(l.leave() + "setsid " + l.bare("exec sleep 1000") + " &" + l.echoes())
	s.OnExit = messages.KillChildren
	e = r.start(s)
	if e.over(); lives(l.pid(e)) {
		t.Error("it lives on, with the policy kill")
	}
}

// A stop reaches what has left the cgroup: below a parent that lives, also beside another
// job, and what leaves during the stop.
func TestFaultAStopReachesEscapees(t *testing.T) {
	r := newRig(t)
	l := newLeaver(t, r)
	daemon := "setsid " + l.bare("exec sleep 1000") + " &" + l.echoes()
	inTrap := "trap '" + strings.ReplaceAll(l.leave()+daemon+"; exit", "'", `'\''`) + "' TERM; echo up; while :; do sleep 0.05; done"
	for _, grace := range []bool{true, false} {
		other := r.up("echo up; sleep 100")
		e := r.start(r.spec(l.leave() + daemon + "; wait"))
		pid := l.pid(e)
		if grace {
			e.proc.Stop(client(), 10*time.Second)
		} else {
			e.proc.Stop(client(), 0)
		}
		if x := await[messages.TreeEnded](e); len(x.Survivors) > 0 || lives(pid) {
			t.Errorf("grace %v, process %d: %+v", grace, pid, x)
		}
		e.over()
		other.proc.Stop(client(), 0)
		other.over()
	}
	e := r.up(inTrap)
	e.proc.Stop(client(), 10*time.Second)
	x := await[messages.TreeEnded](e)
	said := strings.Fields(r.output(e, messages.Merged)) // the shell may report the end of its sleep
	pid, err := strconv.Atoi(said[len(said)-1])
	if err != nil || len(x.Survivors) > 0 || lives(pid) {
		t.Errorf("process %d, which left during the stop: %v, %+v", pid, err, x)
	}
	e.over()
}

// Where several jobs can be the origin of a process, it is no job's: it is reported once with
// the jobs, no stop of them ends it, and what descends from it is no later job's.
func TestFaultAnEscapeeOfUnknownOrigin(t *testing.T) {
	reports := make(chan error, 10)
	r := newRig(t, func(o *Options) { o.Fault = func(_ messages.UID, err error) { reports <- err } })
	l := newLeaver(t, r)
	other := r.up("echo up; sleep 100")
	fork, forked, last := newGate(t), newGate(t), newGate(t)
	e := r.start(r.spec(l.leave() + "setsid " + l.bare("read x < "+fork.path+"; (read x < "+forked.path+"; exec sleep 1000) &") + " &" + l.echoes()))
	pid := l.pid(e)
	x := e.over()
	if x.Children != 0 || len(x.Survivors) != 0 || len(x.Flags) != 1 || x.Flags[0] != messages.FlagTreeUnverified {
		t.Errorf("%+v", x)
	}
	err := within(t, reports)
	if !errors.Is(err, &messages.Error{Code: messages.Refused, Reason: ReasonEscaped}) ||
		!strings.HasPrefix(err.Error(), fmt.Sprintf("process %d (sh) has left the tree of its job, and is of job ", pid)) ||
		!strings.Contains(err.Error(), string(e.id)) || !strings.Contains(err.Error(), string(other.id)) {
		t.Error(err)
	}
	other.proc.Stop(client(), 0)
	if x := other.over(); len(x.Flags) != 0 || !lives(pid) {
		t.Errorf("%+v; process %d lives: %v", x, pid, lives(pid))
	}

	later := r.up("echo up; read x < " + last.path)
	gone := exitOf(t, pid)
	fork.open()
	gone()
	forked.open()
	last.open()
	if x := later.over(); x.Children != 0 || len(x.Survivors) != 0 {
		t.Errorf("%+v", x)
	}
}

// exitOf returns a function that waits for the exit of a process.
func exitOf(t *testing.T, pid int) func() {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
			if err == unix.EINTR {
				continue
			}
			if n != 1 {
				t.Fatalf("process %d has not ended: %v", pid, err)
			}
			return
		}
	}
}

// immortal gets no signal.
type immortal struct {
	kernel
	pid  atomic.Int64
	left atomic.Int64 // signals that do not reach it; negative: none does
}

func (s *immortal) PidfdOpen(pid int) (int, error) {
	if left := s.left.Load(); int64(pid) == s.pid.Load() && left != 0 {
		s.left.Store(left - 1)
		return -1, unix.EPERM
	}
	return s.kernel.PidfdOpen(pid)
}

// An escapee that no signal reaches is a survivor of the stop.
func TestFaultAnEscapeeSurvivesAStop(t *testing.T) {
	sys := &immortal{}
	sys.left.Store(-1)
	r := newRig(t, func(o *Options) { o.Sys = sys })
	l := newLeaver(t, r)
	e := r.start(r.spec(l.leave() + "setsid " + l.bare("exec sleep 1000") + " &" + l.echoes()))
	pid := l.pid(e)
	await[messages.ProcessExited](e)
	sys.pid.Store(int64(pid))
	e.proc.Stop(client(), 0)
	x := await[messages.TreeEnded](e)
	if len(x.Survivors) != 1 || x.Survivors[0].PID != pid || x.Survivors[0].Why != "" {
		t.Errorf("process %d: %+v", pid, x)
	}
	e.proc.Settle(x.Seq)
	sys.left.Store(4) // the end of the engine kills it, but not at once
	later := r.start(r.argv("/bin/true"))
	if x := later.over(); x.Children != 0 {
		t.Errorf("%+v", x)
	}
}

// scanless notes a scan of the children.
type scanless struct {
	kernel
	scanned atomic.Bool
}

func (s *scanless) OpenAt(dir int, path string, flags int) (int, error) {
	if path == procPath(os.Getpid(), "task") {
		s.scanned.Store(true)
	}
	return s.kernel.OpenAt(dir, path, flags)
}

// The end of a job makes no scan of the children, whatever others have left in their cgroups.
func TestAnEndWithoutEscapeesIsCheap(t *testing.T) {
	sys := &scanless{}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	if newLeaver(t, r) == nil {
		return
	}
	e := r.start(r.spec("(sleep 1000 >/dev/null 2>&1 &); setsid sleep 1000 >/dev/null 2>&1 &"))
	if x := await[messages.ProcessExited](e); x.Children != 2 || len(x.Survivors) != 0 {
		t.Errorf("%+v", x)
	}
	for range 3 {
		if x := r.start(r.argv("/bin/true")).over(); x.Children != 0 || len(x.Flags) != 0 {
			t.Errorf("%+v", x)
		}
	}
	if sys.scanned.Load() {
		t.Error("the children were scanned")
	}
	e.proc.Stop(client(), 0)
	e.over()
}

// A new orphan has a sole origin only if no orphan of unknown origin can be its parent.
func TestOriginsOfAnOrphan(t *testing.T) {
	of := func(start uint64) *job { return &job{proc: mainProcess{start: start}} }
	a, b, ended := of(5), of(9), of(1)
	for what, c := range map[string]struct {
		known, past []*orphan
		live        []*job
		blind       bool
		jobs        int
		all         bool
	}{
		"one job":                  {live: []*job{a}, jobs: 1, all: true},
		"a younger job":            {live: []*job{a, b}, jobs: 1, all: true},
		"of the live job":          {known: []*orphan{{proc{pid: 3}, a}}, live: []*job{a}, jobs: 1, all: true},
		"unknown":                  {known: []*orphan{{proc{pid: 3}, nil}}, live: []*job{a}, jobs: 1},
		"unknown, reaped":          {past: []*orphan{{proc{pid: 3}, nil}}, live: []*job{a}, jobs: 1},
		"of an ended job":          {known: []*orphan{{proc{pid: 3}, ended}}, live: []*job{a}, jobs: 1},
		"of an ended job, reaped":  {past: []*orphan{{proc{pid: 3}, ended}}, live: []*job{a}, jobs: 1},
		"an end was not looked at": {blind: true, live: []*job{a}, jobs: 1},
	} {
		e := &escapees{outside: map[int]*orphan{}, past: c.past, blind: c.blind}
		for _, o := range c.known {
			e.outside[o.pid] = o
		}
		if jobs, all := e.origins(proc{pid: 7, start: 8}, c.live); len(jobs) != c.jobs || all != c.all {
			t.Errorf("%s: %d jobs, all %v", what, len(jobs), all)
		}
	}
}
