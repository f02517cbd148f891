package supervision_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors"
	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A deadline that was changed while the job waited goes with it, to its new place
// and to a new actor.
func TestTimeoutChangedInTheQueueGoesWithTheJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
		h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "second"}, Timeout: time.Minute})
		h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "third"}, Timeout: time.Minute})
		reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j2", After: time.Hour}))
		reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j3", None: true}))
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j2", To: "b"}))
		h.crash("session")
		h.crash("command")
		q := h.proc("second")
		q.Begin()
		h.after(time.Minute)
		h.wantSignals(q)
		h.after(59 * time.Minute)
		h.wantSignals(q, "TERM")
		q.Exit(0)
		h.crash("command") // that of the third
		p.Exit(0)
		h.after(0)
		r := h.proc("third")
		r.Begin()
		h.after(time.Hour)
		h.wantSignals(r)
		r.Exit(0)
	}, plan{fake: fake.Options{Can: backends.Capabilities{Parallel: 1, Queue: 4}}})
}

// A session that could not be opened does not keep its name.
func TestASessionThatCouldNotBeOpenedIsOpenedAgain(t *testing.T) {
	var broken error
	inHouse(t, func(h *house) {
		refused(h.ask(messages.OpenSession{Session: "build", SessionPlan: messages.SessionPlan{Backend: "none"}}), messages.Unsupported)
		broken = errors.New("no such shell")
		refused(h.ask(messages.OpenSession{Session: "build", SessionPlan: messages.SessionPlan{Shell: "fish"}}), messages.SpawnFailed)
		refused(h.run(messages.RunCommand{Session: "build", Program: messages.Program{Text: "make"}}), messages.SpawnFailed)
		broken = nil
		info := reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "build", SessionPlan: messages.SessionPlan{Dir: "/src"}})).Info
		want(h, "directory", info.Dir, "/src")
		_, p := h.start(messages.RunCommand{Session: "build", Program: messages.Program{Text: "make"}})
		p.Exit(0)
		h.after(0)
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Session: "build"}))
	}, plan{fake: fake.Options{OpenFails: func(backends.ExecutorSpec) error { return broken }}})
}

// A session that is made anew is the one that was opened.
func TestFaultSessionKeepsItsShell(t *testing.T) {
	var last backends.ExecutorSpec
	inHouse(t, func(h *house) {
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "s", SessionPlan: messages.SessionPlan{Shell: "zsh", Env: messages.Env{Set: []string{"A=1"}}, Dir: "/src"}}))
		for _, kind := range []string{"session", "scope"} {
			last = backends.ExecutorSpec{}
			h.crash(kind)
			want(h, kind+": shell", last.Shell, "zsh")
			want(h, kind+": variables", slices.Contains(last.Env, "A=1"), true)
			want(h, kind+": directory", last.Dir, "/src")
		}
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "s", SessionPlan: messages.SessionPlan{Shell: "zsh"}}))
	}, plan{fake: fake.Options{OpenFails: func(at backends.ExecutorSpec) error { last = at; return nil }, Can: fake.Live()}})
}

// What a job says while its node lets it go does not take back what its client was
// told: the next node does not stop it.
func TestRestartBehindAnOrderedEndThatCrossesAFact(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "foreground"}})
		release := h.hold("supervisor", "messages.ShutdownNode")
		ended := make(chan error)
		h.over, h.left = true, true
		go func() { ended <- h.node.Shutdown(h.Context(), messages.ShutdownNode{KeepJobs: true}) }()
		synctest.Wait()
		p.AwaitInput(true) // it is said, and on its way
		synctest.Wait()
		release()
		if err := <-ended; err != nil {
			h.Error(err)
		}
		h.stage.spoil = nil
		h.bury()
		h.begin()
		want(h, "state", h.job("j1").State, messages.Running)
		want(h, "background", h.job("j1").Background, true)
		h.wantSignals(p)
	}, plan{})
}

// A request for a start slot that crosses the release of the jobs gets none: the scopes
// are stopping, and a grant would be lost with them.
func TestShutdownGrantsNoSlotAfterTheReleaseOfTheJobs(t *testing.T) {
	journals(t, func(h *house) {
		first, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		second := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}})
		h.after(0)
		release := h.hold("supervisor", "messages.ShutdownNode")
		ended := make(chan error)
		h.over, h.left = true, true
		go func() { ended <- h.node.Shutdown(h.Context(), messages.ShutdownNode{KeepJobs: true}) }()
		synctest.Wait()
		p.Exit(0) // its session asks for the slot of the second job
		synctest.Wait()
		release()
		if err := <-ended; err != nil {
			h.Error(err)
		}
		want(h, "first", reply[messages.CommandRejected](first).Err.Code, messages.ShuttingDown)
		want(h, "second", reply[messages.CommandRejected](second).Err.Code, messages.ShuttingDown)
		want(h, "processes", len(h.engine.Ever()), 1)
	}, plan{fake: serial})
}

// Children that were told to outlive their session outlive it behind a restart, too,
// whether their job had a result before or has one since.
func TestRestartKeepsChildrenOfASession(t *testing.T) {
	journals(t, func(h *house) {
		begin := func() { // each with a backend of its own, as in a process of its own
			h.die()
			h.kinds[actors.DefaultBackend] = pipe.New(h.engine, pipe.Options{})
			h.begin()
		}
		begin()
		leaver := func(name string, on messages.OnExit) *fake.Process {
			_, p := h.start(messages.RunCommand{Program: messages.Program{Argv: []string{name}}, OnExit: on, Mode: messages.ModeAsync})
			p.Leave(fake.Children{N: 1, Output: true})
			return p
		}
		before, since, other := leaver("before", messages.KeepChildren), leaver("since", messages.KeepChildren), leaver("other", "")
		before.Exit(0)
		other.Exit(0)
		h.after(0)
		begin()
		since.Exit(0)
		h.after(0)
		closing := h.ask(messages.CloseSession{})
		h.after(time.Minute)
		reply[messages.SessionClosed](closing)
		h.wantSignals(before)
		h.wantSignals(since)
		want(h, "what the others left is ended", len(other.Signalled()) > 0, true)
		before.EndTree()
		since.EndTree()
	}, plan{})
}
