package actors

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A job that had its turn when its session died may have begun. Another may have
// come into the new session before it: it is adopted all the same, or its process
// would be nobody's.
func TestFaultOfASessionWhoseJobHasBegun(t *testing.T) {
	for _, begun := range []bool{true, false} {
		onStage(t, func(s *stage) {
			engine := fake.New(fake.Options{Can: backends.Capabilities{Parallel: 1, Queue: 4}}) // nothing begins by itself
			s.deps.Backends = map[string]backends.Backend{DefaultBackend: engine.Backend()}
			if begun {
				engine.Start(backends.Spec{ID: "U1", Argv: []string{"first"}}, func(messages.ProcessFact) {}).Release()
			}
			s.raise(s.deps.props(func() actor.Actor {
				return newSession(s.deps, openSession{ask: messages.OpenSession{Scope: "main", Session: "s"}})
			}), kindSession)
			for _, p := range []placement{
				{job: &messages.Record{ID: "j2", UID: "U2", State: messages.Queued}, slotGranted: true},
				{job: &messages.Record{ID: "j1", UID: "U1", State: messages.Starting}, slotGranted: true},
			} {
				p.run, p.options = &messages.RunCommand{Program: messages.Program{Text: string(p.job.ID)}}, &jobOptions{}
				s.tell(p)
			}
			if n := len(engine.Unowned()); n != 0 {
				t.Errorf("begun %v: %d processes are nobody's", begun, n)
			}
			returned := of[slotReturned](s.heard.take())
			if waits := len(returned) == 1; waits == begun {
				t.Errorf("begun %v: the turns that came back are %v", begun, returned)
			}
		})
	}
}

// A session holds the request and the environment of a job until it has begun, and no
// longer: an actor that is put around it then needs neither.
func TestSessionLetsGoOfARequest(t *testing.T) {
	onStage(t, func(s *stage) {
		engine := fake.New(fake.Options{})
		s.deps.Backends = map[string]backends.Backend{DefaultBackend: engine.Backend()}
		var of *session
		s.raise(s.deps.props(func() actor.Actor {
			of = newSession(s.deps, openSession{ask: messages.OpenSession{Scope: "main", Session: "s"}})
			return of
		}), kindSession)
		s.tell(placement{
			job: &messages.Record{ID: "j1", UID: "U1", State: messages.Queued}, run: &messages.RunCommand{Program: messages.Program{Text: "make"}}, env: []string{"A=b"}, options: &jobOptions{}, slotGranted: true,
		})
		if p := of.jobs["j1"].place; p.run == nil || len(p.env) != 1 {
			t.Errorf("before it has begun the request is %v and the environment %v", p.run, p.env)
		}
		if !engine.Find("make").Begin() {
			t.Fatal("the job was not asked for")
		}
		s.settle()
		if p := of.jobs["j1"].place; p.run != nil || p.env != nil {
			t.Errorf("it runs, and the request %v and the environment %v are held", p.run, p.env)
		}
		s.sys.Root.Send(of.jobs["j1"].pid, poison{})
		s.settle()
		if n := len(engine.Unowned()); n != 0 {
			t.Errorf("%d processes are nobody's", n)
		}
	})
}

// What is running, or was, is never started again.
func TestBegun(t *testing.T) {
	for state, want := range map[messages.State]bool{
		messages.Queued: false, messages.Starting: false, messages.Running: true, messages.Stopping: true, messages.Draining: true, messages.Finished: true, messages.Retired: true,
	} {
		if got := hasStarted(state); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
}
