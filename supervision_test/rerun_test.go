package supervision_test

import (
	"slices"
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// again is a request to run a job again.
func again(id messages.JobID) messages.RunCommand { return messages.RunCommand{RerunOf: id} }

// A rerun has all that the record keeps of the request; what it says itself is in its place.
func TestRerunHasTheTermsOfItsJob(t *testing.T) {
	inHouse(t, func(h *house) {
		first := messages.RunCommand{
			Labels: messages.Labels{Name: "web", Description: "a server"}, Scope: "a/b", Program: messages.Program{Text: "make"}, Dir: "/src",
			Env: messages.Env{Policy: messages.EnvClean}, Umask: "0027", Stdio: messages.Stdio{Streams: messages.SeparateStreams, Stdin: messages.StdinPipe},
			Timeout: time.Hour, Grace: time.Minute, OnExit: messages.KillChildren, Store: messages.Store{Quota: messages.Quota{Bytes: 1 << 20, Policy: "keep_head"}},
			ProcAttr: messages.ProcAttr{Limits: messages.Limits{Nice: 5}, StopSignal: "INT", IdleTimeout: 10 * time.Minute}, Mode: messages.ModeAsync,
		}
		_, p := h.start(first)
		reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j1", Extend: time.Hour}))
		p.Exit(0)
		h.after(0)
		before := h.job("j1")
		c := h.run(again("web"))
		q := h.proc("make")
		q.Begin()
		h.after(0)
		q.Exit(3)
		job := finished(c)
		want(h, "job", job.ID, "j2")
		want(h, "rerun of", job.RerunOf(), before.UID)
		want(h, "status", job.End.Shell(), 3)
		for what, same := range map[string]bool{
			"name": job.Name == "web", "description": job.Description == "a server", "scope": job.Scope == "a/b", "directory": q.Command.Dir == "/src",
			"umask": q.Spec.Umask == 0o27, "streams": len(job.Output) == 2, "input": q.Spec.Stdio.Stdin == messages.StdinPipe, "timeout": job.Timeout == time.Hour,
			"grace": q.Spec.Grace == time.Minute, "on exit": q.Spec.OnExit == messages.KillChildren, "quota": q.Spec.Log.Quota == 1<<20 && q.Spec.Log.Policy == "keep_head",
			"nice": q.Spec.Attr.Limits.Nice == 5, "stop signal": job.StopSignal == "INT", "idle timeout": job.IdleTimeout() == 10*time.Minute,
			"environment": slices.Equal(q.Spec.Env, p.Spec.Env[:0:0]) || len(q.Spec.Env) == len(p.Spec.Env), "mode": job.Mode == messages.ModeSync,
		} {
			want(h, what, same, true)
		}
		r := again(messages.JobID(job.UID))
		r.Name, r.Dir, r.Timeout, r.Mode = "other", "/tmp", time.Minute, messages.ModeAsync
		c = h.run(r)
		q = h.proc("make")
		q.Begin()
		other := reply[messages.CommandPromoted](c).Job
		want(h, "name", other.Name, "other")
		want(h, "directory", q.Command.Dir, "/tmp")
		want(h, "timeout", other.Timeout, time.Minute)
		want(h, "rerun of", other.RerunOf(), job.UID)
		q.Exit(0)
		h.after(0)
	})
}

// The arguments of a program are run again as they were. A job may still run.
func TestRerunOfAProgramThatRuns(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Argv: []string{"ls", "my file"}}, Mode: messages.ModeAsync})
		c := h.run(again("j1"))
		q := h.proc("ls my file")
		want(h, "another process", p == q, false)
		q.Begin()
		h.after(0)
		q.Exit(0)
		wantList(h, "argv", finished(c).Argv, "ls", "my file")
		p.Exit(0)
		h.after(0)
	})
}

// What a record does not have comes from the request: the environment of a caller, and the values
// of the variables that the job was given. Without them nothing is run.
func TestRerunTakesValuesFromItsCaller(t *testing.T) {
	inHouse(t, func(h *house) {
		secret := "TOKEN=s3cret"
		c, p := h.start(messages.RunCommand{
			Program: messages.Program{Text: "make"}, Umask: "0077", Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"A=1"}, Set: []string{secret, "B=2"}},
		})
		p.Exit(0)
		job := finished(c)
		want(h, "policy", job.Request.EnvPolicy, messages.EnvCaller)
		want(h, "umask of the caller", job.Request.Umask, "")
		wantList(h, "names", job.Request.EnvNames, "TOKEN", "B")
		err := refused(h.run(again("j1")), messages.EnvRefused)
		want(h, "reason", err.Reason, "environment")
		r := again("j1")
		r.Env.Base = []string{"A=2", "B=3"}
		err = refused(h.run(r), messages.EnvRefused)
		want(h, "message", err.Message, "job j1 was given TOKEN, and values of variables are not kept")
		r.Env.Set = []string{"TOKEN=x"}
		c = h.run(r)
		q := h.proc("make")
		for _, kv := range []string{"A=2", "B=3", "TOKEN=x"} {
			want(h, kv, slices.Contains(q.Spec.Env, kv), true)
		}
		q.Begin()
		q.Exit(0)
		finished(c)
		r.Env = messages.Env{Policy: messages.EnvClean, Set: []string{"TOKEN=y", "B=4"}}
		c = h.run(r)
		q = h.proc("make")
		want(h, "of the caller", slices.Contains(q.Spec.Env, "A=2"), false)
		q.Begin()
		q.Exit(0)
		finished(c)
	})
}

// A command of a live shell runs again in that shell, in the directory where that is now; when it
// is closed, or another one has its name, the command is refused.
func TestRerunInItsLiveShell(t *testing.T) {
	inHouse(t, func(h *house) {
		r := messages.RunCommand{Session: "s", Open: &messages.SessionPlan{Dir: "/src"}, Program: messages.Program{Text: "make"}, Env: messages.Env{Set: []string{"B=2"}}}
		c, p := h.start(r)
		p.Exit(0)
		finished(c)
		c = h.run(again("j1"))
		q := h.proc("make")
		want(h, "shell", q.Shell(), h.shell())
		want(h, "changes directory", q.Command.Dir, "")
		q.Begin()
		h.after(0)
		q.Exit(0)
		want(h, "session", finished(c).Session, "s")
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Session: "s"}))
		err := refused(h.run(again("j1")), messages.SessionClosedCode)
		want(h, "message", err.Message, "job j1 ran in session s of scope main, which is not open any more")
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Session: "s"}))
		refused(h.run(again("j1")), messages.SessionClosedCode)
		want(h, "processes", len(h.jobs()), 2)
	})
}

// What cannot be run again is refused, and nothing is run.
func TestRerunIsRefused(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Labels: messages.Labels{Name: "web"}, Mode: messages.ModeAsync})
		refused(h.run(again("j9")), messages.NotFound)
		err := refused(h.run(again("j1")), messages.Conflict)
		want(h, "message", err.Message, "the name web is in use by live job j1 (main)")
		want(h, "hint", err.Hint, "give the new job another name with --name, or stop the live one first with --replace")
		for _, wrong := range []func(*messages.RunCommand){
			func(r *messages.RunCommand) { r.Text = "other" },
			func(r *messages.RunCommand) { r.Argv = []string{"other"} },
			func(r *messages.RunCommand) { r.Session = "s" },
			func(r *messages.RunCommand) { r.Open = &messages.SessionPlan{} },
		} {
			r := again("j1")
			wrong(&r)
			err := refused(h.run(r), messages.InvalidParams)
			want(h, "reason", err.Reason, "rerun_of")
		}
		p.Exit(0)
		h.after(0)
		reply[messages.JobFound](h.ask(messages.RemoveJob{Job: "j1"}))
		refused(h.run(again("j1")), messages.NotFound)
		want(h, "processes", len(h.engine.Ever()), 1)
	})
}

// With Replace the live job of the name ends first, which may be the one that is run again.
func TestRerunReplacesItsJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "serve"}, Labels: messages.Labels{Name: "web"}, Mode: messages.ModeAsync})
		r := again("web")
		r.Replace, r.Mode = true, messages.ModeAsync
		c := h.run(r)
		h.wantSignals(p, "TERM")
		p.Exit(0)
		h.after(0)
		q := h.proc("serve")
		q.Begin()
		want(h, "job", reply[messages.CommandPromoted](c).Job.Name, "web")
		want(h, "rerun of", h.job("web").RerunOf(), h.job("j1").UID)
		q.Exit(0)
		h.after(0)
	})
}

// A repeat with the same key, or a client that comes back with its ULID, joins the rerun, also when
// the job that it repeats was removed meanwhile.
func TestRerunIsJoined(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
		p.Exit(0)
		finished(c)
		r := again("j1")
		r.Key, r.UID = "k", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
		c = h.run(r)
		q := h.proc("make")
		q.Begin()
		h.after(0)
		reply[messages.JobFound](h.ask(messages.RemoveJob{Job: "j1"}))
		joined := h.run(r)
		r.Key = ""
		back := h.run(r)
		q.Exit(4)
		for _, c := range []*client{c, joined, back} {
			want(h, "job", finished(c).ID, "j2")
		}
		want(h, "processes", len(h.engine.Ever()), 2)
	})
}

// The record of a former node is enough. One that only the engine had has the whole command if it
// is short, and is refused if it is long.
func TestRestartRunsAgain(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Dir: "/src", Timeout: time.Hour, Mode: messages.ModeAsync})
		p.Exit(0)
		h.after(0)
		h.again()
		c := h.run(again("j1"))
		q := h.proc("make")
		q.Begin()
		h.after(0)
		q.Exit(0)
		want(h, "timeout", finished(c).Timeout, time.Hour)
		want(h, "directory", q.Command.Dir, "/src")
	}, plan{fake: fake.Options{}})
}
