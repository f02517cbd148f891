package supervision_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// replacedFacts counts what was told of shells that were made anew.
func (h *house) replacedFacts() (n int, last messages.SessionReplaced) {
	for _, f := range h.ledger.all() {
		if r, is := f.Fact.(messages.SessionReplaced); is {
			n, last = n+1, r
		}
	}
	return n, last
}

// A shell that ends with a command ends that command with its own status, and says so.
// The next command has a new one, where the last one was: its client is told, by its
// record, and so are the channels, once.
func TestShellThatEndsIsReplacedForTheNextCommand(t *testing.T) {
	for _, kind := range []string{"", "command", "session", "scope", "slow"} {
		inHouse(t, func(h *house) {
			c, p := h.start(live("s", "cd /there; exit 5"))
			next := h.run(live("s", "next"))
			if kind == "command" || kind == "session" || kind == "scope" {
				h.crash(kind)
			}
			p.Cd("/there")
			p.Shell().Exit(5)
			job := finished(c)
			want(h, "status", job.End.Shell(), 5)
			want(h, "outcome", job.End.Outcome, messages.Exited)
			want(h, "flag", job.HasFlag(messages.FlagSessionEnded), true)
			want(h, "new for it", job.HasFlag(messages.FlagReplaced), false)

			q := h.proc("next")
			q.Begin()
			h.after(0)
			want(h, "shell", q.Shell(), h.shell())
			want(h, "its directory", q.Shell().Spec.Dir, "/there")
			want(h, "flag while it runs", h.job("j2").HasFlag(messages.FlagReplaced), true)
			if kind == "session" { // the flag is in its record by now
				h.crash(kind)
			}
			q.Exit(0)
			job = finished(next)
			want(h, "flag", job.HasFlag(messages.FlagReplaced), true)
			want(h, "cwd", job.Dir, "/there")
			n, said := h.replacedFacts()
			want(h, "told", n, 1)
			want(h, "where", said.Dir, "/there")
			want(h, "of", said.Session, messages.SessionID("s"))
			want(h, "session", h.session("s").Dir, "/there")

			c, p = h.start(live("s", "third"))
			p.Exit(0)
			want(h, "third", finished(c).HasFlag(messages.FlagReplaced), false)
		}, plan{slow: kind == "slow"})
	}
}

// A shell that dies while nothing runs in it is found dead by the next command.
func TestShellThatDiesIdleIsReplaced(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(live("s", "first"))
		p.Exit(0)
		finished(c)
		h.shell().ExitSignal("KILL")
		h.after(time.Hour)
		want(h, "shells", len(h.engine.Shells()), 0)
		n, _ := h.replacedFacts()
		want(h, "told", n, 0)
		c, p = h.start(live("s", "second"))
		p.Exit(1)
		want(h, "flag", finished(c).HasFlag(messages.FlagReplaced), true)
		n, _ = h.replacedFacts()
		want(h, "told", n, 1)
		ends := reply[messages.SessionList](h.ask(messages.ListSessions{Recent: true})).Recent
		want(h, "ends", len(ends), 1)
		want(h, "reason", ends[0].Reason, messages.EndError)
		want(h, "no code", ends[0].ExitCode, nil)
	})
}

// The ends of sessions and of their shells are listed with why, when, and what ran last,
// the last one first, and not more of them than are kept.
func TestRecentEndsOfSessions(t *testing.T) {
	inHouse(t, func(h *house) {
		run := func(session messages.SessionID, text string, play func(p *fake.Process)) {
			h.Helper()
			c, p := h.start(live(session, text))
			play(p)
			finished(c)
		}
		code := func(n int) func(p *fake.Process) { return func(p *fake.Process) { p.Exit(n) } }
		run("done", "exit", func(p *fake.Process) { p.Shell().Exit(0) })
		h.after(time.Second)
		run("bad", "exit 3", func(p *fake.Process) { p.Shell().Exit(3) })
		run("killed", "kill -9 $$", func(p *fake.Process) { p.Shell().ExitSignal("KILL") })
		run("closed", "true", code(7))
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Session: "closed"}))
		h.after(time.Minute)
		run("idle", "true", code(0))
		h.after(2 * time.Hour)

		ends := reply[messages.SessionList](h.ask(messages.ListSessions{Recent: true})).Recent
		of := map[messages.SessionID]messages.SessionEnd{}
		for _, end := range ends {
			if _, more := of[end.Session]; !more || end.Reason != messages.EndCleanup {
				of[end.Session] = end
			}
		}
		for session, expected := range map[messages.SessionID]struct {
			why    messages.EndReason
			code   int
			length int
		}{
			"done": {messages.EndCompleted, 0, 4}, "bad": {messages.EndError, 3, 6}, "killed": {messages.EndError, 137, 10},
			"closed": {messages.EndStopped, 7, 4}, "idle": {messages.EndCleanup, 0, 4},
		} {
			end := of[session]
			want(h, string(session)+": reason", end.Reason, expected.why)
			if end.ExitCode == nil || *end.ExitCode != expected.code {
				h.Errorf("%s: the code is %v, want %d", session, end.ExitCode, expected.code)
			}
			want(h, string(session)+": length", end.Length, expected.length)
			want(h, string(session)+": hash", len(end.Hash), 64)
			want(h, string(session)+": backend", end.Backend, messages.BackendShell)
			want(h, string(session)+": when", end.At.IsZero(), false)
		}
		want(h, "the same text", of["idle"].Hash, of["closed"].Hash)
		want(h, "the last one first", ends[0].At.Before(ends[len(ends)-1].At), false)
		h.again()
		want(h, "past a restart", fmt.Sprint(reply[messages.SessionList](h.ask(messages.ListSessions{Recent: true})).Recent), fmt.Sprint(ends))
		want(h, "unasked", len(reply[messages.SessionList](h.ask(messages.ListSessions{})).Recent), 0)
		want(h, "elsewhere", len(reply[messages.SessionList](h.ask(messages.ListSessions{Scope: "other", Recent: true})).Recent), 0)

		for range messages.MaxRecent + 1 {
			reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "many"}))
			reply[messages.SessionClosed](h.ask(messages.CloseSession{Session: "many"}))
		}
		ends = reply[messages.SessionList](h.ask(messages.ListSessions{Recent: true})).Recent
		want(h, "kept", len(ends), messages.MaxRecent)
		want(h, "nothing ran", ends[0].Hash, "")
		want(h, "oldest", ends[messages.MaxRecent-1].Session, messages.SessionID("many"))
	}, plan{limits: actors.Limits{ShellIdle: time.Hour}})
}
