package supervision_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// openScopes are the paths of the scopes that are open.
func (h *house) openScopes() (open []messages.ScopePath) {
	h.Helper()
	for _, s := range reply[messages.ScopeList](h.ask(messages.ListScopes{})).Scopes {
		open = append(open, s.Path)
	}
	return open
}

// keep promotes a job as a person does.
func (h *house) keep(id messages.JobID) {
	h.Helper()
	promoted := reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: id, Keep: true}))
	want(h, "kept", promoted.Job.HasFlag(messages.FlagKept), true)
}

// A scope in which nothing is to be kept is closed with its client.
func TestLeaveEndsAll(t *testing.T) {
	inHouse(t, func(h *house) {
		h.ask(messages.OpenScope{Path: "a/b"})
		_, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "one"}, Mode: messages.ModeAsync})
		_, q := h.start(messages.RunCommand{Scope: "a/b/c", Program: messages.Program{Text: "two"}, Mode: messages.ModeAsync})
		leaving := h.ask(messages.ReleaseScope{Path: "a/b", Reason: "its client has gone"})
		h.wantSignals(p, "TERM")
		h.wantSignals(q, "TERM")
		p.Exit(0)
		silent(leaving)
		q.Exit(0)
		closed := reply[messages.ScopeClosed](leaving)
		wantList(h, "stopped", closed.Jobs, "j1", "j2")
		want(h, "why", h.job("j1").End.Cause, messages.Cause{By: messages.ByScope, Reason: "its client has gone", Signal: "TERM"})
		wantList(h, "scopes", h.openScopes(), "a")
		refused(h.ask(messages.ReleaseScope{Path: "a/b"}), messages.NotFound)
	})
}

// What is to be kept goes on where it is, whatever else is in its session; all else
// ends, in whatever phase it is.
func TestLeaveSparesWhatIsKept(t *testing.T) {
	inHouse(t, func(h *house) {
		run := func(scope messages.ScopePath, session messages.SessionID, text string) *fake.Process {
			_, p := h.start(messages.RunCommand{Scope: scope, Session: session, Program: messages.Program{Text: text}, Mode: messages.ModeAsync})
			return p
		}
		kept := run("a", "one", "kept")
		_, detached := h.start(messages.RunCommand{Scope: "a/d", Program: messages.Program{Text: "detached"}, Mode: messages.ModeDetached})
		beside, other := run("a", "one", "beside"), run("a", "two", "other")
		below, aside := run("a/d", "s", "below"), run("a/e/f", "s", "aside")
		outside := run("ab", "one", "outside")
		starting := h.run(messages.RunCommand{Scope: "a", Session: "one", Program: messages.Program{Text: "starting"}})
		h.keep("j1")
		left := h.ask(messages.ReleaseScope{Path: "a", Grace: time.Minute})
		for _, p := range []*fake.Process{beside, other, below, aside} {
			h.wantSignals(p, "TERM")
			p.Exit(0)
		}
		silent(left)
		h.proc("starting").SetNature(fake.Obedient)
		h.proc("starting").Begin()
		want(h, "starting", finished(starting).End.Outcome, messages.Cancelled)
		said := reply[messages.ScopeReleased](left)
		wantList(h, "kept", said.Kept, "j1", "j2")
		wantList(h, "stopped", said.Jobs, "j3", "j4", "j5", "j6", "j8")
		for _, p := range []*fake.Process{kept, detached, outside} {
			h.wantSignals(p)
		}
		wantList(h, "scopes", h.openScopes(), "a", "a/d", "ab")
		again := reply[messages.ScopeReleased](h.ask(messages.ReleaseScope{Path: "a"}))
		want(h, "stopped again", len(again.Jobs), 0)
		kept.Exit(0)
		detached.Exit(0)
		h.after(0)
		reply[messages.ScopeClosed](h.ask(messages.ReleaseScope{Path: "a"}))
		wantList(h, "scopes", h.openScopes(), "ab")
		outside.Exit(0)
	})
}

// A job that somebody stops is not kept, and what is promoted by its budget, or by who
// does not say so, neither.
func TestLeaveKeepsOnlyWhatWasAskedFor(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "budget"}, PromoteAfter: time.Second})
		h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "agent"}})
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "stopped"}})
		h.after(time.Second)
		want(h, "flags", len(reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j2"})).Job.Flags), 0)
		h.keep("j3")
		h.ask(messages.StopCommand{Job: "j3", Grace: time.Hour})
		h.wantSignals(p, "TERM")
		left := h.ask(messages.ReleaseScope{Path: "a", Grace: -1})
		h.after(time.Second)
		wantList(h, "stopped", reply[messages.ScopeClosed](left).Jobs, "j1", "j2", "j3")
	})
}

// Who is told that a job stays finds that so, also if the client leaves at that moment
// and also behind the death of the node, whether the journal knows it or only the engine.
func TestLeaveBehindAPromotion(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "front"}})
		_, q := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "back"}, Mode: messages.ModeAsync})
		h.ledger.fail(errJournal)
		first, second := h.send(messages.PromoteCommand{Job: "j1", Keep: true}), h.send(messages.PromoteCommand{Job: "j2", Keep: true})
		left := h.send(messages.ReleaseScope{Path: "a"})
		wantList(h, "kept", reply[messages.ScopeReleased](left).Kept, "j1", "j2")
		reply[messages.CommandPromoted](first)
		reply[messages.CommandPromoted](second)
		h.die()
		h.ledger.fail(nil)
		h.begin()
		for _, id := range []messages.JobID{"j1", "j2"} {
			want(h, "kept", h.job(id).HasFlag(messages.FlagKept), true)
		}
		h.again()
		wantList(h, "kept", reply[messages.ScopeReleased](h.ask(messages.ReleaseScope{Path: "a"})).Kept, "j1", "j2")
		h.wantSignals(p)
		h.wantSignals(q)
		p.Exit(0)
		q.Exit(0)
	}, plan{})
}

// The flag is told once, whoever asks how often.
func TestPromoteToStay(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
		for range 2 {
			h.keep("j1")
		}
		h.wantFacts("j1", "started promoted changed")
		p.Exit(0)
		h.after(0)
		want(h, "flags", len(h.job("j1").Flags), 1)
		refused(h.ask(messages.PromoteCommand{Job: "j1", Keep: true}), messages.JobFinished)
	})
}

// Who leaves while others end the same, or the node, has one answer.
func TestLeaveBesideOtherEnds(t *testing.T) {
	inHouse(t, func(h *house) {
		_, kept := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "kept"}, Mode: messages.ModeAsync})
		_, p := h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "other"}, Mode: messages.ModeAsync})
		h.keep("j1")
		left, again := h.ask(messages.ReleaseScope{Path: "a", Grace: time.Hour}), h.ask(messages.ReleaseScope{Path: "a", Grace: time.Hour})
		closing := h.ask(messages.CloseScope{Path: "a", Grace: time.Minute})
		h.wantSignals(kept, "TERM")
		p.Exit(0)
		reply[messages.ScopeReleased](left)
		reply[messages.ScopeReleased](again)
		kept.Exit(0)
		reply[messages.ScopeClosed](closing)

		_, p = h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "kept"}, Mode: messages.ModeAsync})
		h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "ends"}, Mode: messages.ModeAsync})
		_, q := h.start(messages.RunCommand{Scope: "b", Session: "s", Program: messages.Program{Text: "ends"}, Mode: messages.ModeAsync})
		h.keep("j3")
		left = h.ask(messages.ReleaseScope{Path: "b", Grace: time.Hour})
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			t.Error(err)
		}
		refused(left, messages.ShuttingDown)
		h.wantSignals(p)
		h.wantSignals(q, "TERM")
	})
}

// A client that leases a scope which is open takes it as it is.
func TestJoinAScope(t *testing.T) {
	inHouse(t, func(h *house) {
		quota := func() messages.ScopeQuota {
			return reply[messages.ScopeList](h.ask(messages.ListScopes{Path: "a"})).Scopes[0].Quota
		}
		h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 3}, Join: true})
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 1}, Join: true}))
		want(h, "quota", quota(), messages.ScopeQuota{Jobs: 3})
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 2}}))
		want(h, "quota", quota(), messages.ScopeQuota{Jobs: 2})
	})
}

// atOnce asks all of it before the supervisor hears of what any of it began.
func (h *house) atOnce(requests ...any) (all []*client) {
	h.Helper()
	h.stage.spoil = func(_ *actor.PID, message any) int {
		if _, first := message.(messages.ListScopes); first {
			for _, r := range requests {
				all = append(all, h.send(r))
			}
		}
		return 1
	}
	h.ask(messages.ListScopes{})
	h.stage.spoil = nil
	return all
}

// What begins at the moment of the leaving, in a scope or session that is not open yet,
// ends with the rest, also where a job stays.
func TestLeaveAsSomethingBegins(t *testing.T) {
	inHouse(t, func(h *house) {
		_, kept := h.start(messages.RunCommand{Scope: "a", Session: "one", Program: messages.Program{Text: "kept"}, Mode: messages.ModeAsync})
		h.keep("j1")
		left := h.atOnce(
			messages.RunCommand{Scope: "a/b/c", Session: "s", Program: messages.Program{Text: "below"}, Mode: messages.ModeAsync},
			messages.RunCommand{Scope: "a", Session: "two", Program: messages.Program{Text: "beside"}, Mode: messages.ModeAsync},
			messages.ReleaseScope{Path: "a"},
		)[2]
		for _, text := range []string{"below", "beside"} {
			h.proc(text).SetNature(fake.Obedient)
			h.proc(text).Begin()
		}
		h.after(messages.DefaultGrace)
		said := reply[messages.ScopeReleased](left)
		wantList(h, "stopped", said.Jobs, "j2", "j3")
		wantList(h, "kept", said.Kept, "j1")
		for _, id := range said.Jobs {
			want(h, "outcome", h.job(id).End.Outcome, messages.Cancelled)
		}
		h.wantSignals(kept)
		kept.Exit(0)
	})
}

// Who leaves what is being closed is not told that something stays.
func TestLeaveWhatIsBeingClosed(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "kept"}, Mode: messages.ModeAsync})
		h.keep("j1")
		all := h.atOnce(messages.CloseScope{Path: "a"}, messages.ReleaseScope{Path: "a/b"})
		h.wantSignals(p, "TERM")
		p.Exit(0)
		reply[messages.ScopeClosed](all[0])
		wantList(h, "stopped", reply[messages.ScopeClosed](all[1]).Jobs, "j1")
	})
}

// Who is told that a job stays which is just being handed over finds that so.
func TestLeaveWhatIsPromotedOnItsWay(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "kept"}, Mode: messages.ModeAsync})
		all := h.atOnce(messages.HandOver{Job: "j1", To: "a/c"}, messages.PromoteCommand{Job: "j1", Keep: true}, messages.ReleaseScope{Path: "a"})
		reply[messages.Acknowledged](all[0])
		reply[messages.CommandPromoted](all[1])
		wantList(h, "kept", reply[messages.ScopeReleased](all[2]).Kept, "j1")
		h.wantSignals(p)
		want(h, "state", h.job("j1").State, messages.Running)
		p.Exit(0)
	})
}
