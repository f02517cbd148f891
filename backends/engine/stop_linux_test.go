package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/hostile"
	"troupe/messages"
)

func client() messages.Cause { return messages.Cause{By: messages.ByClient, Reason: "asked"} }

// up starts a shell text that says when it stands.
func (r *rig) up(text string) *ear {
	r.t.Helper()
	e := r.start(r.spec(text))
	e.grown(messages.Merged, 0)
	return e
}

// asking starts a shell text that waits, at each "read x", for a nod.
func (r *rig) asking(text string) *ear {
	s := r.spec(text)
	s.Stdio.Stdin = messages.StdinPipe
	return r.start(s)
}

func (e *ear) nod() { e.proc.Do(backends.Input{Data: []byte("\n")}) }

func TestJobIsStoppedPolitely(t *testing.T) {
	r := newRig(t)
	e := r.up("trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.05; done")
	e.proc.Stop(client(), 10*time.Second)
	x := e.over()
	if x.Status.Code != 4 || x.Cause != (messages.Cause{By: messages.ByClient, Reason: "asked", Signal: "TERM"}) {
		t.Errorf("%+v", x)
	}
	if got := r.output(e, messages.Merged); !strings.HasSuffix(got, "bye\n") {
		t.Errorf("%q", got)
	}
	if words(e) != wholeLife {
		t.Errorf("facts: %s", words(e))
	}
}

func TestTermComesOnce(t *testing.T) {
	r := newRig(t)
	e := r.up("trap 'echo term' TERM; echo up; until [ -e /none ]; do :; done")
	e.proc.Stop(client(), time.Minute) // the second rung is at 24 s
	e.grown(messages.Merged, 3)
	e.proc.Stop(client(), 0)
	e.over()
	if got := r.output(e, messages.Merged); got != "up\nterm\n" {
		t.Errorf("%q", got)
	}
}

// A job can have another signal than TERM to begin its stop with. KILL after the grace stays.
// The loop starts no process: bash before 5.3 hangs if INT comes as it begins to wait for one.
func TestStopSignal(t *testing.T) {
	inKinds(t, func(t *testing.T, change func(*backends.Spec)) {
		r := newRig(t)
		start := func(onINT string, more func(*backends.Spec)) (backends.Spec, *ear) {
			s := r.spec("trap 'echo term; exit 4' TERM; trap '" + onINT + "' INT; echo up; while :; do :; done")
			s.Attr.StopSignal = "SIGINT"
			change(&s)
			more(&s)
			e := r.start(s)
			stream := messages.Merged
			if s.Stdio.Streams == messages.SeparateStreams {
				stream = messages.Stdout
			}
			e.grown(stream, 2)
			return s, e
		}
		s, e := start("echo got INT; exit 3", func(*backends.Spec) {})
		e.proc.Stop(client(), time.Minute)
		if x, got := e.over(), r.whole(e, s); x.Status.Code != 3 || x.Cause.Signal != "INT" || got != "up\ngot INT\n" {
			t.Errorf("%+v, %q", x, got)
		}
		s, e = start("echo got INT; exit 3", func(s *backends.Spec) { s.Deadline, s.Grace = 200*time.Millisecond, time.Minute })
		if x, got := e.over(), r.whole(e, s); x.Status.Code != 3 || x.Cause.By != messages.ByDeadline || x.Cause.Signal != "INT" {
			t.Errorf("%+v, %q", x, got)
		}
		s, e = start(":", func(*backends.Spec) {})
		e.proc.Stop(client(), 200*time.Millisecond)
		if x, got := e.over(), r.whole(e, s); x.Status.Signal != "KILL" || x.Cause.Signal != "KILL" || got != "up\n" {
			t.Errorf("%+v, %q", x, got)
		}
	})
}

// KILL comes at the end of the grace and never before it (F19).
func TestFaultJobThatIgnoresTermIsKilled(t *testing.T) {
	r := newRig(t)
	e := r.up("trap '' TERM; echo up; while :; do sleep 0.05; done")
	const grace = 500 * time.Millisecond
	began := time.Now()
	e.proc.Stop(client(), grace)
	x := e.over()
	took := time.Since(began)
	if x.Status.Signal != "KILL" || x.Cause.Signal != "KILL" || len(x.Survivors) > 0 {
		t.Errorf("%+v", x)
	}
	if took < grace || took > grace+patience/2 {
		t.Errorf("it took %s", took)
	}
}

func TestFaultStoppedJobIsWokenToEnd(t *testing.T) {
	r := newRig(t)
	e := r.up("trap 'exit 5' TERM; echo up; kill -STOP $$; sleep 100")
	pid := await[messages.ProcessStarted](e).PID
	until(t, func() bool { p, _ := statProc(kernel{}, pid); return p.state == 'T' })
	e.proc.Stop(client(), 10*time.Second)
	if x := e.over(); x.Status.Code != 5 || x.Cause.Signal != "TERM" {
		t.Errorf("%+v", x)
	}
}

// until waits for something of which there is no event.
func until(t testing.TB, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	expired := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-expired:
			t.Fatal("it did not come true")
		}
	}
}

// A main process that obeys does not save its children, which do not: the
// ladder is walked to its end, and the result waits for it.
func TestFaultTreeOfAnObedientLeaderEnds(t *testing.T) {
	r := newRig(t)
	e := r.up("trap 'exit 0' TERM; (trap '' TERM; echo up; while :; do sleep 0.05; done) & wait")
	e.proc.Stop(client(), time.Minute)
	await[messages.MainExited](e)
	began := time.Now()
	e.proc.Stop(client(), 400*time.Millisecond)
	x := e.over()
	if x.Status.Code != 0 || x.Cause.By != messages.ByClient || x.Cause.Signal != "KILL" || x.Children != 0 {
		t.Errorf("%+v", x)
	}
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("it took %s", took)
	}
}

// The hostile tree (F17): whoever ignores, escapes, stops or multiplies is gone
// when the result comes. A library's host without cgroups reaches the session
// only, and says so.
func TestFaultHostileTreeEnds(t *testing.T) {
	for _, grace := range []time.Duration{0, 300 * time.Millisecond} {
		for _, leave := range []bool{false, true} {
			t.Run(fmt.Sprintf("grace %s, leader leaves %t", grace, leave), func(t *testing.T) {
				r := newRig(t)
				tree := hostile.Tree{Roots: 20, Token: fmt.Sprint(os.Getpid(), t.Name(), time.Now().UnixNano()), Leave: leave}
				defer endTree(tree)
				e := r.start(r.argv(tree.Command()...))
				e.grown(messages.Merged, int64(len(hostile.Ready)-1))
				if leave {
					if x := await[messages.ProcessExited](e); x.Children == 0 && r.e.Features().Isolation != messages.Group {
						t.Errorf("%+v", x)
					}
				}
				e.proc.Stop(client(), grace)
				x, end := await[messages.ProcessExited](e), await[messages.TreeEnded](e)
				if r.e.Features().Isolation == messages.Group {
					until(t, func() bool { // a hopper between two places has no name
						endTree(tree)
						return has[messages.OutputClosed](e)
					})
					if !leave && !strings.Contains(fmt.Sprint(x.Flags), string(messages.FlagTreeUnverified)) {
						t.Errorf("%+v", x)
					}
					return
				}
				if left := tree.Alive(); len(left) > 0 || len(end.Survivors) > 0 {
					t.Errorf("%d are left, %+v named: %s", len(left), end.Survivors, describeAll(left))
				}
				e.over()
			})
		}
	}
}

func describeAll(pids []int) string {
	var b strings.Builder
	for _, pid := range pids {
		p, _ := statProc(kernel{}, pid)
		cmd, _ := os.ReadFile(procPath(pid, "cmdline"))
		fmt.Fprintf(&b, "\n%+v %q", p, cmd)
	}
	return b.String()
}

// endTree leaves nothing behind of a tree that the engine could not end: who
// is stopped does not hop away.
func endTree(tree hostile.Tree) {
	for range 200 {
		seen := map[int]bool{}
		for grown := true; grown; {
			grown = false
			for _, pid := range tree.Alive() {
				if !seen[pid] {
					seen[pid], grown = true, true
					unix.Kill(pid, unix.SIGSTOP)
				}
			}
		}
		if len(seen) == 0 {
			return
		}
		for pid := range seen {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func TestJobIsStoppedBeforeItsStart(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Spawners = 1 })
	// The one worker is held at a fork that waits for the test.
	hold := make(chan struct{})
	r.e.opt.Failpoint = func(name string) error {
		if name == pointFork {
			<-hold
		}
		return nil
	}
	first := r.start(r.spec("echo first"))
	second := r.start(r.spec("echo second"))
	second.proc.Stop(client(), time.Second)
	f := await[messages.ProcessFailed](second)
	if f.Err.Code != messages.Refused || f.Err.Reason != "stopped" || words(second) != "ProcessFailed" {
		t.Errorf("%+v; %s", f, words(second))
	}
	close(hold)
	if x := first.over(); x.Status != (messages.ExitStatus{}) {
		t.Errorf("%+v", x)
	}
}

// A stop that meets the fork ends the process as soon as there is one.
func TestJobIsStoppedInItsStart(t *testing.T) {
	r := newRig(t)
	for range 20 {
		e := r.start(r.spec("sleep 100"))
		e.proc.Stop(client(), 0)
		until(t, func() bool { return has[messages.ProcessFailed](e) || has[messages.TreeEnded](e) })
		if has[messages.ProcessExited](e) {
			if x := e.over(); x.Cause.By != messages.ByClient || x.Status.Signal != "KILL" {
				t.Errorf("%+v", x)
			}
		}
	}
}

// The first cause stays; the shorter grace wins.
func TestFaultFirstCauseStays(t *testing.T) {
	r := newRig(t)
	e := r.up("trap '' TERM; echo up; while :; do sleep 0.05; done")
	began := time.Now()
	e.proc.Stop(messages.Cause{By: messages.ByDeadline, Reason: "late"}, time.Hour)
	e.proc.Stop(client(), time.Hour)
	e.proc.Stop(client(), 100*time.Millisecond)
	e.proc.Stop(client(), time.Hour)
	x := e.over()
	if x.Cause.By != messages.ByDeadline || x.Cause.Reason != "late" {
		t.Errorf("%+v", x.Cause)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %s", took)
	}
	e.proc.Stop(client(), 0) // behind the last word: nothing
	if words(e) != wholeLife {
		t.Errorf("facts: %s", words(e))
	}
}

// A main process that has gone by itself was not stopped, whatever is done
// about what it left.
func TestFaultStopAfterTheExitChangesNoCause(t *testing.T) {
	r := newRig(t)
	e := r.start(r.spec("sleep 100 & exit 6"))
	x := await[messages.ProcessExited](e)
	e.proc.Stop(client(), 0)
	e.over()
	if x.Cause != (messages.Cause{}) || x.Status.Code != 6 || x.Children != 1 {
		t.Errorf("%+v", x)
	}
}

func TestJobHasADeadline(t *testing.T) {
	r := newRig(t)
	s := r.spec("trap 'exit 0' TERM; echo up; sleep 100 & wait")
	s.Deadline, s.Grace = 200*time.Millisecond, 5*time.Second
	e := r.start(s)
	if x := e.over(); x.Cause.By != messages.ByDeadline || x.Cause.OutcomeOf() != messages.TimedOut {
		t.Errorf("%+v", x)
	}
}

// Nobody but the job is signalled: not the group of this process.
func TestSecurityStopSparesTheHost(t *testing.T) {
	r := newRig(t)
	a, b := r.up("echo up; sleep 100"), r.up("echo up; sleep 100")
	a.proc.Stop(client(), 0)
	a.over()
	pid := await[messages.ProcessStarted](b).PID
	if p, ok := statProc(kernel{}, pid); !ok || p.dead() {
		t.Error("the other job is gone")
	}
	b.proc.Stop(client(), 0)
	b.over()
}

func TestFaultManyAreStoppedAtOnce(t *testing.T) {
	r := newRig(t)
	var ears []*ear
	for range 150 {
		ears = append(ears, r.start(r.argv("sleep", "100")))
	}
	for _, e := range ears {
		await[messages.ProcessStarted](e)
	}
	for _, e := range ears {
		e.proc.Stop(client(), time.Minute)
	}
	for _, e := range ears {
		if x := e.over(); x.Cause.By != messages.ByClient || x.Status.Signal != "TERM" {
			t.Errorf("%+v", x)
		}
	}
}
