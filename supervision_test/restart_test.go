package supervision_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// journals are the two ways in which facts are recorded.
func journals(t *testing.T, body func(h *house), p plan) {
	t.Helper()
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprintf("slow %v", slow), func(t *testing.T) {
			p.slow = slow
			inHouse(t, body, p)
		})
	}
}

// A node that begins again around the jobs of one that was killed tells of each
// what was not told, and nothing twice, in whatever phase it was.
func TestRestartInEveryPhase(t *testing.T) {
	for times := 1; times <= 2; times++ {
		journals(t, func(h *house) {
			r := func(text string) messages.RunCommand {
				return messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: text}, Mode: messages.ModeAsync, Labels: messages.Labels{Name: text}}
			}
			_, running := h.start(r("running"))
			_, stopping := h.start(r("stopping"))
			h.ask(messages.StopCommand{Job: "stopping", Grace: time.Hour})
			_, exits := h.start(r("exits"))
			_, leaver := h.start(r("leaver"))
			leaver.Leave(fake.Children{N: 1, Output: true})
			leaver.Exit(4)
			h.after(0)
			_, retired := h.start(r("retired"))
			retired.Exit(5)
			h.after(0)
			h.ask(r("starting"))
			starting := h.proc("starting")
			h.ask(r("queued")) // the session takes four
			h.after(0)
			for range times {
				h.die()
				exits.Exit(6)
				h.begin()
			}
			want(h, "listed", len(h.listed(messages.ListJobs{Finished: true})), 7)
			want(h, "running", h.job("running").State, messages.Running)
			want(h, "stopping", h.job("stopping").State, messages.Stopping)
			want(h, "starting", h.job("starting").State, messages.Starting)
			want(h, "leaver", h.job("leaver").State, messages.Finished)
			want(h, "retired", h.job("retired").State, messages.Retired)
			want(h, "exits", h.job("exits").End.Shell(), 6)
			want(h, "queued", h.job("queued").Started.IsZero(), true) // it is next
			want(h, "unowned", len(h.engine.Unowned()), 0)
			want(h, "settled", len(h.engine.Unsettled()), 0)

			running.Exit(1)
			stopping.Exit(2)
			starting.Begin()
			h.after(0)
			starting.Exit(3)
			leaver.EndTree()
			h.after(0)
			h.wantFacts(h.job("running").ID, "started promoted finished:exited retired")
			h.wantFacts(h.job("stopping").ID, "started promoted stopping finished:cancelled retired")
			h.wantFacts(h.job("starting").ID, "started promoted finished:exited retired")
			h.wantFacts(h.job("leaver").ID, "started promoted finished:exited retired")
			h.wantFacts(h.job("retired").ID, "started promoted finished:exited retired")
			h.wantFacts(h.job("exits").ID, "started promoted finished:exited retired")
			h.proc("queued").Begin()
			h.after(0)
			h.proc("queued").Exit(0)
			h.after(0)
			h.wantFacts(h.job("queued").ID, "queued changed started promoted finished:exited retired")
			c, next := h.start(r("next"))
			want(h, "the next id", reply[messages.CommandPromoted](c).Job.ID, "j8")
			next.Exit(0)
		}, plan{fake: fake.Options{Can: backends.Capabilities{
			Parallel: 4, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
		}}})
	}
}

// A result that was told to nobody is told by the next node, whether the journal
// failed before or the node died over it; one that the journal has is only settled.
func TestRestartBeforeTheEndIsRecorded(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
		h.ledger.fail(errJournal)
		p.Exit(3)
		h.after(0)
		h.die()
		h.ledger.fail(nil)
		want(h, "unsettled", len(h.engine.Unsettled()), 1)
		h.begin()
		h.wantFacts("j1", "started promoted finished:exited retired")
		want(h, "unsettled", len(h.engine.Unsettled()), 0)
	}, plan{})
}

// A job that the engine does not have any more is lost if it had begun: its
// outcome is never guessed.
func TestRestartWithoutTheJob(t *testing.T) {
	journals(t, func(h *house) {
		h.start(messages.RunCommand{Program: messages.Program{Text: "lost"}, Mode: messages.ModeAsync})
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "finished"}, Mode: messages.ModeAsync})
		p.Leave(fake.Children{N: 1, Output: true})
		p.Exit(3)
		h.after(0)
		h.die()
		for _, p := range h.engine.Ever() {
			h.engine.Forget(p.ID)
		}
		h.begin()
		lost := h.job("j1")
		want(h, "outcome", lost.End.Outcome, messages.Lost)
		want(h, "code", lost.End.Code, nil)
		want(h, "status", lost.End.Shell(), 125)
		want(h, "the other", h.job("j2").End.Outcome, messages.Exited)
		h.wantFacts("j2", "started promoted finished:exited retired")
	}, plan{})
}

// A job in the foreground belongs to a connection, which died with the node; one
// that was promoted does not, whether the journal knows so or only the engine.
func TestRestartEndsWhatBelongedToAConnection(t *testing.T) {
	journals(t, func(h *house) {
		_, owned := h.start(messages.RunCommand{Program: messages.Program{Text: "owned"}})
		promoted, p := h.start(messages.RunCommand{Program: messages.Program{Text: "promoted"}, PromoteAfter: time.Second})
		_, detached := h.start(messages.RunCommand{Program: messages.Program{Text: "detached"}, Mode: messages.ModeDetached})
		h.ledger.fail(errJournal)
		h.after(time.Second)
		reply[messages.CommandPromoted](promoted)
		h.die()
		h.ledger.fail(nil)
		h.begin()
		h.after(comeBack)
		h.wantSignals(owned, "TERM")
		h.wantSignals(p)
		h.wantSignals(detached)
		want(h, "promoted", h.job("j2").Background, true)
		h.wantFacts("j2", "started promoted")
		owned.Exit(0)
		h.after(0)
		want(h, "outcome", h.job("j1").End.Outcome, messages.Cancelled)
		want(h, "why", h.job("j1").End.Cause.Reason != "", true)
	}, plan{})
}

// What belonged to a connection is stopped, and not told to go on in the background
// before, if its budget was spent while no node was there.
func TestRestartBehindTheBudget(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "owned"}, PromoteAfter: time.Second})
		h.die()
		h.after(time.Minute)
		h.begin()
		h.after(comeBack)
		want(h, "timers that have run out", h.stage.seen[point{"command", "lifecycle.Expired"}], 0) // they race with the stop
		h.wantFacts("j1", "started stopping")
		p.Exit(0)
		h.after(0)
		h.wantFacts("j1", "started stopping finished:cancelled retired")
	}, plan{})
}

// At whose terminal somebody sat, that goes on in the background: he comes back to it,
// also behind one more death.
func TestRestartKeepsWhatSomebodySatAt(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "edits"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}, Shown: true}, PromoteAfter: time.Hour})
		_, q := h.start(messages.RunCommand{Program: messages.Program{Text: "asked for by a program"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}}})
		for range 2 {
			h.die()
			h.begin()
			h.after(0)
			h.wantSignals(p)
			want(h, "promoted", h.job("j1").Background, true)
		}
		h.wantFacts("j1", "started promoted")
		h.after(comeBack)
		h.wantSignals(q, "TERM")
		q.Exit(0)
		p.Exit(4)
		h.after(0)
		h.wantFacts("j1", "started promoted finished:exited retired")
	}, plan{})
}

// A node that ends in order and keeps its jobs cancels none of them, and its jobs
// in the foreground go on, as their clients were told.
func TestRestartBehindAnOrderedEnd(t *testing.T) {
	journals(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "foreground"}})
		_, q := h.start(messages.RunCommand{Program: messages.Program{Text: "background"}, Mode: messages.ModeAsync})
		starting := h.run(messages.RunCommand{Program: messages.Program{Text: "starting"}})
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			h.Error(err)
		}
		refused(c, messages.ShuttingDown)
		refused(starting, messages.ShuttingDown)
		h.bury()
		h.begin()
		h.proc("starting").Begin()
		h.after(0)
		for _, id := range []messages.JobID{"j1", "j2", "j3"} {
			want(h, "state of "+string(id), h.job(id).State, messages.Running)
		}
		h.wantSignals(p)
		h.wantSignals(q)
		h.wantSignals(h.proc("starting"))
	}, plan{})
}

// An idempotency key gets the job it had, before and behind the end of that, and
// whether the journal knows it or only the engine.
func TestRestartKeepsKeys(t *testing.T) {
	journals(t, func(h *house) {
		one := messages.RunCommand{Program: messages.Program{Text: "one"}, Key: "k1", Mode: messages.ModeAsync}
		two := messages.RunCommand{Program: messages.Program{Text: "two"}, Key: "k2", Mode: messages.ModeAsync}
		three := messages.RunCommand{Program: messages.Program{Text: "three"}, Key: "k3", Mode: messages.ModeAsync}
		_, p := h.start(one)
		p.Exit(3)
		h.start(two)
		h.ledger.fail(errJournal)
		h.run(three)
		h.proc("two")
		h.die()
		h.ledger.fail(nil)
		h.begin()
		want(h, "one", finished(h.run(one)).ID, "j1")
		want(h, "two", reply[messages.CommandPromoted](h.run(two)).Job.ID, "j2")
		refused(h.run(messages.RunCommand{Program: messages.Program{Text: "other"}, Key: "k2"}), messages.Conflict)
	}, plan{})
}

// A subscriber that comes back goes on behind what it has acknowledged, under the
// same numbers.
func TestRestartResumesAChannel(t *testing.T) {
	journals(t, func(h *house) {
		s := h.subscribe(messages.Subscribe{}, false)
		h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync})
		s.acknowledge(2)
		h.after(2 * time.Second) // an acknowledgement is recorded soon, not at once
		last := h.ledger.last()
		h.again()
		other := h.subscribe(messages.Subscribe{}, true)
		want(h, "another name", other.channel() != s.channel(), true)
		back := h.subscribe(messages.Subscribe{Channel: s.channel(), Resume: true}, true)
		h.after(0)
		wantList(h, "told", back.numbers(), through(3, h.ledger.last())...)
		want(h, "and nothing was told anew", h.ledger.last(), last)
		h.again()
		reply[messages.Unsubscribed](h.ask(messages.Unsubscribe{Channel: s.channel()}))
		h.after(0)
		h.again()
		refused(h.ask(messages.Unsubscribe{Channel: s.channel()}), messages.NotFound)
		gone := h.subscribe(messages.Subscribe{Channel: s.channel(), Resume: true}, true)
		wantList(h, "told to a new one", gone.numbers(), through(1, last)...)
	}, plan{})
}

// Scopes come back with their quotas, and sessions with the kind they were of.
func TestRestartKeepsScopes(t *testing.T) {
	journals(t, func(h *house) {
		h.ask(messages.OpenScope{Path: "a/b", Quota: messages.ScopeQuota{Jobs: 1}})
		h.start(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync})
		h.again()
		refused(h.run(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "b"}}), messages.ResourceExhausted)
		want(h, "sessions", len(reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions), 1)
		closing := h.ask(messages.CloseScope{Path: "a", Grace: -1})
		h.after(5 * time.Second)
		reply[messages.ScopeClosed](closing)
	}, plan{})
}

// A thousand jobs are adopted, and each of them can still be stopped.
func TestRestartWithAThousandJobs(t *testing.T) {
	inHouse(t, func(h *house) {
		for i := range 1000 {
			h.send(messages.RunCommand{Scope: messages.ScopePath(fmt.Sprintf("s%d", i%20)), Program: messages.Program{Text: fmt.Sprintf("job %d", i)}, Mode: messages.ModeAsync})
		}
		h.after(time.Second)
		h.again()
		want(h, "jobs", len(h.listed(messages.ListJobs{})), 1000)
		want(h, "unowned", len(h.engine.Unowned()), 0)
		for i := range 20 {
			h.ask(messages.StopCommand{Scope: messages.ScopePath(fmt.Sprintf("s%d", i)), Grace: -1})
		}
		h.after(time.Minute)
		want(h, "left", len(h.listed(messages.ListJobs{})), 0)
	}, plan{
		limits: actors.Limits{Unstarted: 2000},
		fake:   fake.Options{Auto: func(string) *fake.Script { return &fake.Script{Begin: time.Millisecond, Nature: fake.Obedient} }},
	})
}

// A daemon that is killed while a scope is being closed has told its jobs to stop:
// they end as that, and the scope can be closed again.
func TestRestartWhileAScopeCloses(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "stubborn"}, Mode: messages.ModeAsync})
		h.ask(messages.CloseScope{Path: "a", Grace: time.Minute})
		h.wantSignals(p, "TERM")
		h.again()
		want(h, "state", h.job("j1").State, messages.Stopping)
		h.after(time.Minute)
		h.wantSignals(p, "TERM", "KILL")
		p.Exit(137)
		h.after(0)
		want(h, "outcome", h.job("j1").End.Outcome, messages.Cancelled)
		want(h, "by", h.job("j1").End.Cause.By, messages.ByScope)
		closing := h.ask(messages.CloseScope{Path: "a"})
		h.after(5 * time.Second)
		reply[messages.ScopeClosed](closing)
	}, plan{})
}

// What was adopted is as safe from failing actors as what was begun here, whether
// it has begun by now or not.
func TestRestartAndThenACrash(t *testing.T) {
	for _, kind := range []string{"command", "session", "subscope", "scope"} {
		for _, behind := range []bool{false, true} { // another restart
			journals(t, func(h *house) {
				h.start(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "running"}, Mode: messages.ModeAsync})
				h.run(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "starting"}, Mode: messages.ModeAsync, Key: "k"})
				h.again()
				h.crash(kind)
				if behind {
					h.again()
				}
				want(h, "unowned", len(h.engine.Unowned()), 0)
				starting := h.proc("starting")
				starting.Begin()
				h.after(0)
				starting.Exit(3)
				h.proc("running").Exit(4)
				h.after(0)
				h.wantFacts("j1", "started promoted finished:exited retired")
				h.wantFacts("j2", "started promoted finished:exited retired")
				want(h, "one", h.job("j1").End.Shell(), 4)
				want(h, "the other", h.job("j2").End.Shell(), 3)
				want(h, "unsettled", len(h.engine.Unsettled()), 0)
			}, plan{})
		}
	}
}

// A job that was handed over is where it was told to be, whether the journal was
// in time or only the engine.
func TestRestartBehindAHandOver(t *testing.T) {
	for _, late := range []bool{false, true} {
		journals(t, func(h *house) {
			_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "moves"}, Mode: messages.ModeAsync})
			if late {
				h.ledger.fail(errJournal)
			}
			reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
			h.die()
			h.ledger.fail(nil)
			h.begin()
			want(h, "scope", h.job("j1").Scope, messages.ScopePath("b"))
			h.again()
			want(h, "scope again", h.job("j1").Scope, messages.ScopePath("b"))
			p.Exit(0)
			h.after(0)
			h.wantFacts("j1", "started promoted changed finished:exited retired")
		}, plan{})
	}
}
