package supervision_test

import (
	"slices"
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// svc is a job with a name, in the background.
func svc(scope messages.ScopePath, text string) messages.RunCommand {
	return messages.RunCommand{Scope: scope, Labels: messages.Labels{Name: "svc"}, Program: messages.Program{Text: text}, Mode: messages.ModeAsync}
}

// replacing is a run that takes the name svc.
func replacing(text string) messages.RunCommand {
	r := svc("", text)
	r.Replace = true
	return r
}

// stopped has a job stopped by its name, and plays the end of its process.
func (h *house) stopped(name messages.JobID, p *fake.Process) messages.CommandStopped {
	h.Helper()
	c := h.ask(messages.StopCommand{Job: name})
	h.wantSignals(p, "TERM")
	p.Exit(0)
	return reply[messages.CommandStopped](c)
}

// A second live job of a name is refused, in whatever state the first one is, and the name
// is free when that has ended.
func TestFaultNameOfOneLiveJob(t *testing.T) {
	inHouse(t, func(h *house) {
		h.run(svc("", "first"))
		refuse := func(state messages.State) {
			h.Helper()
			want(h, "state", h.job("j1").State, state)
			err := refused(h.run(svc("main", "second")), messages.Conflict)
			want(h, "reason", err.Reason, "name")
			want(h, "message", err.Message, "the name svc is in use by live job j1 (main)")
			want(h, "hint", err.Hint, "use another name, or stop it first with --replace")
		}
		refuse(messages.Queued)
		p := h.proc("first")
		p.Begin()
		h.after(0)
		refuse(messages.Running)
		other := svc("", "other")
		other.Session, other.Principal = "elsewhere", "bob"
		refused(h.run(other), messages.Conflict)
		stop := h.ask(messages.StopCommand{Job: "svc"})
		refuse(messages.Stopping)
		p.Exit(0)
		want(h, "stopped", reply[messages.CommandStopped](stop).Jobs[0], "j1")
		_, q := h.start(svc("", "second"))
		want(h, "processes", len(h.engine.Ever()), 2)
		q.Exit(0)
	}, plan{})
}

// A queued job has its name, too; a request that was refused has none.
func TestNameOfAQueuedJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "before"}, Mode: messages.ModeAsync})
		h.run(svc("", "queued"))
		refused(h.run(svc("", "second")), messages.Conflict)
		bad := svc("", "bad")
		bad.Name, bad.Env.Set = "free", []string{"no variable"}
		refused(h.run(bad), messages.EnvRefused)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "svc"}))
		good := svc("", "good")
		good.Name = "free"
		h.run(good)
		p.Exit(0)
		h.after(0)
		h.proc("good").Begin()
		h.after(0)
		h.proc("good").Exit(0)
	}, plan{fake: serial})
}

// A name means the live job, also if one of that name was asked for later and has ended.
func TestFaultNameMeansTheLiveJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("a", "lives"))
		_, q := h.start(svc("b", "ends"))
		q.Exit(3)
		h.after(time.Hour)
		want(h, "found", h.job("svc").ID, "j1")
		reply[messages.Acknowledged](h.ask(messages.SignalCommand{Job: "svc", Signal: "USR1"}))
		reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "svc", After: time.Hour}))
		want(h, "promoted", reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "svc"})).Job.ID, "j1")
		wait := h.await(false, messages.Condition{Kind: messages.UntilExit}, "svc")
		silent(wait)
		c := h.ask(messages.StopCommand{Job: "svc"})
		p.Exit(0)
		want(h, "stopped", reply[messages.CommandStopped](c).Jobs[0], "j1")
		want(h, "awaited", reply[messages.WaitEnded](wait).Jobs[0].ID, "j1")
		want(h, "the newest that ended", h.job("svc").ID, "j2") // asked for later
		_, r := h.start(svc("a", "third"))
		want(h, "the live one", h.job("svc").ID, "j3")
		r.Exit(0)
		h.after(0)
		want(h, "the newest", h.job("svc").ID, "j3")
		want(h, "of a scope", h.job("b/svc").ID, "j2")
	}, plan{})
}

// Of several live jobs of a name none is acted on without their scope.
func TestFaultNameOfSeveralScopes(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("main", "one"))
		_, q := h.start(svc("main/ci", "two"))
		_, r := h.start(svc("other", "three"))
		for _, request := range []any{
			messages.StopCommand{Job: "svc"},
			messages.SignalCommand{Job: "svc", Signal: "INT"},
			messages.PromoteCommand{Job: "svc"},
			messages.ChangeDeadline{Job: "svc", None: true},
			messages.FindJob{Job: "svc"},
			messages.WriteInput{Job: "svc", Data: []byte("x")},
			messages.WaitJobs{Jobs: []messages.JobID{"svc"}},
			messages.RemoveJob{Job: "svc"},
			messages.HandOver{Job: "svc", To: "x"},
			messages.ReadOutput{Job: "svc"},
			messages.CloseInput{Job: "svc"},
			messages.ResizeTerminal{Job: "svc", Size: messages.Terminal{Rows: 1, Cols: 1}},
		} {
			err := refused(h.ask(request), messages.Conflict)
			want(h, "message", err.Message, "3 live jobs have the name svc: j1 (main), j2 (main/ci), j3 (other)")
		}
		want(h, "at", h.job("main/svc").ID, "j1") // its own before those below it
		want(h, "below", h.job("main/ci/svc").ID, "j2")
		want(h, "an id of the scope", h.job("main/j2").ID, "j2")
		for _, none := range []messages.JobID{"other/j1", "main/x/svc", "mai/svc", "/svc", "main/", "svc/", "main//svc"} {
			refused(h.ask(messages.FindJob{Job: none}), messages.NotFound)
		}
		h.stopped("main/svc", p)
		h.stopped("main/svc", q) // of the one below now
		h.stopped("svc", r)
		want(h, "an ended one", h.job("main/svc").ID, "j2")
	}, plan{})
}

// A live job is not moved to a scope in which another one has its name.
func TestFaultNameAndHandover(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("a", "one"))
		_, q := h.start(svc("b", "two"))
		err := refused(h.ask(messages.HandOver{Job: "j1", To: "b"}), messages.Conflict)
		want(h, "message", err.Message, "the name svc is in use by live job j2 (b)")
		release := h.hold("session", "routed:actors.releaseJob")
		moving := h.send(messages.HandOver{Job: "j1", To: "c"})
		refused(h.ask(svc("c", "three")), messages.Conflict) // it will have the name there
		refused(h.ask(messages.HandOver{Job: "j2", To: "c"}), messages.Conflict)
		release()
		reply[messages.Acknowledged](moving)
		h.stopped("c/svc", p)
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j2", To: "c"}))
		q.Exit(0)
	}, plan{})
}

// --replace stops the live job as stop does, and starts the new one when that has ended. The
// new job cannot be found before, and its record is told then.
func TestFaultReplaceStopsFirst(t *testing.T) {
	inHouse(t, func(h *house) {
		old, p := h.start(messages.RunCommand{Labels: messages.Labels{Name: "svc"}, Program: messages.Program{Text: "old"}, Grace: time.Minute})
		r := replacing("new")
		r.UID = "01JZZZZZZZZZZZZZZZZZZZZZZZ"
		c := h.run(r)
		find := h.ask(messages.FindJob{Job: "01JZZZZZZZZZZZZZZZZZZZZZZZ"})
		h.wantSignals(p, "TERM")
		h.after(time.Minute - 1)
		h.wantSignals(p, "TERM")
		silent(find)
		refused(h.run(svc("", "other")), messages.Conflict)
		h.after(1)
		h.wantSignals(p, "TERM", "KILL")
		job := finished(old)
		want(h, "outcome", job.End.Outcome, messages.Cancelled)
		want(h, "why", job.End.Cause.Reason, "replaced by another job of its name")
		want(h, "found", reply[messages.JobFound](find).Job.ID, "j2")
		q := h.proc("new")
		q.Begin()
		want(h, "new", reply[messages.CommandPromoted](c).Job.ID, "j2")
		want(h, "name", h.job("svc").ID, "j2")
		q.Exit(0)
	}, plan{})
}

// Without a live job of that name --replace changes nothing.
func TestReplaceOfNothing(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("other", "elsewhere"))
		c, q := h.start(replacing("first"))
		want(h, "first", reply[messages.CommandPromoted](c).Job.ID, "j2")
		q.Exit(0)
		h.after(0)
		c, q = h.start(replacing("second"))
		want(h, "second", reply[messages.CommandPromoted](c).Job.ID, "j3")
		h.wantSignals(p)
		q.Exit(0)
		p.Exit(0)
		r := replacing("none")
		r.Name = ""
		want(h, "reason", refused(h.run(r), messages.InvalidParams).Reason, "replace")
	}, plan{})
}

// A queued job is replaced before it starts.
func TestReplaceOfAQueuedJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "before"}, Mode: messages.ModeAsync})
		old := h.run(messages.RunCommand{Labels: messages.Labels{Name: "svc"}, Program: messages.Program{Text: "old"}})
		h.run(replacing("new"))
		want(h, "old", finished(old).End.Outcome, messages.Cancelled)
		want(h, "waits", h.job("svc").State, messages.Queued)
		p.Exit(0)
		h.after(0)
		h.proc("new").Begin()
		h.after(0)
		want(h, "processes", len(h.engine.Ever()), 2)
		h.proc("new").Exit(0)
	}, plan{fake: serial})
}

// A full scope has room for the job that takes the place of another.
func TestReplaceInAFullScope(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "full", Quota: messages.ScopeQuota{Jobs: 1}}))
		_, p := h.start(svc("full", "old"))
		r := replacing("new")
		r.Scope = "full"
		h.run(r)
		p.Exit(0)
		h.after(0)
		h.proc("new").Begin()
		h.after(0)
		want(h, "new", h.job("svc").State, messages.Running)
		h.proc("new").Exit(0)
	}, plan{})
}

// Of several that replace a job each stops the one before it: the last one stays.
func TestFaultReplaceRaces(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("", "old"))
		p.SetNature(fake.Obedient)
		first, second, third := h.send(replacing("first")), h.send(replacing("second")), h.send(replacing("third"))
		for range 3 { // a start that is under way is stopped when it has begun
			h.after(0)
			for _, q := range h.engine.Ever() {
				q.SetNature(fake.Obedient)
				q.Begin()
			}
		}
		h.after(0)
		live := h.listed(messages.ListJobs{})
		want(h, "live", len(live), 1)
		want(h, "name", h.job("svc").Command, "third")
		reply[messages.CommandPromoted](third)
		reply[messages.CommandPromoted](first)
		reply[messages.CommandPromoted](second)
		h.wantFacts("j2", "stopping started promoted finished:cancelled retired")
		h.wantFacts("j3", "stopping started promoted finished:cancelled retired")
		h.ask(messages.StopCommand{Job: "svc"})
	}, plan{})
}

// A key joins the job it had; it is asked for before the name.
func TestReplaceWithAKey(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("", "old"))
		r := replacing("new")
		r.Key = "k"
		one, two := h.run(r), h.run(r)
		p.Exit(0)
		h.after(0)
		q := h.proc("new")
		q.Begin()
		for _, c := range []*client{one, two, h.run(r)} {
			want(h, "job", reply[messages.CommandPromoted](c).Job.ID, "j2")
		}
		h.wantSignals(q)
		want(h, "processes", len(h.engine.Ever()), 2)
		q.Exit(4)
		h.after(0)
		want(h, "ended", finished(h.run(r)).ID, "j2")
	}, plan{})
}

// A request that is refused for another reason stops nothing.
func TestReplaceIsChecked(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("", "old"))
		for code, bad := range map[messages.Code]func(r *messages.RunCommand){
			messages.EnvRefused:    func(r *messages.RunCommand) { r.Env.Set = []string{"LD_PRELOAD=x"} },
			messages.InvalidParams: func(r *messages.RunCommand) { r.Timeout = -1 },
			messages.Conflict:      func(r *messages.RunCommand) { r.UID = h.job("j1").UID },
			messages.TooLarge:      func(r *messages.RunCommand) { r.OnFinish = []string{"1", "2", "3", "4", "5"} },
		} {
			r := replacing("new")
			bad(&r)
			refused(h.run(r), code)
		}
		h.wantSignals(p)
		want(h, "old", h.job("svc").State, messages.Running)
		p.Exit(0)
	}, plan{})
}

// A job of which a process survives KILL was not stopped: nothing takes its place, and the
// name is free for the next request.
func TestFaultReplaceOfASurvivor(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("", "old"))
		p.Leave(fake.Children{N: 1, Stubborn: true, Survivors: []messages.Survivor{{PID: 77, State: "D"}}})
		c := h.run(replacing("new"))
		p.Exit(0)
		h.after(time.Minute)
		err := refused(c, messages.Conflict)
		want(h, "reason", err.Reason, "survivors")
		want(h, "message", err.Message, "job j1 was stopped, but process 77 of it survives; the new job was not started")
		want(h, "processes", len(h.engine.Ever()), 1)
		_, q := h.start(replacing("new"))
		q.Exit(0)
	}, plan{})
}

// A client that goes before its turn starts nothing, unless its job was to be in the
// background.
func TestReplaceWithoutItsClient(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("", "old"))
		r := replacing("foreground")
		r.UID, r.Mode = "01JZZZZZZZZZZZZZZZZZZZZZZZ", messages.ModeSync
		c := h.run(r)
		find := h.ask(messages.FindJob{Job: "01JZZZZZZZZZZZZZZZZZZZZZZZ"})
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{UID: r.UID}, c.pid)
		refused(find, messages.NotFound)
		d := h.run(replacing("background"))
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{UID: "01JZZZZZZZZZZZZZZZZZZZZZZY"}, d.pid)
		p.Exit(0)
		h.after(0)
		h.proc("background").Begin()
		h.after(0)
		want(h, "svc", h.job("svc").Command, "background")
		want(h, "processes", len(h.engine.Ever()), 2)
		h.proc("background").Exit(0)
		h.clients = slices.DeleteFunc(h.clients, func(gone *client) bool { return gone == c || gone == d })
		h.system().ProcessRegistry.Remove(c.pid)
		h.system().ProcessRegistry.Remove(d.pid)
	}, plan{})
}

// A job in the background that replaces the job of its own client starts, whenever that goes:
// also between the end of the former and the start of the new one.
func TestAJobThatReplacesItself(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(svc("", "old"))
		r := replacing("new")
		r.UID = "01JZZZZZZZZZZZZZZZZZZZZZZZ"
		c := h.run(r)
		p.Exit(0)
		h.after(0)
		want(h, "svc", h.job("svc").Command, "new")
		h.system().Root.RequestWithCustomSender(h.top(), messages.AbandonRun{UID: r.UID}, c.pid)
		h.after(0)
		q := h.proc("new")
		q.Begin()
		h.after(0)
		want(h, "state", h.job("svc").State, messages.Running)
		h.wantSignals(q)
		q.Exit(0)
		h.clients = slices.DeleteFunc(h.clients, func(gone *client) bool { return gone == c })
		h.system().ProcessRegistry.Remove(c.pid)
	}, plan{})
}

// A node that ends meanwhile starts nothing, says so, and leaves the old job as it is; the
// same request replaces it in the next one.
func TestFaultReplaceOverARestart(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		journals(t, func(h *house) {
			_, p := h.start(svc("", "old"))
			c := h.run(replacing("new"))
			h.wantSignals(p, "TERM")
			if ordered {
				if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
					h.Error(err)
				}
				refused(c, messages.ShuttingDown)
				h.bury()
			} else {
				h.die()
			}
			h.begin()
			want(h, "old", h.job("svc").State, messages.Stopping)
			want(h, "processes", len(h.engine.Ever()), 1)
			refused(h.run(svc("", "other")), messages.Conflict)
			c = h.run(replacing("new"))
			p.Exit(0)
			h.after(0)
			h.proc("new").Begin()
			want(h, "new", reply[messages.CommandPromoted](c).Job.ID, "j2")
			h.proc("new").Exit(0)
		}, plan{})
	}
}

// An actor that crashes on the way loses no stop: the supervisor sends it again.
func TestFaultReplaceOverACrash(t *testing.T) {
	for _, at := range []point{{"command", "messages.StopCommand"}, {"session", "routed:messages.StopCommand"}, {"scope", "routed:messages.StopCommand"}} {
		inHouse(t, func(h *house) {
			_, p := h.start(svc("", "old"))
			h.stage.fail(fault{point: at, nth: 1})
			h.run(replacing("new"))
			h.after(2 * time.Second)
			h.wantSignals(p, "TERM")
			p.Exit(0)
			h.after(time.Second)
			h.proc("new").Begin()
			h.after(0)
			want(h, "svc", h.job("svc").ID, "j2")
			h.proc("new").Exit(0)
		}, plan{})
	}
}
