package supervision_test

import (
	"slices"
	"testing"
	"time"

	"troupe/actors"
	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// live is a run in the live shell of a session, which it opens.
func live(session messages.SessionID, text string) messages.RunCommand {
	return messages.RunCommand{Session: session, Program: messages.Program{Text: text}, Open: &messages.SessionPlan{}}
}

// session is what the node tells of a session of the scope main.
func (h *house) session(name messages.SessionID) messages.SessionInfo {
	h.Helper()
	for _, s := range reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions {
		if s.Session == name {
			return s
		}
	}
	h.Fatalf("there is no session %s", name)
	return messages.SessionInfo{}
}

// shell is the one live shell of the engine.
func (h *house) shell() *fake.Process {
	h.Helper()
	all := h.engine.Shells()
	if len(all) != 1 {
		h.Fatalf("there are %d live shells, want one", len(all))
	}
	return all[0]
}

// A run opens the live shell of the session that it names, with the plan's directory,
// variables, umask and limits; what it says for itself is for the command.
func TestShellIsOpenedByTheRunThatNamesIt(t *testing.T) {
	inHouse(t, func(h *house) {
		r := messages.RunCommand{
			Session: "s", Program: messages.Program{Text: "make"}, Dir: "/src", Env: messages.Env{Set: []string{"B=2"}, Base: []string{"X=of the run"}, Policy: messages.EnvCaller},
			Open: &messages.SessionPlan{
				Dir: "/home", Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"A=1", "noise"}, Set: []string{"A=3"}}, Umask: "0027", Shell: "zsh",
				Limits: messages.Limits{Nice: 5},
			},
		}
		c, p := h.start(r)
		shell := h.shell()
		want(h, "shell", p.Shell(), shell)
		want(h, "directory of the shell", shell.Spec.Dir, "/home")
		want(h, "umask", shell.Spec.Umask, 0o27)
		want(h, "nice value", shell.Spec.Attr.Limits.Nice, 5)
		want(h, "variable", slices.Contains(shell.Spec.Env, "A=3"), true)
		want(h, "session", slices.Contains(shell.Spec.Env, "TROUPE_SESSION_ID=s"), true)
		want(h, "of the run", slices.Contains(shell.Spec.Env, "X=of the run"), false)
		want(h, "kind", shell.Place.Shell, "zsh")
		want(h, "directory of the command", p.Command.Dir, "/src")
		wantList(h, "variables of the command", p.Command.Env, "B=2")
		p.Exit(3)
		job := finished(c)
		want(h, "status", job.End.Shell(), 3)
		want(h, "backend", job.Backend, messages.BackendShell)
		want(h, "cwd", job.Dir, "/src")
		want(h, "dropped", len(job.EnvDropped), 0)
		info := h.session("s")
		want(h, "info", info, messages.SessionInfo{
			Scope: "main", Session: "s", Backend: messages.BackendShell, Parallel: 1, Dir: "/src", Shell: "zsh", Used: info.Used,
		})

		c, p = h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "pwd"}}) // without a plan: the session as it is
		want(h, "same shell", p.Shell(), shell)
		want(h, "no change", p.Command.Dir, "")
		want(h, "cwd", h.job("j2").Dir, "/src")
		p.Exit(0)
		finished(c)
	})
}

// A plan that leaves a kind open takes the session as it is; one that names another
// kind or another shell is refused, and nothing is started. So is what no command in a
// live shell can have.
func TestShellPlansMustAgree(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(live("s", "first"))
		p.Exit(0)
		with := func(change func(r *messages.RunCommand)) messages.RunCommand {
			r := messages.RunCommand{Session: "s", Program: messages.Program{Text: "bad"}}
			change(&r)
			return r
		}
		plan := func(plan messages.SessionPlan) messages.RunCommand {
			return with(func(r *messages.RunCommand) { r.Open = &plan })
		}
		for _, bad := range []struct {
			run  messages.RunCommand
			code messages.Code
		}{
			{plan(messages.SessionPlan{Backend: messages.BackendPipe}), messages.Conflict},
			{plan(messages.SessionPlan{Backend: messages.BackendShellPTY}), messages.Conflict},
			{plan(messages.SessionPlan{Shell: "zsh"}), messages.Conflict},
			{with(func(r *messages.RunCommand) { r.Shell = "fish" }), messages.Conflict},
			{with(func(r *messages.RunCommand) { r.Mode = messages.ModeDetached }), messages.Unsupported},
			{with(func(r *messages.RunCommand) { r.OnExit = messages.KeepChildren }), messages.Unsupported},
			{with(func(r *messages.RunCommand) { r.Umask = "0022" }), messages.Unsupported},
			{with(func(r *messages.RunCommand) { r.Stdin = messages.StdinHost }), messages.Unsupported},
			{with(func(r *messages.RunCommand) { r.Terminal = messages.Terminal{Rows: 1, Cols: 1} }), messages.Unsupported},
		} {
			refused(h.run(bad.run), bad.code)
		}
		refused(h.ask(messages.OpenSession{Session: "s", SessionPlan: messages.SessionPlan{Backend: messages.BackendPipe}}), messages.Conflict)
		refused(h.ask(messages.OpenSession{Session: "default", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell}}), messages.InvalidParams)
		refused(h.run(live("", "bad")), messages.InvalidParams)
		refused(h.run(messages.RunCommand{Session: "t", Program: messages.Program{Text: "bad"}, Open: &messages.SessionPlan{Env: messages.Env{Set: []string{"LD_PRELOAD=x"}}}}), messages.EnvRefused)
		want(h, "processes", len(h.engine.Ever()), 2)

		for _, good := range []messages.RunCommand{
			plan(messages.SessionPlan{}), plan(messages.SessionPlan{Backend: messages.BackendShell, Shell: "bash"}), plan(messages.SessionPlan{Shell: "/usr/bin/bash"}),
			with(func(r *messages.RunCommand) { r.Shell = "bash" }),
		} {
			c := h.run(good)
			p := h.proc("bad")
			p.Begin()
			p.Exit(0)
			finished(c)
		}
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "s"}))

		_, p = h.start(messages.RunCommand{Session: "pipes", Program: messages.Program{Text: "on pipes"}})
		p.Exit(0)
		c, p := h.start(live("pipes", "there")) // as it is
		want(h, "no shell", p.Shell(), nil)
		p.Exit(0)
		want(h, "backend", finished(c).Backend, messages.BackendPipe)
	})
}

// A run that names a shell, and a plan that does not, open a session of that shell.
func TestShellOfTheRunIsThatOfItsPlan(t *testing.T) {
	inHouse(t, func(h *house) {
		r := live("s", "a")
		r.Shell = "zsh"
		c, p := h.start(r)
		want(h, "kind", h.shell().Place.Shell, "zsh")
		want(h, "shell", h.session("s").Shell, "zsh")
		p.Exit(0)
		finished(c)
		r.Shell = "dash"
		refused(h.run(r), messages.Conflict)
	})
}

// Who could not open a session, because its plan was wrong or its kind is not there,
// keeps nobody from its name.
func TestShellThatCouldNotBeOpenedLeavesItsName(t *testing.T) {
	inHouse(t, func(h *house) {
		bad := live("s", "a")
		bad.Open.Env.Set = []string{"LD_PRELOAD=x"}
		refused(h.run(bad), messages.EnvRefused)
		refused(h.run(messages.RunCommand{Session: "s", Program: messages.Program{Text: "a"}, Open: &messages.SessionPlan{Backend: messages.BackendShellPTY}}), messages.Unsupported)
		c, p := h.start(live("s", "a"))
		p.Exit(0)
		finished(c)
		want(h, "shells", len(h.engine.Shells()), 1)
	}, plan{limits: actors.Limits{Shells: 1}})
}

// A session whose shell could not begin as its first run said is what the next one says;
// once a command has run in it, it stays what it is.
func TestShellThatCouldNotBeginLeavesItsName(t *testing.T) {
	nowhere := fake.Options{Check: func(c backends.Command) *messages.Error {
		if c.Text == "bad" {
			return &messages.Error{Code: messages.CwdNotFound, Message: "there is no /nowhere"}
		}
		return nil
	}}
	inHouse(t, func(h *house) {
		bad, good := live("s", "bad"), live("s", "good")
		bad.Open.Dir, good.Open.Dir, good.Open.Shell = "/nowhere", "/src", "zsh"
		refused(h.run(bad), messages.CwdNotFound)
		refused(h.run(bad), messages.CwdNotFound)
		c, p := h.start(good)
		want(h, "directory of the shell", h.shell().Spec.Dir, "/src")
		want(h, "kind", h.shell().Place.Shell, "zsh")
		p.Exit(0)
		finished(c)
		refused(h.run(bad), messages.CwdNotFound)
		good.Open.Shell = "dash"
		refused(h.run(good), messages.Conflict)
		want(h, "directory", h.session("s").Dir, "/src")
	}, plan{fake: nowhere})
}

// A session that is opened without a command has no shell yet: the first one brings it.
func TestShellBeginsWithTheFirstCommand(t *testing.T) {
	inHouse(t, func(h *house) {
		info := reply[messages.SessionOpened](h.ask(messages.OpenSession{
			Session: "s", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell, Dir: "/src"},
		})).Info
		want(h, "parallel", info.Parallel, 1)
		want(h, "shell", info.Shell, "bash")
		want(h, "directory", info.Dir, "/src")
		want(h, "idle", info.Idle(), true)
		want(h, "shells", len(h.engine.Shells()), 0)
		c, p := h.start(messages.RunCommand{Session: "s", Program: messages.Program{Text: "true"}})
		want(h, "idle", h.session("s").Idle(), false)
		h.shell()
		p.Exit(0)
		finished(c)
		h.after(time.Minute)
		want(h, "used", time.Since(h.session("s").Used), time.Minute)
	})
}

// In a live shell one command runs at a time. Others wait in their order, at most as
// many as its queue takes; one that goes on in the background keeps it busy.
func TestShellRunsOneAtATime(t *testing.T) {
	inHouse(t, func(h *house) {
		r := live("s", "first")
		r.PromoteAfter = time.Second
		c, first := h.start(r)
		second := h.run(live("s", "second"))
		h.after(time.Second)
		reply[messages.CommandPromoted](c)
		silent(second)
		want(h, "started", h.engine.Find("second"), nil)
		want(h, "queued", h.session("s").Queued, 1)
		var waiting []*client
		for range fake.Live().Queue - 1 {
			waiting = append(waiting, h.run(live("s", "more")))
		}
		refused(h.run(live("s", "too many")), messages.QueueFull)
		first.Cd("/elsewhere")
		first.Exit(0)
		h.after(0)
		p := h.proc("second")
		p.Begin()
		h.after(0)
		want(h, "where it begins", h.job("j2").Dir, "/elsewhere")
		want(h, "where the session is", h.session("s").Dir, "/elsewhere")
		p.Exit(0)
		finished(second)
		for _, c := range waiting {
			p := h.proc("more")
			p.Begin()
			p.Exit(0)
			finished(c)
		}
	})
}

// A job of a live shell cannot be handed over: it stays, and what was asked meanwhile
// is answered. One that only waits stays, too.
func TestShellKeepsItsJobs(t *testing.T) {
	inHouse(t, func(h *house) {
		r := live("s", "first")
		r.Mode = messages.ModeAsync
		_, p := h.start(r)
		r.Text = "second"
		second := h.run(r)
		for _, id := range []messages.JobID{"j1", "j2"} {
			err := refused(h.ask(messages.HandOver{Job: id, To: "other"}), messages.Unsupported)
			want(h, "reason", err.Reason, "session")
			want(h, "scope", h.job(id).Scope, messages.MainScope)
		}
		p.Exit(0)
		h.after(0)
		q := h.proc("second")
		q.Begin()
		h.after(0)
		reply[messages.CommandPromoted](second)
		q.Exit(0)
	})
}
