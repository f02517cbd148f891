package engine

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// lateForks come back when the child has exited, as forks do where the kernel has
// put whoever forked behind the child.
type lateForks struct {
	kernel
	looks *atomic.Int32 // at one child, for its exit
}

func (l lateForks) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	pid, err := l.kernel.Fork(path, argv, attr)
	if err == nil {
		_ = l.kernel.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT)
	}
	return pid, err
}

func (l lateForks) Waitid(kind, id int, info *unix.Siginfo, options int) error {
	if kind == unix.P_PID && options&unix.WNOHANG != 0 {
		l.looks.Add(1)
	}
	return l.kernel.Waitid(kind, id, info, options)
}

func newLateRig(t *testing.T) (*rig, *atomic.Int32) {
	looks := &atomic.Int32{}
	return newRig(t, func(o *Options) { o.Sys = lateForks{looks: looks} }), looks
}

// What a job did is told in order and whole although it was over when its fork came
// back, and what it left behind is seen to its end.
func TestExitBeforeTheForkIsOver(t *testing.T) {
	for _, c := range []struct {
		text, output string
		code         int
		open         bool
	}{
		{"exit 3", "", 3, false},
		{"echo hi; exit 4", "hi\n", 4, false},
		{"kill -9 $$", "", 0, false},
		{"(sleep 0.2; echo late) & echo hi", "hi\nlate\n", 0, true},
		{"setsid sh -c 'sleep 0.2; echo late' & echo hi", "hi\nlate\n", 0, true},
		{"exec > /dev/null 2>&1; sleep 0.2 & exit 5", "", 5, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			r, looks := newLateRig(t)
			e, x := r.run(c.text)
			if _, started := e.all()[0].(messages.ProcessStarted); !started {
				t.Errorf("the start was not told first: %v", e.all())
			}
			if x.Status.Code != c.code || x.Status.Signal != map[bool]string{true: "KILL"}[strings.HasPrefix(c.text, "kill")] || x.OutputOpen != c.open {
				t.Errorf("%+v", x)
			}
			if got := r.output(e, messages.Merged); got != c.output {
				t.Errorf("the output is %q, want %q", got, c.output)
			}
			until(t, func() bool { return looks.Load() > 0 }) // the reaper may have been first
		})
	}
}

// The input of a job that is over is refused, not lost.
func TestInputBehindAnEarlyExit(t *testing.T) {
	r, _ := newLateRig(t)
	s := r.spec("exit 0")
	s.Stdio.Stdin = messages.StdinPipe
	e := r.start(s)
	e.proc.Do(backends.Input{Data: []byte("for nobody\n")})
	if x := e.over(); x.Status.Code != 0 {
		t.Errorf("%+v", x)
	}
	until(t, func() bool { // the one answer
		for _, f := range e.all() {
			switch f.(type) {
			case messages.ControlRefused, messages.ControlDone, messages.InputWritten:
				return true
			}
		}
		return false
	})
}

// Jobs that end early, and others beside them whose exits are waited for, each have
// one end, and no zombie is left.
func TestManyEarlyExits(t *testing.T) {
	r, _ := newLateRig(t)
	var all []*ear
	for i := range 60 {
		text := fmt.Sprintf("echo %d; exit %d", i, i)
		if i%3 == 0 {
			text = fmt.Sprintf("(sleep 0.05; echo left) & echo %d; exit %d", i, i)
		}
		all = append(all, r.start(r.spec(text)))
	}
	for i, e := range all {
		if x := e.over(); x.Status.Code != i {
			t.Errorf("%d: %+v", i, x)
		}
		if got := r.output(e, messages.Merged); !strings.HasPrefix(got, fmt.Sprintf("%d\n", i)) {
			t.Errorf("%d said %q", i, got)
		}
	}
	until(t, func() bool {
		return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD || r.e.host.own == nil
	})
}

// A burst of stops without grace is ended by a few, and the cgroups of what was stopped
// are removed behind it.
func TestManyStopsWithoutGrace(t *testing.T) {
	r := newRig(t)
	var all []*ear
	for range 3 * stopsAtOnce {
		all = append(all, r.up("echo up; trap '' TERM; sleep 100 & sleep 100"))
	}
	for _, e := range all {
		e.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 0)
	}
	for _, e := range all {
		if x := e.over(); x.Status.Signal != "KILL" || x.Cause.Signal != "KILL" || len(x.Survivors) > 0 {
			t.Errorf("%+v", x)
		}
	}
	until(t, func() bool { d := &r.e.enders; d.mu.Lock(); defer d.mu.Unlock(); return d.falling == 0 && d.busy == 0 })
}
