package supervision_test

import (
	"testing"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A session whose place makes it fail every time is not made anew without end: its
// jobs are marked, run on, and can be stopped.
func TestFaultPlaceThatFailsEveryTime(t *testing.T) {
	broken, opened := false, 0
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync})
		_, q := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "b"}})
		reply[messages.CommandPromoted](c)
		broken, opened = true, 0
		h.crash("session")
		want(h, "places that were opened", opened, 5)
		want(h, "unowned", len(h.engine.Unowned()), 0)
		want(h, "flagged", h.job("j1").HasFlag(messages.FlagUnsupervised), true)
		refused(h.run(messages.RunCommand{Session: "s", Program: messages.Program{Text: "c"}}), messages.Refused)
		refused(h.ask(messages.PromoteCommand{Job: "j2"}), messages.Refused)
		stop := h.ask(messages.StopCommand{Job: "j1"})
		h.wantSignals(p, "TERM")
		p.Exit(143)
		h.after(0)
		reply[messages.CommandStopped](stop)
		want(h, "outcome", h.job("j1").End.Outcome, messages.Cancelled)
		q.Exit(3)
		h.after(0)
		want(h, "the other", h.job("j2").End.Shell(), 3)
		broken = false
		closing := h.ask(messages.CloseSession{Session: "s"})
		h.after(5 * time.Second)
		reply[messages.SessionClosed](closing)
		_, r := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "again"}})
		r.Exit(0)
	}, plan{fake: fake.Options{OpenFails: func(backends.ExecutorSpec) error {
		opened++
		if broken {
			panic("the place is broken")
		}
		return nil
	}}})
}

// A session that fails over whatever it gets is given up.
func TestFaultSessionThatFailsEveryTime(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "a"}})
		h.stage.fail(fault{point: point{kind: "session"}, nth: 1, times: 1000})
		h.crash("session")
		want(h, "failures were ended", h.stage.fired < 20, true)
		want(h, "sessions", len(h.stage.all("session")), 0)
		want(h, "flagged", h.job("j1").HasFlag(messages.FlagUnsupervised), true)
		refused(c, messages.Internal)
		h.wantSignals(p)
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"}))
		if err := h.shutdown(messages.ShutdownNode{}); err != nil {
			h.Error(err)
		}
		h.engine.Close(false)
		h.left = true
	})
}

// What waits in a session that is given up can never begin: it ends, and says why, and
// does not count any more.
func TestFaultQueueOfASessionThatFailsEveryTime(t *testing.T) {
	waits := fake.Options{Can: backends.Capabilities{Parallel: 1, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true}}
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 3}}))
		at := messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync}
		_, p := h.start(at)
		at.Text = "b"
		behind := h.run(at)
		at.Mode = messages.ModeSync
		front := h.run(at)
		end := h.await(false, messages.Condition{}, "j2", "j3")
		h.stage.fail(fault{point: point{kind: "session"}, nth: 1, times: 1000})
		h.crash("session")
		want(h, "sessions", len(h.stage.all("session")), 0)
		want(h, "answered", reply[messages.CommandPromoted](behind).Job.State, messages.Queued)
		want(h, "front", finished(front).ID, "j3")
		for _, id := range []messages.JobID{"j2", "j3"} {
			job := h.job(id)
			want(h, "outcome", job.End.Outcome, messages.FailedToStart)
			want(h, "code", job.End.Err.Code, messages.Internal)
			want(h, "status", job.ExitCode(), 125)
		}
		want(h, "awaited", reply[messages.WaitEnded](end).Satisfied, true)
		want(h, "state", h.job("j2").State, messages.Retired)
		want(h, "flagged", h.job("j1").HasFlag(messages.FlagUnsupervised), true)
		h.stage.fail(fault{})
		_, q := h.start(messages.RunCommand{Scope: "a", Session: "t", Program: messages.Program{Text: "another"}, Mode: messages.ModeAsync})
		_, r := h.start(messages.RunCommand{Scope: "a", Session: "u", Program: messages.Program{Text: "one more"}, Mode: messages.ModeAsync})
		q.Exit(0)
		r.Exit(0)
		h.wantSignals(p)
		if err := h.shutdown(messages.ShutdownNode{}); err != nil {
			h.Error(err)
		}
		h.engine.Close(false)
		h.left = true
	}, plan{fake: waits})
}

// Nor is a scope made anew without end: what is in it is given up, and the node ends.
func TestFaultScopeThatFailsEveryTime(t *testing.T) {
	for _, scope := range []messages.ScopePath{"a", "a/b"} {
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Scope: scope, Session: "s", Program: messages.Program{Text: "a"}})
			h.stage.fail(fault{point: point{kind: "scope"}, nth: 1, times: 1000})
			h.crash("scope")
			want(h, "failures were ended", h.stage.fired < 100, true)
			want(h, "flagged", h.job("j1").HasFlag(messages.FlagUnsupervised), true)
			refused(c, messages.Internal)
			refused(h.ask(messages.StopCommand{Job: "j1"}), messages.Internal)
			h.wantSignals(p)
			if err := h.shutdown(messages.ShutdownNode{}); err != nil {
				h.Error(err)
			}
			h.engine.Close(false)
			h.left = true
		})
	}
}
