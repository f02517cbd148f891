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

// sessions are the names of those that are open.
func (h *house) sessions() string {
	h.Helper()
	names := ""
	for _, s := range reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions {
		names += string(s.Session) + " "
	}
	return names
}

// used runs a command in a session, to its end.
func (h *house) used(session messages.SessionID) {
	h.Helper()
	c, p := h.start(live(session, "use "+string(session)))
	p.Exit(0)
	finished(c)
	h.after(time.Second)
}

// With as many live shells as there may be, a new one takes the place of the one that
// was used the longest ago and is idle. Sessions on pipes do not count.
func TestShellsOverTheLimitMakeRoom(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, s := range []messages.SessionID{"a", "b", "c", "a"} {
			h.used(s)
		}
		_, pipes := h.start(messages.RunCommand{Session: "pipes", Program: messages.Program{Text: "on pipes"}})
		h.used("d")
		want(h, "sessions", h.sessions(), "a c d pipes ")
		want(h, "shells", len(h.engine.Shells()), 3)
		r := live("c", "stays")
		r.Mode = messages.ModeAsync
		_, p := h.start(r) // the oldest of the three is busy
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "e", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell}}))
		h.after(time.Second)
		want(h, "sessions", h.sessions(), "c d e pipes ")
		ends := reply[messages.SessionList](h.ask(messages.ListSessions{Recent: true})).Recent
		want(h, "ended", len(ends), 2)
		for i, name := range []messages.SessionID{"a", "b"} {
			want(h, "which", ends[i].Session, name)
			want(h, "why", ends[i].Reason, messages.EndCleanup)
		}
		p.Exit(0)
		pipes.Exit(0)
	}, plan{limits: actors.Limits{Shells: 3}})
}

// If a command runs or waits in each of them, one more is refused, and nothing changes.
func TestShellsInUseMakeNoRoom(t *testing.T) {
	inHouse(t, func(h *house) {
		var procs []*fake.Process
		for i := range 2 {
			r := live(messages.SessionID(fmt.Sprintf("s%d", i)), fmt.Sprintf("run %d", i))
			r.Mode = messages.ModeAsync
			_, p := h.start(r)
			procs = append(procs, p)
		}
		err := refused(h.run(live("more", "x")), messages.ResourceExhausted)
		want(h, "reason", err.Reason, "shells")
		want(h, "hint", err.Hint != "", true)
		refused(h.ask(messages.OpenSession{Session: "more", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell}}), messages.ResourceExhausted)
		want(h, "sessions", h.sessions(), "s0 s1 ")
		c, p := h.start(messages.RunCommand{Session: "pipes", Program: messages.Program{Text: "on pipes"}, Open: &messages.SessionPlan{Backend: messages.BackendPipe}})
		p.Exit(0)
		finished(c)
		procs[0].Exit(0)
		h.after(0)
		h.used("more")
		want(h, "sessions", h.sessions(), "more pipes s1 ")
		procs[1].Exit(0)
	}, plan{limits: actors.Limits{Shells: 2}})
}

// A live shell that nobody uses for the time that it may be idle is closed; one whose
// command runs longer than that is not, and counts anew from its end.
func TestShellsIdleForTooLongAreClosed(t *testing.T) {
	inHouse(t, func(h *house) {
		r := live("works", "work")
		r.Mode = messages.ModeAsync
		_, p := h.start(r)
		h.used("rests")
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "never", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell}}))
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "pipes"}))
		h.after(30 * time.Minute)
		h.used("again")
		want(h, "sessions", h.sessions(), "again never pipes rests works ")
		h.after(30 * time.Minute)
		want(h, "sessions", h.sessions(), "again pipes works ")
		h.after(31 * time.Minute)
		want(h, "sessions", h.sessions(), "pipes works ")
		h.after(48 * time.Hour)
		p.Exit(0)
		h.after(59 * time.Minute)
		want(h, "sessions", h.sessions(), "pipes works ")
		h.after(2 * time.Minute)
		want(h, "sessions", h.sessions(), "pipes ")
		closed := 0
		for _, f := range h.ledger.all() {
			if c, is := f.Fact.(messages.SessionClosed); is {
				closed++
				want(h, "by", c.By, messages.BySystem)
				want(h, "reason", c.Reason, messages.AutoCleanup)
			}
		}
		want(h, "told", closed, 4)
	}, plan{limits: actors.Limits{ShellIdle: time.Hour}})
}

// Of shells that were there before the node the limits hold, too.
func TestRestartKeepsTheLimitsOfShells(t *testing.T) {
	journals(t, func(h *house) {
		h.used("a")
		h.used("b")
		h.again()
		h.used("c")
		want(h, "shells", len(h.engine.Shells()), 2)
		h.after(2 * time.Hour)
		want(h, "shells", len(h.engine.Shells()), 0)
		want(h, "sessions", h.sessions(), "")
	}, plan{limits: actors.Limits{Shells: 2, ShellIdle: time.Hour}})
}

// Requests for shells that come to nothing hold no place.
func TestShellsThatAreRefusedHoldNoPlace(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Sessions: 1}}))
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Scope: "a", Session: "one"}))
		shell := messages.SessionPlan{Backend: messages.BackendShell}
		refused(h.ask(messages.OpenSession{Scope: "a", Session: "two", SessionPlan: shell}), messages.ResourceExhausted)
		refused(h.run(messages.RunCommand{Scope: "a", Session: "two", Program: messages.Program{Text: "x"}, Open: &shell}), messages.ResourceExhausted)
		bad := shell
		bad.Env.Set = []string{"LD_PRELOAD=x"}
		refused(h.ask(messages.OpenSession{Session: "bad", SessionPlan: bad}), messages.EnvRefused)
		h.crash("scope")
		h.used("good")
		h.used("better")
		want(h, "sessions", h.sessions(), "one better ")
	}, plan{limits: actors.Limits{Shells: 1}})
}

// A session for which the first command is refused is none: it takes no shell's place,
// counts against no quota, is not told of, and its name is free for another plan, or for
// none. One that was asked for stays.
func TestShellOfARefusedCommandIsNone(t *testing.T) {
	missing := fake.Options{Check: func(c backends.Command) *messages.Error {
		if c.Dir == "/missing" || c.Text == "cd /missing" {
			return &messages.Error{Code: messages.CwdNotFound, Message: "no such directory"}
		}
		return nil
	}}
	inHouse(t, func(h *house) {
		h.used("real")
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "main", Quota: messages.ScopeQuota{Sessions: 2}}))
		wrong := live("typo", "cd /missing")
		for i := range 200 {
			wrong.Session = messages.SessionID(fmt.Sprintf("typo%d", i%100))
			refused(h.run(wrong), messages.CwdNotFound)
		}
		want(h, "sessions", h.sessions(), "real ")
		h.used("real")
		want(h, "shells", len(h.engine.Shells()), 1)

		c, p := h.start(messages.RunCommand{Session: "typo99", Program: messages.Program{Text: "without a plan"}})
		p.Exit(0)
		want(h, "backend", finished(c).Backend, messages.BackendPipe)
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Session: "typo99"}))
		h.used("typo98")
		want(h, "sessions", h.sessions(), "typo98 ")

		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "asked", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell}}))
		wrong.Session = "asked"
		refused(h.run(wrong), messages.CwdNotFound)
		want(h, "sessions", h.sessions(), "asked ")
		for _, f := range h.ledger.all() {
			if opened, is := f.Fact.(messages.SessionOpened); is {
				want(h, "told", opened.Info.Session == "real" || opened.Info.Session == "typo98" || opened.Info.Session == "typo99" || opened.Info.Session == "asked", true)
			}
		}
	}, plan{fake: missing, limits: actors.Limits{Shells: 1}})
}
