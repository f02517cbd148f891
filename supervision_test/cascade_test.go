package supervision_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// Closing a scope ends all that is in it and below it, in whatever phase, and
// nothing beside it: "a" contains "a/b", never "ab".
func TestCascadeThroughNestedScopes(t *testing.T) {
	inHouse(t, func(h *house) {
		inside := []messages.ScopePath{"a", "a/b", "a/b/c", "a/d"}
		var running, starting, queued []*client
		for _, scope := range inside {
			at := func(text string) messages.RunCommand {
				return messages.RunCommand{Scope: scope, Session: "s", Program: messages.Program{Text: fmt.Sprintf("%s in %s", text, scope)}}
			}
			c, _ := h.start(at("running"))
			running = append(running, c)
			one := at("starting")
			one.Session = "t"
			starting = append(starting, h.run(one))
			queued = append(queued, h.run(at("queued")))
		}
		beside, q := h.start(messages.RunCommand{Scope: "ab", Program: messages.Program{Text: "beside"}})
		below, r := h.start(messages.RunCommand{Scope: "b/a", Program: messages.Program{Text: "of the same name"}})

		closing := h.ask(messages.CloseScope{Path: "a", Grace: time.Minute, Reason: "the agent is gone"})
		for i := range inside {
			job := finished(queued[i])
			want(h, "queued", job.End.Outcome, messages.Cancelled)
			want(h, "who", job.End.Cause, messages.Cause{By: messages.ByScope, Reason: "the agent is gone"})
			silent(running[i])
			silent(starting[i])
		}
		silent(closing)
		for _, p := range h.engine.Live() {
			if p.Text()[0] == 's' { // starting
				p.SetNature(fake.Obedient)
				p.Begin()
			}
		}
		for i := range inside {
			want(h, "starting", finished(starting[i]).End.Outcome, messages.Cancelled)
		}
		h.after(time.Minute)
		for i := range inside {
			job := finished(running[i])
			want(h, "running", job.End.Outcome, messages.Cancelled)
			want(h, "who", job.End.Cause.By, messages.ByScope)
			want(h, "how", job.End.Cause.Signal, "KILL")
		}
		closed := reply[messages.ScopeClosed](closing)
		want(h, "stopped", len(closed.Jobs), 3*len(inside))
		want(h, "why", closed.Reason, "the agent is gone")

		silent(beside)
		silent(below)
		h.wantSignals(q)
		h.wantSignals(r)
		q.Exit(0)
		r.Exit(0)
		want(h, "beside", finished(beside).End.Outcome, messages.Exited)
		want(h, "below", finished(below).End.Outcome, messages.Exited)
		var open []messages.ScopePath
		for _, s := range reply[messages.ScopeList](h.ask(messages.ListScopes{})).Scopes {
			open = append(open, s.Path)
		}
		wantList(h, "scopes", open, []messages.ScopePath{"ab", "b", "b/a"}...)
	}, plan{fake: serial})
}

// What is told of a closing comes children first, and each once.
func TestCascadeTellsChildrenFirst(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "x"}})
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a", Grace: -1}))
		got := h.ledger.others()
		wanted := []string{"scope+a", "scope+a/b", "session+a/b:default", "session-a/b:default", "scope-a/b", "scope-a"}
		wantList(h, "facts", got, wanted...)
	})
}

// While a scope is being closed nothing enters it, and closing it again joins;
// when it is closed it can be opened again.
func TestCascadeLetsNothingIn(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "x"}, Mode: messages.ModeAsync})
		outside, q := h.start(messages.RunCommand{Scope: "c", Program: messages.Program{Text: "y"}})
		first := h.ask(messages.CloseScope{Path: "a", Grace: time.Minute})
		second := h.ask(messages.CloseScope{Path: "a"})
		refused(h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "z"}}), messages.SessionClosedCode)
		refused(h.run(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "z"}}), messages.SessionClosedCode)
		refused(h.run(messages.RunCommand{Scope: "a/new", Program: messages.Program{Text: "z"}}), messages.SessionClosedCode)
		refused(h.ask(messages.OpenScope{Path: "a/new"}), messages.SessionClosedCode)
		refused(h.ask(messages.OpenSession{Scope: "a", Session: "s"}), messages.SessionClosedCode)
		refused(h.ask(messages.HandOver{Job: "j2", To: "a"}), messages.SessionClosedCode)
		silent(first)
		silent(second)
		p.Exit(0)
		reply[messages.ScopeClosed](first)
		reply[messages.ScopeClosed](second)
		refused(h.ask(messages.CloseScope{Path: "a"}), messages.NotFound)

		c, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "again"}})
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		q.Exit(0)
		finished(outside)
	})
}

// Stopping a scope stops its jobs and those below, and leaves the scope open.
func TestCascadeStopOfAScope(t *testing.T) {
	inHouse(t, func(h *house) {
		a, _ := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "a"}})
		b := h.run(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "b"}}) // starting
		q := h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "q"}})   // queued
		c, p := h.start(messages.RunCommand{Scope: "ab", Program: messages.Program{Text: "c"}})
		_, done := h.start(messages.RunCommand{Scope: "a/b/c", Program: messages.Program{Text: "done"}})
		done.Exit(0)
		h.after(0)
		stop := h.ask(messages.StopCommand{Scope: "a", Grace: time.Second})
		h.proc("b").Begin()
		h.after(time.Second)
		stopped := reply[messages.CommandStopped](stop)
		slices.Sort(stopped.Jobs)
		wantList(h, "stopped", stopped.Jobs, []messages.JobID{"j1", "j2", "j3"}...)
		for _, c := range []*client{a, b, q} {
			job := finished(c)
			want(h, "outcome", job.End.Outcome, messages.Cancelled)
			want(h, "who", job.End.Cause.By, messages.ByClient)
		}
		h.wantSignals(p)
		p.Exit(0)
		finished(c)
		again, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "again"}})
		p.Exit(0)
		want(h, "outcome", finished(again).End.Outcome, messages.Exited)

		// Stopping nothing is no error, and stopping everything needs a name.
		want(h, "stopped", len(reply[messages.CommandStopped](h.ask(messages.StopCommand{Scope: "a"})).Jobs), 0)
		refused(h.ask(messages.StopCommand{}), messages.InvalidParams)
	}, plan{fake: serial})
}

// Stopping a session stops its jobs only.
func TestCascadeStopOfASession(t *testing.T) {
	inHouse(t, func(h *house) {
		a, _ := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "a"}})
		b, q := h.start(messages.RunCommand{Session: "t", Program: messages.Program{Text: "b"}})
		stopped := reply[messages.CommandStopped](h.ask(messages.StopCommand{Scope: "main", Session: "s", Grace: -1}))
		wantList(h, "stopped", stopped.Jobs, []messages.JobID{"j1"}...)
		want(h, "outcome", finished(a).End.Outcome, messages.Cancelled)
		h.wantSignals(q)
		stopped = reply[messages.CommandStopped](h.ask(messages.StopCommand{Session: "t", Grace: -1})) // of main
		wantList(h, "stopped", stopped.Jobs, []messages.JobID{"j2"}...)
		want(h, "outcome", finished(b).End.Outcome, messages.Cancelled)
	})
}

// Who survives is named: to who stopped, to who closed, in the record.
func TestFaultCascadeNamesSurvivors(t *testing.T) {
	stuck := messages.Survivor{PID: 77, State: "D", Wchan: "nfs_wait"}
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "x"}})
		p.Leave(fake.Children{N: 1, Stubborn: true, Survivors: []messages.Survivor{stuck}})
		stop := h.ask(messages.StopCommand{Job: "j1", Grace: time.Second})
		h.after(time.Second + fake.SurvivorWait)
		stopped := reply[messages.CommandStopped](stop)
		wantList(h, "survivors", stopped.Survivors, []messages.Survivor{stuck}...)
		job := finished(c)
		wantList(h, "survivors", job.End.Survivors, []messages.Survivor{stuck}...)
		h.wantFacts("j1", "started stopping finished:cancelled retired")

		_, p = h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "y"}, Mode: messages.ModeAsync})
		p.Leave(fake.Children{N: 1, Stubborn: true, Survivors: []messages.Survivor{stuck}})
		closing := h.ask(messages.CloseScope{Path: "a", Grace: -1})
		h.after(fake.SurvivorWait)
		closed := reply[messages.ScopeClosed](closing)
		wantList(h, "survivors", closed.Survivors, []messages.Survivor{stuck}...)
	})
}

// A session that is closed ends what its jobs left behind, but for what was
// told to survive it; the record of that goes on with the node.
func TestCascadeEndsLeftovers(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, on := range []messages.OnExit{messages.AdoptChildren, messages.KeepChildren} {
			c, p := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: string(on)}, OnExit: on})
			p.Leave(fake.Children{N: 1, Output: true, Stubborn: true})
			p.Exit(0)
			want(h, "children", finished(c).End.Children, 1)
		}
		_, p := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "kill"}, OnExit: messages.KillChildren})
		p.Leave(fake.Children{N: 1, Output: true})
		p.Exit(0)
		h.after(0)
		h.wantSignals(p, "KILL")
		h.wantFacts("j3", "started finished:exited retired")

		closing := h.ask(messages.CloseSession{Scope: "main", Session: "s", Grace: time.Second})
		silent(closing)
		h.after(time.Second)
		reply[messages.SessionClosed](closing)
		h.wantSignals(h.proc("adopt"), "TERM", "KILL")
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "outcome", h.job("j1").End.Outcome, messages.Exited)
		h.wantSignals(h.proc("keep"))
		want(h, "kept", h.proc("keep").Alive(), true)
		want(h, "outcome", h.job("j2").End.Outcome, messages.Exited)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j2"}))
		h.proc("keep").EndTree()
	})
}

// A session that ends while jobs are queued, starting and running, and one that
// is asked to end again meanwhile.
func TestCascadeCloseOfASession(t *testing.T) {
	inHouse(t, func(h *house) {
		running, _ := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "running"}})
		queued := h.run(messages.RunCommand{Session: "s", Program: messages.Program{Text: "queued"}})
		other, p := h.start(messages.RunCommand{Session: "t", Program: messages.Program{Text: "other"}})
		closing := h.ask(messages.CloseSession{Session: "s", Grace: time.Second, Reason: "enough"})
		again := h.ask(messages.CloseSession{Session: "s"})
		want(h, "queued", finished(queued).End.Outcome, messages.Cancelled)
		refused(h.run(messages.RunCommand{Session: "s", Program: messages.Program{Text: "late"}}), messages.SessionClosedCode)
		h.after(time.Second)
		job := finished(running)
		want(h, "running", job.End.Outcome, messages.Cancelled)
		want(h, "who", job.End.Cause.By, messages.ByScope)
		want(h, "why", reply[messages.SessionClosed](closing).Reason, "enough")
		reply[messages.SessionClosed](again)
		want(h, "processes", len(h.engine.Ever()), 2)
		h.wantSignals(p)
		p.Exit(0)
		finished(other)
		refused(h.ask(messages.CloseSession{Session: "s"}), messages.NotFound)

		c, p := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "again"}})
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
	}, plan{fake: serial})
}

// A stop that finds a job starting ends it as soon as there is a process, and
// one that cannot start was cancelled, not failed.
func TestCascadeOverStarts(t *testing.T) {
	inHouse(t, func(h *house) {
		a, b := h.run(messages.RunCommand{Program: messages.Program{Text: "a"}}), h.run(messages.RunCommand{Program: messages.Program{Text: "b"}})
		stopA, stopB := h.ask(messages.StopCommand{Job: "j1", Grace: time.Minute}), h.ask(messages.StopCommand{Job: "j2"})
		want(h, "state", h.job("j1").State, messages.Stopping)
		silent(a)
		silent(stopA)
		h.after(10 * time.Second)
		p := h.proc("a")
		p.Begin()
		h.wantSignals(p, "TERM")
		h.after(50 * time.Second) // the grace counts from the stop
		h.wantSignals(p, "TERM", "KILL")
		want(h, "outcome", finished(a).End.Outcome, messages.Cancelled)
		reply[messages.CommandStopped](stopA)

		h.proc("b").Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, 127)
		want(h, "outcome", finished(b).End.Outcome, messages.Cancelled)
		reply[messages.CommandStopped](stopB)
		want(h, "already", reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j2"})).Already, true)
	})
}

// A session whose place ends by itself refuses, tells why, and does not take
// the node with it.
func TestFaultCascadeOfAPlaceThatCannotOpen(t *testing.T) {
	inHouse(t, func(h *house) {
		refused(h.ask(messages.OpenSession{Session: "s", SessionPlan: messages.SessionPlan{Backend: "nothing"}}), messages.Unsupported)
		refused(h.run(messages.RunCommand{Session: "s", Program: messages.Program{Text: "a"}}), messages.Unsupported)
		refused(h.ask(messages.OpenSession{Session: "t", SessionPlan: messages.SessionPlan{Backend: "bad"}}), messages.SpawnFailed)
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		p.Exit(0)
		finished(c)
	}, plan{more: map[string]fake.Options{"bad": {OpenFails: func(backends.ExecutorSpec) error {
		return &messages.Error{Code: messages.SpawnFailed, Message: "no shell"}
	}}}})
}
