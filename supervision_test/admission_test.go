package supervision_test

import (
	"context"
	"fmt"
	"testing"

	"troupe/actors"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A scope with 500 jobs delays another's first by one start at most, beside the
// one that is under way: turns go round the scopes.
func TestAdmissionIsFair(t *testing.T) {
	inHouse(t, func(h *house) {
		for i := range 500 {
			h.send(messages.RunCommand{Scope: "greedy", Session: messages.SessionID(fmt.Sprintf("s%d", i%10)), Program: messages.Program{Text: fmt.Sprintf("greedy %d", i)}, Mode: messages.ModeAsync})
		}
		h.after(0)
		want(h, "starting", len(h.engine.Ever()), 1)
		modest := h.run(messages.RunCommand{Scope: "modest", Program: messages.Program{Text: "modest"}, Mode: messages.ModeAsync})
		small := h.run(messages.RunCommand{Scope: "small/one", Program: messages.Program{Text: "small"}, Mode: messages.ModeAsync})
		want(h, "starting", len(h.engine.Ever()), 1)
		for i, text := range []string{"greedy", "greedy", "modest", "small", "greedy", "greedy"} {
			p := h.engine.Ever()[i]
			if got := p.Text()[:5]; got != text[:5] {
				h.Errorf("start %d is of %q, want %s", i+1, p.Text(), text)
			}
			p.Begin()
			h.after(0)
		}
		reply[messages.CommandPromoted](modest)
		reply[messages.CommandPromoted](small)
	}, plan{limits: actors.Limits{Starts: 1}, fake: fake.Options{Nature: fake.Obedient}})
}

// Nothing that waits for its turn begins once the node is told to end, though what ends
// gives its turn back: the stop of a job is on its way before the turn is.
func TestAdmissionEndsWithTheNode(t *testing.T) {
	inHouse(t, func(h *house) {
		for i := range 300 {
			h.send(messages.RunCommand{
				Scope: messages.ScopePath(fmt.Sprintf("s%d/x", i%10)), Session: messages.SessionID(fmt.Sprintf("s%d", i%30)), Program: messages.Program{Text: fmt.Sprintf("job %d", i)}, Mode: messages.ModeAsync,
			})
		}
		h.after(0)
		h.begins()
		h.after(0)
		before := len(h.engine.Ever())
		done := h.ending(context.Background(), messages.ShutdownNode{Grace: -1})
		want(h, "started", len(h.engine.Ever()), before)
		h.begins()
		want(h, "the end", <-done, nil)
		want(h, "started in the end", len(h.engine.Ever()), before)
	}, plan{limits: actors.Limits{Starts: 2}, fake: fake.Options{Nature: fake.Obedient}})
}

// At most so many starts are under way as the limit says, and a start that
// fails, or is stopped, makes room for the next.
func TestAdmissionBoundsStarts(t *testing.T) {
	inHouse(t, func(h *house) {
		var clients []*client
		for i := range 8 {
			clients = append(clients, h.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("job %d", i)}}))
		}
		want(h, "starting", len(h.engine.Ever()), 2)
		h.wantFacts("j3", "queued")
		h.engine.Ever()[0].Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, 127)
		h.after(0)
		want(h, "started", len(h.engine.Ever()), 3)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j4"})) // waits for its turn
		h.engine.Ever()[1].Begin()
		h.after(0)
		want(h, "started", len(h.engine.Ever()), 4)
		want(h, "next", h.engine.Ever()[3].Text(), "job 4")
		for i := 0; i < len(h.engine.Ever()); i++ {
			p := h.engine.Ever()[i]
			p.Begin()
			p.Exit(0)
			h.after(0)
		}
		for i, c := range clients {
			outcome := messages.Exited
			switch i {
			case 0:
				outcome = messages.FailedToStart
			case 3:
				outcome = messages.Cancelled
			}
			want(h, fmt.Sprintf("job %d", i), finished(c).End.Outcome, outcome)
		}
	}, plan{limits: actors.Limits{Starts: 2}})
}

// The node takes 1,024 commands that have not started; more are refused, and
// make no job.
func TestFaultAdmissionBusy(t *testing.T) {
	inHouse(t, func(h *house) {
		session := func(i int) messages.SessionID { return messages.SessionID(fmt.Sprintf("s%d", i/64)) }
		for i := range actors.MaxUnstarted {
			h.send(messages.RunCommand{Session: session(i), Program: messages.Program{Text: fmt.Sprintf("job %d", i)}, Mode: messages.ModeAsync})
		}
		h.after(0)
		refused(h.run(messages.RunCommand{Session: "other", Program: messages.Program{Text: "one too many"}}), messages.Busy)
		want(h, "jobs", len(reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Jobs), actors.MaxUnstarted)
		h.engine.Ever()[0].Begin()
		h.after(0)
		c := h.run(messages.RunCommand{Session: "other", Program: messages.Program{Text: "there is room again"}, Mode: messages.ModeAsync})
		silent(c)
		stop := h.ask(messages.StopCommand{Scope: "main", Grace: -1})
		for _, p := range h.engine.Live() {
			p.Begin()
		}
		want(h, "stopped", len(reply[messages.CommandStopped](stop).Jobs), actors.MaxUnstarted+1)
	}, plan{fake: fake.Options{Nature: fake.Obedient}})
}

// A session has a queue; behind its end is queue_full.
func TestBadInputAdmissionQueueFull(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		var waiting []*client
		for i := range 4 {
			waiting = append(waiting, h.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("waits %d", i)}}))
		}
		refused(h.run(messages.RunCommand{Program: messages.Program{Text: "too many"}}), messages.QueueFull)
		other, q := h.start(messages.RunCommand{Session: "other", Program: messages.Program{Text: "other"}})
		q.Exit(0)
		finished(other)
		p.Exit(0)
		finished(first)
		for i, c := range waiting { // in the order they came
			p := h.proc(fmt.Sprintf("waits %d", i))
			p.Begin()
			p.Exit(0)
			finished(c)
		}
	}, plan{fake: serial})
}

// Jobs of a parallel session run side by side, as many as it takes.
func TestAdmissionInParallel(t *testing.T) {
	inHouse(t, func(h *house) {
		for i := range 70 {
			h.send(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("job %d", i)}, Mode: messages.ModeAsync})
		}
		h.after(0)
		want(h, "started", len(h.engine.Ever()), 64)
		for _, p := range h.engine.Ever() {
			p.Begin()
		}
		h.after(0)
		want(h, "started", len(h.engine.Ever()), 64)
		h.engine.Ever()[5].Exit(0)
		h.after(0)
		want(h, "started", len(h.engine.Ever()), 65)
		info := reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions[0]
		want(h, "running", info.Running+info.Queued, 69)
	}, plan{fake: fake.Options{Nature: fake.Obedient}, limits: actors.Limits{Starts: 100}})
}

// A scope has quotas: of live jobs and of sessions, its sub-scopes counted in.
func TestAdmissionQuotas(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 2, Sessions: 2}}))
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "one"}, Mode: messages.ModeAsync})
		_, q := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "two"}, Mode: messages.ModeAsync})
		err := refused(h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "three"}}), messages.ResourceExhausted)
		want(h, "limit", err.Reason, "jobs")
		refused(h.run(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "three"}}), messages.ResourceExhausted)
		refused(h.run(messages.RunCommand{Scope: "a/c/d", Program: messages.Program{Text: "three"}}), messages.ResourceExhausted)
		c, r := h.start(messages.RunCommand{Scope: "other", Program: messages.Program{Text: "three"}})
		r.Exit(0)
		finished(c)
		p.Exit(0)
		h.after(0)
		c, r = h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "three"}})
		r.Exit(0)
		finished(c)
		q.Exit(0)
		h.after(0)
		for i := range 5 { // what has ended counts no more
			c, r := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: fmt.Sprintf("more %d", i)}})
			r.Exit(0)
			finished(c)
		}
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Scope: "a", Session: "second"}))
		err = refused(h.ask(messages.OpenSession{Scope: "a", Session: "third"}), messages.ResourceExhausted)
		want(h, "limit", err.Reason, "sessions")
		refused(h.run(messages.RunCommand{Scope: "a", Session: "third", Program: messages.Program{Text: "x"}}), messages.ResourceExhausted)
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Scope: "a", Session: "second"}))
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Scope: "a", Session: "third"}))
		for range 3 { // nor does what was refused
			refused(h.run(messages.RunCommand{Scope: "a", Session: "fourth", Program: messages.Program{Text: "x"}}), messages.ResourceExhausted)
		}
		c, p = h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "counts"}})
		p.Exit(0)
		finished(c)
	})
}

// A quota below nothing is refused, and changes none.
func TestBadInputAdmissionQuota(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 1}}))
		for _, bad := range []messages.ScopeQuota{{Jobs: -1}, {Sessions: -1}} {
			want(h, "names", refused(h.ask(messages.OpenScope{Path: "a", Quota: bad}), messages.InvalidParams).Reason, "quota")
			refused(h.ask(messages.OpenScope{Path: "new", Quota: bad}), messages.InvalidParams)
		}
		list := reply[messages.ScopeList](h.ask(messages.ListScopes{}))
		wantList(h, "scopes", list.Scopes, messages.ScopeInfo{Path: "a", Quota: messages.ScopeQuota{Jobs: 1}})
	})
}

// A quota survives the failure of the scope that keeps it, and counts what was
// there.
func TestFaultAdmissionQuotaSurvivesACrash(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "a", Quota: messages.ScopeQuota{Jobs: 1}}))
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "one"}, Mode: messages.ModeAsync})
		h.crash("scope")
		refused(h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "two"}}), messages.ResourceExhausted)
		p.Exit(0)
		h.after(0)
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "two"}})
		p.Exit(0)
		finished(c)
	})
}
