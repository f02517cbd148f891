package supervision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/internal/codec"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// listed are the ids that a list has.
func (h *house) listed(r messages.ListJobs) []messages.JobID {
	h.Helper()
	var ids []messages.JobID
	for _, job := range reply[messages.JobList](h.ask(r)).Jobs {
		ids = append(ids, job.ID)
	}
	return ids
}

// ended runs a short job to its end.
func (h *house) ended(r messages.RunCommand) messages.Record {
	h.Helper()
	c, p := h.start(r)
	p.Exit(0)
	return finished(c)
}

// A list has the jobs of a scope with its sub-scopes, the oldest first; those
// that have ended only if they are asked for.
func TestListFilters(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync}) // j1
		h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "waits"}})                             // j2
		h.ended(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "done"}})                          // j3
		h.start(messages.RunCommand{Scope: "ab", Program: messages.Program{Text: "other"}})                          // j4
		c, p := h.start(messages.RunCommand{Scope: "c", Program: messages.Program{Text: "leaves"}})                  // j5
		p.Leave(fake.Children{N: 1})
		p.Exit(0)
		finished(c)
		for _, l := range []struct {
			ask  messages.ListJobs
			want []messages.JobID
		}{
			{messages.ListJobs{}, []messages.JobID{"j1", "j2", "j4"}},
			{messages.ListJobs{Finished: true}, []messages.JobID{"j1", "j2", "j3", "j4", "j5"}},
			{messages.ListJobs{Scope: "a"}, []messages.JobID{"j1", "j2"}},
			{messages.ListJobs{Scope: "a", Finished: true}, []messages.JobID{"j1", "j2", "j3"}},
			{messages.ListJobs{Scope: "a/b", Finished: true}, []messages.JobID{"j3"}},
			{messages.ListJobs{States: []messages.State{messages.Queued}}, []messages.JobID{"j2"}},
			{messages.ListJobs{States: []messages.State{messages.Running, messages.Queued}, Scope: "a"}, []messages.JobID{"j1", "j2"}},
			{messages.ListJobs{States: []messages.State{messages.Finished}}, []messages.JobID{"j3", "j5"}}, // the retired have finished
			{messages.ListJobs{States: []messages.State{messages.Retired}}, []messages.JobID{"j3"}},
			{messages.ListJobs{Scope: "nowhere", Finished: true}, nil},
		} {
			wantList(h, fmt.Sprintf("%+v", l.ask), h.listed(l.ask), l.want...)
		}
	}, plan{fake: fake.Options{Can: serial.Can, Nature: fake.Obedient}})
}

// A job is found by its id, its ULID in either case, and its name; of one name,
// the youngest.
func TestListFindsOne(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.ended(messages.RunCommand{Program: messages.Program{Text: "a"}, Labels: messages.Labels{Name: "build"}, UID: uid(1)})
		second := h.ended(messages.RunCommand{Program: messages.Program{Text: "b"}, Labels: messages.Labels{Name: "build"}, UID: uid(2)})
		for _, c := range []struct{ id, want messages.JobID }{
			{first.ID, first.ID},
			{messages.JobID(first.UID), first.ID},
			{"01exp000000000000000000002", second.ID},
			{"build", second.ID},
		} {
			want(h, string(c.id), h.job(c.id).ID, c.want)
		}
		for _, id := range []messages.JobID{"", "j9", "j0", "make", "j", "jx"} {
			m := reply[messages.JobMissing](h.ask(messages.FindJob{Job: id}))
			want(h, string(id), m.Err.Code, messages.NotFound)
			want(h, string(id), m.Category, "unknown")
		}
	})
}

// What has the form of an id never names another job, neither one that is to come nor one
// that was forgotten.
func TestListIsNotMistakenByANameLikeAnID(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, name := range []string{"j1", "j0", "j01", "j123456789012345678901"} {
			err := refused(h.ask(messages.RunCommand{Program: messages.Program{Text: "a"}, Labels: messages.Labels{Name: name}}), messages.InvalidParams)
			want(h, name, err.Reason, "name")
		}
		for _, name := range []string{"j", "J1", "j1a", "j-1", "1", "job1", "local-1"} {
			h.ended(messages.RunCommand{Program: messages.Program{Text: "a"}, Labels: messages.Labels{Name: name}})
			want(h, name, h.job(messages.JobID(name)).Name, name)
		}
	})
}

// A job that is over can be forgotten with its output; one that is not cannot.
func TestListRemoves(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Labels: messages.Labels{Name: "build"}})
		p.Leave(fake.Children{N: 1, Output: true})
		err := refused(h.ask(messages.RemoveJob{Job: "j1"}), messages.Refused)
		want(h, "reason", err.Reason, "running")
		p.Write(messages.Merged, "x")
		p.Exit(0)
		h.after(0)
		refused(h.ask(messages.RemoveJob{Job: "j1"}), messages.Refused) // its children live
		p.EndTree()
		h.after(0)
		reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}))
		removed := reply[messages.JobFound](h.ask(messages.RemoveJob{Job: "build"}))
		want(h, "removed", removed.Job.ID, "j1")
		want(h, "logs", h.store.Logs(), 0)
		want(h, "listed", len(h.listed(messages.ListJobs{Finished: true})), 0)
		want(h, "missing", reply[messages.JobMissing](h.ask(messages.FindJob{Job: "j1"})).Category, "removed")
		want(h, "missing", reply[messages.JobMissing](h.ask(messages.RemoveJob{Job: "j1"})).Category, "removed")
		refused(h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}), messages.NotFound)
		want(h, "the next", h.ended(messages.RunCommand{Program: messages.Program{Text: "b"}}).ID, "j2") // no id is used again
	})
}

// A job that is over runs no more for who asks while its end is being recorded, and is
// removed behind that.
func TestListWhileAnEndIsRecorded(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		until := make(chan struct{})
		h.ledger.hold(until)
		p.Exit(0)
		h.after(0)
		s := reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions[0]
		want(h, "idle", s.Idle(), true)
		removal := h.ask(messages.RemoveJob{Job: "j1"})
		want(h, "answers before", len(removal.heard()), 0)
		close(until)
		h.after(0)
		want(h, "removed", reply[messages.JobFound](removal).Job.ID, "j1")

		_, p = h.start(messages.RunCommand{Program: messages.Program{Text: "b"}})
		h.ledger.fail(errJournal)
		p.Exit(0)
		h.after(0)
		want(h, "reason", refused(h.ask(messages.RemoveJob{Job: "j2"}), messages.ResourceExhausted).Reason, "journal")
		h.ledger.fail(nil)
	}, plan{slow: true})
}

// Of the jobs that are over, so many are kept as the limit says, with their
// output; those that live are none of them.
func TestListKeepsTheYoungest(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Program: messages.Program{Text: "lives"}, Mode: messages.ModeAsync})
		for i := range 5 {
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("job %d", i)}})
			p.Write(messages.Merged, "x")
			p.Exit(0)
			finished(c)
		}
		wantList(h, "kept", h.listed(messages.ListJobs{Finished: true}), "j1", "j5", "j6")
		want(h, "logs", h.store.Logs(), 3)
	}, plan{limits: actors.Limits{Finished: 2}, fake: fake.Options{Nature: fake.Obedient}})
}

// A host's own tasks are shown beside the jobs, those that have ended with the ended jobs.
func TestListTasks(t *testing.T) {
	inHouse(t, func(h *house) {
		tasks := func(r messages.ListJobs) (lines []string) {
			for _, task := range reply[messages.JobList](h.ask(r)).Tasks {
				lines = append(lines, fmt.Sprintf("%s/%s %s %s %t", task.Scope, task.ID, task.Kind, task.State, task.Ended))
			}
			return lines
		}
		done := func(r messages.Refusable) { reply[messages.Acknowledged](h.ask(r)) }
		refused(h.ask(messages.UpdateTask{ID: "t1"}), messages.NotFound)
		for _, r := range []messages.AnnounceTask{{ID: "t2", Scope: "a/b"}, {ID: "t1", Scope: "a"}, {ID: "t1", Kind: "sub-agent", State: "thinks"}} {
			done(r)
			h.after(time.Second)
		}
		wantList(h, "all", tasks(messages.ListJobs{}), "a/b/t2 agent running false", "a/t1 agent running false", "main/t1 sub-agent thinks false")
		wantList(h, "of a", tasks(messages.ListJobs{Scope: "a"}), "a/b/t2 agent running false", "a/t1 agent running false")
		wantList(h, "in a state of jobs", tasks(messages.ListJobs{States: []messages.State{messages.Running}}))
		done(messages.AnnounceTask{ID: "t1", Scope: "a"}) // again is no other
		done(messages.UpdateTask{ID: "t1", Scope: "a", Ended: true})
		done(messages.UpdateTask{ID: "t1", Scope: "a", Ended: true}) // nor is this
		wantList(h, "live", tasks(messages.ListJobs{Scope: "a"}), "a/b/t2 agent running false")
		for range 2 { // a list changes nothing
			wantList(h, "ended too", tasks(messages.ListJobs{Scope: "a", Finished: true}), "a/b/t2 agent running false", "a/t1 agent completed true")
		}
		done(messages.AnnounceTask{ID: "t1", Scope: "a"})
		wantList(h, "begun anew", tasks(messages.ListJobs{Scope: "a"}), "a/b/t2 agent running false", "a/t1 agent running false")
	})
}

// A task ends with its scope, whose host may have died, and is listed as lost.
func TestListTasksOfAnEndedScope(t *testing.T) {
	inHouse(t, func(h *house) {
		task := func(id messages.TaskID) messages.Task {
			for _, task := range reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Tasks {
				if task.ID == id {
					return task
				}
			}
			return messages.Task{}
		}
		for path, end := range map[messages.ScopePath]messages.Refusable{"a": messages.ReleaseScope{Path: "a"}, "b": messages.CloseScope{Path: "b"}} {
			reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: path}))
			id := messages.TaskID(path)
			reply[messages.Acknowledged](h.ask(messages.AnnounceTask{ID: id, Scope: path + "/sub"}))
			reply[messages.ScopeClosed](h.ask(end))
			want(h, "ended", task(id).Ended, true)
			want(h, "state", task(id).State, messages.TaskLost)
			reply[messages.Acknowledged](h.ask(messages.UpdateTask{ID: id, Scope: path + "/sub", State: "failed", Ended: true}))
			want(h, "corrected state", task(id).State, "failed")
		}
		reply[messages.Acknowledged](h.ask(messages.AnnounceTask{ID: "never", Scope: "never/open"}))
		refused(h.ask(messages.ReleaseScope{Path: "never"}), messages.NotFound)
		want(h, "of a scope that was never open", task("never").State, messages.TaskLost)
	})
}

// The table of tasks is bounded: a live one too many is refused, the oldest ended one goes.
func TestListTasksIsBounded(t *testing.T) {
	inHouse(t, func(h *house) {
		announce := func(n int) *client { return h.ask(messages.AnnounceTask{ID: messages.TaskID(fmt.Sprintf("x%d", n))}) }
		for n := range messages.MaxTasks {
			reply[messages.Acknowledged](announce(n))
		}
		refused(announce(messages.MaxTasks), messages.ResourceExhausted)
		reply[messages.Acknowledged](announce(0))
		for n := range messages.MaxEndedTasks + 1 {
			reply[messages.Acknowledged](h.ask(messages.UpdateTask{ID: messages.TaskID(fmt.Sprintf("x%d", n)), Ended: true}))
			h.after(time.Second)
		}
		all := reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Tasks
		want(h, "listed", len(all), messages.MaxTasks-1)
		want(h, "the oldest", all[0].ID, "x1")
		for _, bad := range []messages.AnnounceTask{
			{}, {ID: "a b"}, {ID: "-a"}, {ID: "a", Scope: "a//b"}, {ID: "a", Kind: "a b"}, {ID: "a", State: strings.Repeat("x", 65)}, {ID: "a", Description: "\xff"},
		} {
			refused(h.ask(bad), messages.InvalidParams)
		}
		refused(h.ask(messages.AnnounceTask{ID: "a", Description: strings.Repeat("x", messages.MaxTaskAbout+1)}), messages.TooLarge)
	})
}

// Sessions and scopes are listed with what is in them, sub-scopes counted in.
func TestListSessionsAndScopes(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 9}}))
		h.start(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "runs"}, Mode: messages.ModeAsync})
		h.run(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "waits"}})
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "leaves"}, Dir: "/x"})
		p.Leave(fake.Children{N: 1})
		p.Exit(0)
		finished(c)
		h.ended(messages.RunCommand{Scope: "c", Program: messages.Program{Text: "done"}})
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Scope: "c", Session: "t", SessionPlan: messages.SessionPlan{Dir: "/there"}}))

		var lines []string
		for _, s := range reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions {
			lines = append(lines, fmt.Sprintf("%s:%s %s %d: %d run, %d wait, %d left %s", s.Scope, s.Session, s.Backend, s.Parallel, s.Running, s.Queued, s.Adopted, s.Dir))
		}
		wantList(h, "sessions", lines,
			"a:default pipe 1: 0 run, 0 wait, 1 left ", "a/b:s pipe 1: 1 run, 1 wait, 0 left ",
			"c:default pipe 1: 0 run, 0 wait, 0 left ", "c:t pipe 1: 0 run, 0 wait, 0 left /there")
		want(h, "of a/b", len(reply[messages.SessionList](h.ask(messages.ListSessions{Scope: "a/b"})).Sessions), 1)
		wantList(h, "scopes", reply[messages.ScopeList](h.ask(messages.ListScopes{})).Scopes,
			messages.ScopeInfo{Path: "a", Jobs: 2, Sessions: 2, Quota: messages.ScopeQuota{Jobs: 9}},
			messages.ScopeInfo{Path: "a/b", Jobs: 2, Sessions: 1}, messages.ScopeInfo{Path: "c", Sessions: 2})
		wantList(h, "scopes of a", reply[messages.ScopeList](h.ask(messages.ListScopes{Path: "a/b"})).Scopes,
			messages.ScopeInfo{Path: "a/b", Jobs: 2, Sessions: 1})
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a", Grace: time.Second}))
		want(h, "when it is closed", len(reply[messages.ScopeList](h.ask(messages.ListScopes{})).Scopes), 1)
	}, plan{fake: fake.Options{Can: serial.Can, Nature: fake.Obedient}})
}

// What tells a job to the next node is kept with it where the job may outlive
// this one, and nowhere else.
func TestListIsKeptWhereJobsOutlive(t *testing.T) {
	for _, outlive := range []bool{true, false} {
		can := serial.Can
		can.Outlive = outlive
		inHouse(t, func(h *house) {
			_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Labels: messages.Labels{Name: "build"}})
			held, err := h.engine.Inventory(h.Context())
			if err != nil || len(held) != 1 {
				h.Fatalf("the engine holds %v (%v)", held, err)
			}
			var meta struct {
				Job messages.Record `cbor:"1,keyasint"`
			}
			if err := codec.Decode(held[0].Meta, &meta); (err == nil) != outlive {
				h.Errorf("kept %q: %v", held[0].Meta, err)
			}
			if outlive {
				want(h, "kept", fmt.Sprintf("%s %s %s", meta.Job.ID, meta.Job.Name, meta.Job.Command), "j1 build make")
			}
			p.Exit(0)
		}, plan{fake: fake.Options{Can: can}})
	}
}

// The outputs of those that are forgotten are removed in batches; a batch that
// does not fill is removed soon, too, and at the end of the node.
func TestListForgetsOutputs(t *testing.T) {
	inHouse(t, func(h *house) {
		n := 0
		for _, step := range []struct {
			jobs, logs int
			after      time.Duration
		}{
			{jobs: 64, logs: 64, after: time.Hour},
			{jobs: 1, logs: 65},
			{jobs: 1, logs: 64}, // a batch
			{jobs: 1, logs: 65, after: 9 * time.Second},
			{logs: 64, after: time.Second},
			{jobs: 1, logs: 65},
		} {
			for range step.jobs {
				n++
				c, p := h.start(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("job %d", n)}})
				p.Write(messages.Merged, "x")
				p.Exit(0)
				finished(c)
			}
			h.after(step.after)
			want(h, "logs", h.store.Logs(), step.logs)
		}
		if err := h.shutdown(messages.ShutdownNode{}); err != nil {
			h.Error(err)
		}
		want(h, "logs at the end", h.store.Logs(), 64)
	}, plan{limits: actors.Limits{Finished: 64}, fake: fake.Options{Nature: fake.Obedient}})
}
