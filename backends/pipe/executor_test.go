package pipe_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// ear hears facts.
type ear struct {
	mu    sync.Mutex
	heard []messages.ProcessFact
}

func (e *ear) facts(f messages.ProcessFact) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, f)
}

// closed gives what was said of the end of the place.
func (e *ear) closed() []messages.ShellClosed {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []messages.ShellClosed
	for _, f := range e.heard {
		if c, ok := f.(messages.ShellClosed); ok {
			all = append(all, c)
		}
	}
	return all
}

// scene is one place on a played engine.
type scene struct {
	t      *testing.T
	engine *fake.Engine
	pipe   *pipe.Backend
	shell  backends.Executor
	ear    ear
	jobs   ear
}

func inPlace(t *testing.T, play func(s *scene)) {
	synctest.Test(t, func(t *testing.T) {
		e := fake.New(fake.Options{})
		s := &scene{t: t, engine: e, pipe: pipe.New(e, pipe.Options{})}
		s.shell = s.open()
		play(s)
		synctest.Wait()
		if v := e.Violations(); len(v) > 0 {
			t.Errorf("violations: %q", v)
		}
	})
}

func (s *scene) open(held ...backends.InventoryJob) backends.Executor {
	shell, err := s.pipe.Open(backends.ExecutorSpec{}, held, s.ear.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	return shell
}

// run starts a job that has begun.
func (s *scene) run(id messages.UID, onExit messages.OnExit) (*fake.Process, backends.Process) {
	p := s.shell.Start(backends.Command{ID: id, Argv: []string{"make"}, OnExit: onExit}, s.jobs.facts)
	played := <-s.engine.Started
	played.Begin()
	synctest.Wait()
	return played, p
}

func (s *scene) expectClosed(n int) {
	s.t.Helper()
	if got := s.ear.closed(); len(got) != n {
		s.t.Errorf("the end of the place was said %d times, want %d", len(got), n)
	}
}

func TestCloseOfAnEmptyPlace(t *testing.T) {
	inPlace(t, func(s *scene) {
		p, proc := s.run("A", "")
		p.Exit(0)
		synctest.Wait()
		proc.Settle(3)
		s.expectClosed(0)
		s.shell.Close(time.Second)
		s.shell.Close(time.Second)
		s.expectClosed(1)
	})
}

// What still runs and what was left behind is ended; what was kept is not.
func TestCloseEndsWhatIsNotKept(t *testing.T) {
	inPlace(t, func(s *scene) {
		running, _ := s.run("A", messages.KeepChildren)
		left, _ := s.run("B", messages.AdoptChildren)
		left.Leave(fake.Children{N: 1, Stubborn: true})
		left.Exit(0)
		kept, _ := s.run("C", messages.KeepChildren)
		kept.Leave(fake.Children{N: 1, Output: true})
		kept.Exit(0)
		synctest.Wait()

		s.shell.Close(time.Second)
		s.expectClosed(0)
		time.Sleep(time.Second)
		s.expectClosed(1)
		for p, want := range map[*fake.Process][]string{running: {"TERM", "KILL"}, left: {"TERM", "KILL"}, kept: nil} {
			if got := p.Signalled(); !slices.Equal(got, want) {
				t.Errorf("%s got %q, want %q", p.ID, got, want)
			}
		}
		if live := s.engine.Live(); len(live) != 1 || live[0] != kept {
			t.Errorf("%d are alive", len(live))
		}
	})
}

func TestFaultCloseNamesSurvivors(t *testing.T) {
	inPlace(t, func(s *scene) {
		p, _ := s.run("A", "")
		p.Leave(fake.Children{Survivors: []messages.Survivor{{PID: 7, State: "D"}}})
		s.shell.Close(0)
		time.Sleep(fake.SurvivorWait)
		got := s.ear.closed()
		if len(got) != 1 || len(got[0].Survivors) != 1 || got[0].Survivors[0].PID != 7 {
			t.Errorf("closed %+v", got)
		}
	})
}

// A job that nobody hears is ended all the same: one whose owner let go before
// the close, or while it goes on.
func TestCloseHearsForThoseWhoLetGo(t *testing.T) {
	inPlace(t, func(s *scene) {
		_, before := s.run("A", "")
		before.Release()
		_, during := s.run("B", "")
		s.shell.Close(time.Second)
		during.Release()
		s.expectClosed(0)
		time.Sleep(time.Second)
		s.expectClosed(1)
		if n := len(s.engine.Live()); n != 0 {
			t.Errorf("%d are alive", n)
		}
	})
}

// A job that the engine has been asked for and that has not begun is ended too.
func TestCloseDuringTheStart(t *testing.T) {
	inPlace(t, func(s *scene) {
		s.shell.Start(backends.Command{ID: "A", Argv: []string{"make"}}, s.jobs.facts)
		p := <-s.engine.Started
		s.shell.Close(0)
		s.expectClosed(0)
		p.Begin()
		s.expectClosed(1)

		late := make(chan messages.ProcessFact, 1)
		s.shell.Start(backends.Command{ID: "B", Argv: []string{"make"}}, func(f messages.ProcessFact) { late <- f })
		if f := (<-late).(messages.ProcessFailed); f.Err.Code != messages.SessionClosedCode || len(s.engine.Ever()) != 1 {
			t.Errorf("after the close: %+v", f)
		}
	})
}

func TestYield(t *testing.T) {
	inPlace(t, func(s *scene) {
		p, mine := s.run("A", messages.KeepChildren)
		other := s.open()
		mine.Release()
		s.shell.Yield("A")
		taken, err := other.Adopt("A", s.jobs.facts)
		if err != nil {
			t.Fatal(err)
		}
		s.shell.Close(0)
		s.expectClosed(1)
		if len(p.Signals()) > 0 {
			t.Error("the old place ended it")
		}
		// The new place knows what the old one was told of it.
		p.Leave(fake.Children{N: 1})
		p.Exit(0)
		synctest.Wait()
		other.Close(0)
		s.expectClosed(2)
		if len(p.Signals()) > 0 {
			t.Error("its children were not kept")
		}
		p.EndTree()
		synctest.Wait()
		taken.Settle(3)
		if _, err := other.Adopt("A", s.jobs.facts); !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			t.Error(err)
		}
	})
}

// A place that is opened around jobs ends them, adopted or not; one that was
// released says nothing.
func TestOpenAroundHeldJobs(t *testing.T) {
	inPlace(t, func(s *scene) {
		_, a := s.run("A", "")
		_, b := s.run("B", "")
		a.Release()
		b.Release()
		s.shell.Release()
		held, _ := s.engine.Inventory(t.Context())
		again := s.open(append(held, backends.InventoryJob{ID: "gone", Live: true})...)
		if _, err := again.Adopt("A", s.jobs.facts); err != nil {
			t.Fatal(err)
		}
		s.shell.Close(0)
		s.expectClosed(0)
		if len(s.engine.Live()) != 2 {
			t.Error("a released place ended something")
		}
		again.Close(0)
		s.expectClosed(1)
		if len(s.engine.Live()) != 0 {
			t.Error("something is alive")
		}
	})
}

// A tree that has ended is not waited for when its output is still open.
func TestCloseWithOutputOpenElsewhere(t *testing.T) {
	inPlace(t, func(s *scene) {
		p, mine := s.run("A", "")
		p.Leave(fake.Children{Output: true, Escaped: true})
		p.Exit(0)
		synctest.Wait()
		mine.Settle(2) // ProcessExited and TreeEnded
		mine.Release()
		s.shell.Release()
		held, _ := s.engine.Inventory(t.Context())
		again := s.open(held...)
		if _, err := again.Adopt("A", s.jobs.facts); err != nil {
			t.Fatal(err)
		}
		again.Close(0)
		s.expectClosed(1)
		p.CloseOutput()
	})
}

// A start of a job that is known joins it.
func TestStartJoins(t *testing.T) {
	inPlace(t, func(s *scene) {
		p, mine := s.run("A", "")
		mine.Release()
		again := s.shell.Start(backends.Command{ID: "A", Argv: []string{"make"}}, s.jobs.facts)
		p.Exit(0)
		synctest.Wait()
		if len(s.engine.Ever()) != 1 {
			t.Error("it ran twice")
		}
		again.Settle(3)
		if n := len(s.engine.Unsettled()); n != 0 {
			t.Errorf("%d are not settled", n)
		}
	})
}

// Starts, releases and closes meet in any order: nothing outlives its place.
func TestCloseRaces(t *testing.T) {
	e := fake.New(fake.Options{Auto: func(string) *fake.Script { return &fake.Script{Nature: fake.Obedient} }})
	b := pipe.New(e, pipe.Options{})
	for round := range 300 {
		closed := make(chan messages.ProcessFact, 2)
		s, err := b.Open(backends.ExecutorSpec{}, nil, func(f messages.ProcessFact) { closed <- f })
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for i := range 4 {
			wait.Go(func() {
				p := s.Start(backends.Command{ID: messages.UID(fmt.Sprint(round, ".", i)), Argv: []string{"x"}}, func(messages.ProcessFact) {})
				if i%2 == 0 {
					p.Release()
				}
			})
		}
		wait.Go(func() { s.Close(time.Second) })
		wait.Wait()
		<-closed
		if n := len(e.Live()); n != 0 {
			t.Fatalf("%d outlived their place", n)
		}
		if len(closed) > 0 {
			t.Fatal("the end of the place was said twice")
		}
	}
}
