package fake_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
	"troupe/spill"
)

// owner hears the facts of one job.
type owner struct {
	mu    sync.Mutex
	heard []string
}

func (o *owner) facts(f messages.ProcessFact) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = append(o.heard, word(f))
}

// word is a fact as the tests write it.
func word(f messages.ProcessFact) string {
	switch f := f.(type) {
	case messages.ProcessExited:
		w := fmt.Sprintf("exited %s", f.Status)
		if f.Cause.By != "" {
			w += fmt.Sprintf(" by %s %s", f.Cause.By, f.Cause.Signal)
		}
		if f.OutputOpen {
			w += " open"
		}
		if f.Children > 0 {
			w += fmt.Sprintf(" children %d", f.Children)
		}
		return w
	case messages.OutputGrew:
		return fmt.Sprintf("grew %d", f.Size)
	case messages.InputWritten:
		return fmt.Sprintf("written %d", f.Through)
	case messages.ControlRefused:
		return fmt.Sprintf("refused %s", f.Err.Code)
	case messages.TreeEnded:
		return fmt.Sprintf("ended %d", len(f.Survivors))
	}
	return reflect.TypeOf(f).Name()
}

// expect waits until all is quiet and compares what was heard since it last did.
func (o *owner) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !(len(o.heard) == 0 && len(want) == 0) && !reflect.DeepEqual(o.heard, want) {
		t.Errorf("heard %q, want %q", o.heard, want)
	}
	o.heard = nil
}

// started starts one job that the test plays.
func started(t *testing.T, e *fake.Engine, s backends.Spec) (*fake.Process, backends.Process, *owner) {
	t.Helper()
	if s.ID == "" {
		s.ID = "A"
	}
	s.Argv = []string{"make"}
	o := &owner{}
	proc := e.Start(s, o.facts)
	p := <-e.Started
	p.Begin()
	o.expect(t, "ProcessStarted")
	return p, proc, o
}

var timeout = messages.Cause{By: messages.ByDeadline}

var client = messages.Cause{By: messages.ByClient}

func TestALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, proc, o := started(t, e, backends.Spec{})
		proc.NotifyGrowth(messages.Merged, 0)
		o.expect(t)
		p.Write(messages.Merged, "one")
		o.expect(t, "grew 3")
		p.Write(messages.Merged, "two")
		o.expect(t)
		proc.NotifyGrowth(messages.Merged, 3)
		o.expect(t, "grew 6")
		p.Exit(3)
		o.expect(t, "MainExited", "exited exit 3", "OutputClosed", "ended 0")
		if p.Exit(4) || p.Write(messages.Merged, "late") {
			t.Error("a process that is over went on")
		}
		log, err := proc.Output(messages.Merged)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
		if string(text) != "onetwo" || !log.State().Closed {
			t.Errorf("the log holds %q, %+v", text, log.State())
		}
		log.Close()
	})
}

func TestAdoptionReplaysWhatIsNotSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, first, before := started(t, e, backends.Spec{})
		p.Leave(fake.Children{N: 2, Output: true})
		p.Exit(0)
		before.expect(t, "MainExited", "exited exit 0 open children 2")
		first.Release()
		p.EndTree()
		before.expect(t)

		after := &owner{}
		second, err := e.Adopt("A", after.facts)
		if err != nil {
			t.Fatal(err)
		}
		after.expect(t, "ProcessStarted", "exited exit 0 open children 2", "OutputClosed", "ended 0")
		before.expect(t)

		second.Settle(1)
		third := &owner{}
		again := e.Start(backends.Spec{ID: "A", Argv: []string{"make"}}, third.facts) // joined
		third.expect(t, "ProcessStarted", "OutputClosed", "ended 0")
		again.Settle(3)
		if _, err := e.Adopt("A", third.facts); !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			t.Errorf("a settled job is still known: %v", err)
		}
		if v := e.Violations(); len(v) > 0 || len(e.Ever()) != 1 {
			t.Errorf("violations %q, %d processes", v, len(e.Ever()))
		}
	})
}

func TestLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, proc, o := started(t, e, backends.Spec{})
		at := time.Now()
		proc.Stop(timeout, 10*time.Second)
		time.Sleep(time.Second)
		proc.Stop(client, time.Minute) // a longer grace changes nothing
		proc.Stop(client, 4*time.Second)
		o.expect(t)
		time.Sleep(4*time.Second - time.Nanosecond)
		o.expect(t)
		time.Sleep(time.Nanosecond)
		o.expect(t, "MainExited", "exited signal KILL by deadline KILL", "OutputClosed", "ended 0")
		s := p.Signals()
		if len(s) != 2 || s[0].Name != "TERM" || !s[0].At.Equal(at) || s[1].Name != "KILL" || s[1].At.Sub(at) != 5*time.Second {
			t.Errorf("signals %+v", s)
		}
		proc.Stop(client, 0)
		o.expect(t)
	})
}

func TestObedientAndGraceless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{Nature: fake.Obedient})
		_, proc, o := started(t, e, backends.Spec{})
		proc.Stop(client, time.Second)
		o.expect(t, "MainExited", "exited signal TERM by client TERM", "OutputClosed", "ended 0")
		p, proc, o := started(t, e, backends.Spec{ID: "B"})
		proc.Stop(client, 0)
		o.expect(t, "MainExited", "exited signal KILL by client KILL", "OutputClosed", "ended 0")
		if got := p.Signalled(); !reflect.DeepEqual(got, []string{"KILL"}) {
			t.Errorf("signals %q", got)
		}
	})
}

func TestLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, proc, o := started(t, e, backends.Spec{})
		p.Leave(fake.Children{N: 1, Output: true, Stubborn: true})
		p.Exit(0)
		o.expect(t, "MainExited", "exited exit 0 open children 1")
		proc.Stop(client, time.Second)
		time.Sleep(time.Second - time.Nanosecond)
		o.expect(t)
		time.Sleep(time.Nanosecond)
		o.expect(t, "OutputClosed", "ended 0")
		if len(e.Live()) != 0 || len(e.Unsettled()) != 1 {
			t.Error("it is not over")
		}

		// One that is stopped reports its exit when the tree is gone.
		p, proc, o = started(t, e, backends.Spec{ID: "B"})
		p.Leave(fake.Children{N: 1, Stubborn: true})
		proc.Stop(client, time.Second)
		p.Exit(7)
		o.expect(t, "MainExited")
		time.Sleep(time.Second)
		o.expect(t, "exited exit 7 by client KILL", "OutputClosed", "ended 0")

		// Who cannot be ended is named.
		p, proc, o = started(t, e, backends.Spec{ID: "C"})
		p.Leave(fake.Children{Survivors: []messages.Survivor{{PID: 5, State: "D"}}})
		proc.Stop(client, 0)
		o.expect(t, "MainExited")
		time.Sleep(fake.SurvivorWait)
		o.expect(t, "exited signal KILL by client KILL children 1", "OutputClosed", "ended 1")
	})
}

func TestStopBeforeTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{Nature: fake.Obedient})
		o := &owner{}
		proc := e.Start(backends.Spec{ID: "A", Argv: []string{"make"}}, o.facts)
		proc.Do(backends.Signal{Name: "NOPE"})
		proc.Stop(client, time.Minute)
		o.expect(t)
		(<-e.Started).Begin()
		o.expect(t, "ProcessStarted", "refused invalid_params", "MainExited", "exited signal TERM by client TERM", "OutputClosed", "ended 0")

		o = &owner{}
		e.Start(backends.Spec{ID: "B", Argv: []string{"make"}}, o.facts).Stop(client, time.Minute)
		(<-e.Started).Fail(messages.Error{Code: messages.SpawnFailed}, 127)
		o.expect(t, "ProcessFailed")
	})
}

func TestDeadlineInsurance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{Nature: fake.Obedient})
		p, proc, o := started(t, e, backends.Spec{Deadline: time.Minute, Grace: time.Second})
		time.Sleep(30 * time.Second)
		proc.Do(backends.Deadline{After: time.Minute})
		time.Sleep(time.Minute - time.Nanosecond)
		if p.Deadline() != 1 || len(p.Signals()) > 0 {
			t.Errorf("%s left, %v", p.Deadline(), p.Signals())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := p.Signalled(); !reflect.DeepEqual(got, []string{"TERM"}) {
			t.Errorf("signals %q", got)
		}
		o.mu.Lock()
		last := o.heard[len(o.heard)-1]
		o.mu.Unlock()
		if last != "ended 0" {
			t.Errorf("the last word was %q", last)
		}
	})
}

func TestInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, proc, o := started(t, e, backends.Spec{Stdio: backends.Stdio{Stdin: messages.StdinPipe}})
		proc.Do(backends.Input{Data: []byte("abc")})
		o.expect(t, "written 3")
		p.FillInput(true)
		proc.Do(backends.Input{Data: []byte("de")})
		proc.Do(backends.Signal{Name: "FOO"})
		o.expect(t)
		p.FillInput(false)
		o.expect(t, "written 5", "refused invalid_params")
		p.FillInput(true)
		proc.Do(backends.Input{Data: []byte("f")})
		p.Exit(0)
		o.expect(t, "refused job_finished", "MainExited", "exited exit 0", "OutputClosed", "ended 0")
		if in, _ := p.Input(); in != "abcdef" {
			t.Errorf("input %q", in)
		}

		_, proc, o = started(t, e, backends.Spec{ID: "B"})
		proc.Do(backends.Input{Data: []byte("x")})
		o.expect(t, "refused no_input")
	})
}

func TestLogBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, _, o := started(t, e, backends.Spec{})
		p.BlockLog(messages.Merged, true)
		p.Write(messages.Merged, "waits")
		p.Exit(0)
		o.expect(t, "LogBlocked", "MainExited")
		p.BlockLog(messages.Merged, false)
		o.expect(t, "LogBlocked", "exited exit 0", "OutputClosed", "ended 0")
		f := p.Said()
		if got := f[4].(messages.ProcessExited).Sizes[messages.Merged]; got != 5 {
			t.Errorf("%d bytes", got)
		}
	})
}

// There is no output before the begin, and a process without a log cannot run.
func TestLogsComeWithTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake.NewStore()
		e := fake.New(fake.Options{Store: store})
		o := &owner{}
		proc := e.Start(backends.Spec{ID: "A", Argv: []string{"make"}}, o.facts)
		proc.NotifyGrowth(messages.Merged, 0)
		if _, err := proc.Output(messages.Merged); !errors.Is(err, &messages.Error{Code: messages.OutputUnavailable}) {
			t.Errorf("before the begin: %v", err)
		}
		p := <-e.Started
		p.Begin()
		p.Write(messages.Merged, "x")
		o.expect(t, "ProcessStarted", "grew 1")
		p.Exit(0)

		store.Break(errors.New("full"))
		o = &owner{}
		e.Start(backends.Spec{ID: "B", Argv: []string{"make"}}, o.facts)
		if (<-e.Started).Begin() {
			t.Error("it began without a log")
		}
		o.expect(t, "ProcessFailed")
	})
}

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, _, o := started(t, e, backends.Spec{})
		e.Forget("A")
		if p.Exit(0) || len(e.Live()) != 0 {
			t.Error("a forgotten job lives")
		}
		o.expect(t)
		if _, err := e.Adopt("A", o.facts); !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			t.Error(err)
		}
	})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, proc, o := started(t, e, backends.Spec{Meta: []byte("a")})
		proc.SaveMeta([]byte("b"))
		e.Close(true)
		p.Write(messages.Merged, "on")
		held, _ := e.Inventory(t.Context())
		want := []backends.InventoryJob{{ID: "A", Meta: []byte("b"), Live: true}}
		if !reflect.DeepEqual(held, want) || len(e.Unowned()) != 1 {
			t.Errorf("held %+v", held)
		}
		e.Reopen()
		shell, err := e.Backend().Open(backends.ExecutorSpec{}, held, o.facts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := shell.Adopt("A", o.facts); err != nil {
			t.Fatal(err)
		}
		o.expect(t, "ProcessStarted")
		shell.Close(time.Second)
		time.Sleep(time.Second)
		o.expect(t, "MainExited", "exited signal KILL by scope KILL", "OutputClosed", "ended 0", "ShellClosed")
	})
}

func TestViolationsAreWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		p, proc, o := started(t, e, backends.Spec{})
		e.Start(backends.Spec{ID: "A", Argv: []string{"other"}}, o.facts)
		proc.Stop(messages.Cause{}, time.Second)
		proc.Settle(99)
		proc.SaveMeta(make([]byte, backends.MaxMeta+1))
		if got := len(e.Violations()); got != 4 {
			t.Errorf("%d violations: %q", got, e.Violations())
		}
		p.Exit(0)
	})
}

// Many owners come and go while a process speaks: each hears a gapless replay,
// and none hears anything after its Release.
func TestReleaseIsSilence(t *testing.T) {
	e := fake.New(fake.Options{})
	proc := e.Start(backends.Spec{ID: "A", Argv: []string{"x"}}, func(messages.ProcessFact) {})
	p := <-e.Started
	p.Begin()
	proc.Release()
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				p.AwaitInput(true)
			}
		}
	})
	for range 2000 {
		released := false
		count := 0
		var mu sync.Mutex
		h, err := e.Adopt("A", func(f messages.ProcessFact) {
			mu.Lock()
			defer mu.Unlock()
			if _, first := f.(messages.ProcessStarted); first != (count == 0) {
				t.Errorf("fact %d is a %T", count, f)
			}
			if released {
				t.Error("a fact after the release")
			}
			count++
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
		mu.Lock()
		released = true
		mu.Unlock()
	}
	close(stop)
	wait.Wait()
}

func TestStoreKeepsQuotas(t *testing.T) {
	for _, c := range []struct {
		policy spill.Policy
		text   string
		n      int
		err    error
		size   int64
		gap    []spill.Gap
	}{
		{spill.Elide, "ab\x00\x00ef", 6, nil, 6, []spill.Gap{{From: 2, To: 4}}},
		{spill.KeepHead, "abcd\x00\x00", 6, nil, 6, []spill.Gap{{From: 4, To: 6}}},
		{spill.Pause, "abcd", 4, spill.ErrPaused, 4, nil},
		{spill.Kill, "abcd", 4, spill.ErrQuota, 4, nil},
	} {
		s := fake.NewStore()
		w, err := s.Create("a", 0, spill.Plan{Quota: 4, Policy: c.policy})
		if err != nil {
			t.Fatal(err)
		}
		n, err := w.Append([]byte("abcdef"))
		if n != c.n || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v", c.policy, n, err)
		}
		log, _ := s.Open("a", 0)
		text, _ := io.ReadAll(io.NewSectionReader(log, 0, 10))
		if st := log.State(); string(text) != c.text || st.Size != c.size || !reflect.DeepEqual(st.Gaps, c.gap) {
			t.Errorf("%s: %q, %+v", c.policy, text, st)
		}
		log.Close()
		if s.Readers() != 0 || s.Remove("a") != nil || s.Logs() != 0 {
			t.Errorf("%s: something is left", c.policy)
		}
	}
}
