package supervision_test

import (
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// The crash of an actor is not noticed by a live shell, the command in it, or what
// waits behind that: the shell is adopted, and none is made beside it.
func TestFaultShellOutlivesItsActors(t *testing.T) {
	for _, kind := range []string{"command", "session", "scope", "session twice"} {
		inHouse(t, func(h *house) {
			c, p := h.start(live("s", "first"))
			next := h.run(live("s", "next"))
			shell := h.shell()
			p.Cd("/there")
			switch kind {
			case "session twice":
				h.crash("session")
				h.crash("session")
			default:
				h.crash(kind)
			}
			silent(c)
			want(h, "shell", h.shell(), shell)
			want(h, "started", h.engine.Find("next"), nil)
			h.wantSignals(shell)
			p.Exit(4)
			want(h, "status", finished(c).End.Shell(), 4)
			q := h.proc("next")
			q.Begin()
			h.after(0)
			want(h, "same shell", q.Shell(), shell)
			want(h, "directory", h.job("j2").Dir, "/there")
			q.Exit(0)
			finished(next)
			n, _ := h.replacedFacts()
			want(h, "replaced", n, 0)
		})
	}
}

// An idle shell, in which nothing runs that could be adopted, is found again, too.
func TestFaultIdleShellOutlivesItsSession(t *testing.T) {
	for _, kind := range []string{"session", "scope"} {
		inHouse(t, func(h *house) {
			c, p := h.start(live("s", "cd /there"))
			p.Cd("/there")
			p.Exit(0)
			finished(c)
			shell := h.shell()
			h.crash(kind)
			want(h, "shell", h.shell(), shell)
			want(h, "directory", h.session("s").Dir, "/there")
			c, p = h.start(live("s", "pwd"))
			want(h, "same shell", p.Shell(), shell)
			p.Exit(0)
			want(h, "replaced", finished(c).HasFlag(messages.FlagReplaced), false)
		})
	}
}

// A node that begins again finds its live shells, those in which a command runs and
// those in which none does: they are sessions again and no jobs, nothing is told anew,
// and what is run next is run in them.
func TestRestartFindsLiveShells(t *testing.T) {
	for times := 1; times <= 2; times++ {
		journals(t, func(h *house) {
			busy := messages.RunCommand{Scope: "a/b", Session: "busy", Program: messages.Program{Text: "sleep"}, Mode: messages.ModeAsync, Open: &messages.SessionPlan{Umask: "0077", Shell: "zsh"}}
			_, p := h.start(busy)
			p.Cd("/in")
			c, q := h.start(live("idle", "true"))
			q.Exit(0)
			finished(c)
			shells := h.engine.Shells()
			want(h, "shells", len(shells), 2)
			facts := len(h.ledger.all())
			for range times {
				h.again()
			}
			want(h, "facts", len(h.ledger.all()), facts)
			jobs := reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Jobs
			want(h, "jobs", len(jobs), 2)
			want(h, "sessions", len(reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions), 2)
			info := h.session("idle")
			want(h, "kind", info.Backend, messages.BackendShell)
			want(h, "shell", info.Shell, "bash")
			want(h, "running", info.Running, 0)
			info = h.session("busy")
			want(h, "running", info.Running, 1)
			want(h, "shell", info.Shell, "zsh")
			want(h, "scope", info.Scope, messages.ScopePath("a/b"))
			refused(h.run(messages.RunCommand{Session: "idle", Program: messages.Program{Text: "x"}, Open: &messages.SessionPlan{Shell: "fish"}}), messages.Conflict)

			c, q = h.start(live("idle", "again"))
			want(h, "same shell", q.Shell(), shells[1])
			q.Exit(1)
			want(h, "replaced", finished(c).HasFlag(messages.FlagReplaced), false)
			next := messages.RunCommand{Scope: "a/b", Session: "busy", Program: messages.Program{Text: "next"}}
			c = h.run(next)
			silent(c)
			p.Exit(0)
			h.after(0)
			want(h, "directory", h.session("busy").Dir, "/in")
			q = h.proc("next")
			q.Begin()
			want(h, "same shell", q.Shell(), shells[0])
			q.Exit(0)
			finished(c)
			want(h, "shells", len(h.engine.Shells()), 2)
		}, plan{})
	}
}

// A shell that died while no node ran is made anew by the next command, whose client
// is told; the command that ran in it has its end.
func TestRestartBehindTheDeathOfAShell(t *testing.T) {
	journals(t, func(h *house) {
		r := live("s", "sleep")
		r.Mode, r.Open.Limits.Nice = messages.ModeAsync, 7
		_, p := h.start(r)
		p.Cd("/in")
		h.die()
		p.Shell().ExitSignal("KILL")
		h.begin()
		h.after(0)
		job := h.job("j1")
		want(h, "outcome", job.End.Outcome, messages.Signaled)
		want(h, "flag", job.HasFlag(messages.FlagSessionEnded), true)
		want(h, "state", job.State, messages.Retired)
		c, q := h.start(live("s", "next"))
		q.Exit(0)
		job = finished(c)
		want(h, "directory", job.Dir, "/in")
		want(h, "flag", job.HasFlag(messages.FlagReplaced), true)
		want(h, "nice value", q.Shell().Spec.Attr.Limits.Nice, 7)
	}, plan{})
}

// A node that ends in order leaves the shells to the next one.
func TestShutdownLeavesLiveShells(t *testing.T) {
	journals(t, func(h *house) {
		r := live("s", "sleep")
		r.Mode = messages.ModeAsync
		_, p := h.start(r)
		shell := h.shell()
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			h.Error(err)
		}
		h.bury()
		h.wantSignals(shell)
		h.begin()
		want(h, "state", h.job("j1").State, messages.Running)
		p.Exit(0)
		h.after(0)
		c, q := h.start(live("s", "next"))
		want(h, "shell", q.Shell(), shell)
		q.Exit(0)
		finished(c)
	}, plan{})
}

// The end of a session, of its scope or of its node ends the shell and what runs in
// it, and is told when nothing is left.
func TestCascadeEndsLiveShells(t *testing.T) {
	for what, end := range map[string]func(h *house) *client{
		"session": func(h *house) *client { return h.ask(messages.CloseSession{Scope: "a", Session: "s"}) },
		"scope":   func(h *house) *client { return h.ask(messages.CloseScope{Path: "a"}) },
	} {
		inHouse(t, func(h *house) {
			r := messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "sleep"}, Open: &messages.SessionPlan{}}
			c, p := h.start(r)
			shell := h.shell()
			shell.SetNature(fake.Stubborn)
			ends := end(h)
			h.wantSignals(p, "TERM")
			h.wantSignals(shell) // not before its command has ended
			silent(ends)
			h.after(messages.DefaultGrace)
			want(h, what+": outcome", finished(c).End.Outcome, messages.Cancelled)
			h.wantSignals(shell, "TERM")
			silent(ends)
			h.after(messages.DefaultGrace)
			h.wantSignals(shell, "TERM", "KILL")
			want(h, what+": answered", len(ends.heard()), 1)
			want(h, what+": shells", len(h.engine.Shells()), 0)
			want(h, what+": sessions", len(reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions), 0)

			c, p = h.start(r) // its name is free
			p.Exit(0)
			want(h, what+": replaced", finished(c).HasFlag(messages.FlagReplaced), false)
		})
	}
}

// A command that is stopped, or whose client goes, leaves the shell to the next one.
func TestShellOutlivesItsCommands(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(live("s", "first"))
		shell := h.shell()
		next := h.run(live("s", "next"))
		stop := h.ask(messages.StopCommand{Job: "j1"})
		h.wantSignals(p, "TERM")
		h.after(messages.DefaultGrace)
		reply[messages.CommandStopped](stop)
		want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
		h.wantSignals(shell)

		q := h.proc("next")
		q.Begin()
		h.after(0)
		uid := h.job("j2").UID
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{UID: uid}, next.pid)
		h.after(messages.DefaultGrace)
		job := h.job("j2")
		want(h, "gone", job.HasFlag(messages.FlagClientGone), true)
		want(h, "outcome", job.End.Outcome, messages.Cancelled)
		next.unmet.Store(true) // it does not hear of it

		r := live("s", "late")
		r.Timeout = time.Minute
		c, p = h.start(r)
		h.after(time.Minute + messages.DefaultGrace)
		want(h, "outcome", finished(c).End.Outcome, messages.TimedOut)
		want(h, "shell", h.shell(), shell)
		h.wantSignals(shell)
		h.wantSignals(p, "TERM", "KILL")
	})
}
