package supervision_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// serial is a kind of sessions that run one job at a time.
var serial = fake.Options{Can: backends.Capabilities{Parallel: 1, Queue: 4, Input: true, Separate: true, Signals: true, Attribute: true}}

// A foreground job whose budget is spent goes on in the background; its client
// hears that, and nothing else.
func TestPromoteByBudget(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, PromoteAfter: time.Minute, Timeout: time.Hour})
		h.after(time.Minute - 1)
		silent(c)
		h.after(1)
		job := reply[messages.CommandPromoted](c).Job
		want(h, "background", job.Background, true)
		want(h, "state", job.State, messages.Running)
		h.wantSignals(p)
		h.after(10 * time.Minute)
		p.Exit(0)
		h.after(0)
		reply[messages.CommandPromoted](c)
		h.wantFacts("j1", "started promoted finished:exited retired")
		want(h, "background", h.job("j1").Background, true)
	})
}

// A background job in the queue of its session is answered at once, with or without a key, and so
// is a repeat. Its start changes nothing for the client, nor does its end.
func TestFaultBackgroundRunIsQueued(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		queued := messages.RunCommand{Program: messages.Program{Text: "second"}, Key: "k", Mode: messages.ModeAsync, Timeout: time.Hour}
		for range 2 {
			job := reply[messages.CommandPromoted](h.run(queued)).Job
			want(h, "id", job.ID, "j2")
			want(h, "state", job.State, messages.Queued)
			want(h, "background", job.Background, false)
		}
		named := reply[messages.CommandPromoted](h.run(messages.RunCommand{Program: messages.Program{Text: "third"}, Labels: messages.Labels{Name: "x"}, Mode: messages.ModeAsync})).Job
		want(h, "state", named.State, messages.Queued)
		waits := h.run(messages.RunCommand{Program: messages.Program{Text: "fourth"}})
		silent(waits)
		p.Exit(0)
		h.after(0)
		for _, text := range []string{"second", "third", "fourth"} {
			h.proc(text).Begin()
			h.after(0)
			h.proc(text).Exit(4)
			h.after(0)
		}
		want(h, "status", finished(waits).End.Shell(), 4)
		h.wantFacts("j2", "queued changed started promoted finished:exited retired")
	}, plan{fake: serial})
}

// A job that ends within its budget is never promoted, not even late.
func TestPromoteNotAfterTheEnd(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, PromoteAfter: time.Minute})
		p.Leave(fake.Children{N: 1, Output: true})
		h.after(time.Minute - 1)
		p.Exit(0)
		want(h, "background", finished(c).Background, false)
		h.after(time.Hour)
		finished(c)
		refused(h.ask(messages.PromoteCommand{Job: "j1"}), messages.JobFinished)
		h.wantFacts("j1", "started finished:exited")
	})
}

// Somebody may ask: both are answered, each once; asking again is harmless, and
// the budget is not spent a second time.
func TestPromoteByRequest(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, PromoteAfter: time.Minute})
		h.after(time.Second)
		ask := h.ask(messages.PromoteCommand{Job: "j1"})
		want(h, "background", reply[messages.CommandPromoted](ask).Job.Background, true)
		reply[messages.CommandPromoted](c)
		reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j1"}))
		h.after(time.Hour)
		p.Exit(0)
		h.after(0)
		h.wantFacts("j1", "started promoted finished:exited retired")
		refused(h.ask(messages.PromoteCommand{Job: "j9"}), messages.NotFound)
	})
}

// The budget runs from the submission, so a job may be promoted that has not
// even started.
func TestPromoteWhileQueued(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		second := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}, PromoteAfter: time.Minute})
		third := h.run(messages.RunCommand{Program: messages.Program{Text: "third"}})
		h.after(time.Minute)
		job := reply[messages.CommandPromoted](second).Job
		want(h, "state", job.State, messages.Queued)
		reply[messages.CommandPromoted](h.ask(messages.PromoteCommand{Job: "j3"}))
		want(h, "state", reply[messages.CommandPromoted](third).Job.State, messages.Queued)
		want(h, "processes", len(h.engine.Ever()), 1)
		p.Exit(0)
		finished(first)
		for _, text := range []string{"second", "third"} {
			p := h.proc(text)
			p.Begin()
			p.Exit(0)
			h.after(0)
		}
		h.wantFacts("j2", "queued promoted changed started finished:exited retired")
		h.wantFacts("j3", "queued promoted changed started finished:exited retired")
	}, plan{fake: serial})
}

// Who looks at a job that waits for its turn sees that there is nothing yet; who follows
// it waits with it.
func TestLooksAtAJobThatWaits(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		second := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}})
		for _, kind := range []messages.ViewKind{messages.ViewTail, messages.ViewTailLine, messages.ViewPage, messages.ViewRange, messages.ViewSize} {
			page := reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j2", View: messages.View{Kind: kind}}))
			want(h, "what there is", fmt.Sprintf("%+v", page), fmt.Sprintf("%+v", messages.OutputPage{Job: "j2", LinesExact: true}))
		}
		refused(h.ask(messages.ReadOutput{Job: "j2", Stream: messages.Stderr, View: messages.View{Kind: messages.ViewTail}}), messages.InvalidParams)
		refused(h.ask(messages.ReadOutput{Job: "j2", View: messages.View{Kind: "none"}}), messages.InvalidParams)
		refused(h.ask(messages.ReadScreen{Job: "j2"}), messages.Unsupported)
		follower := h.follow("j2", messages.Merged, 0)
		p.Exit(0)
		finished(first)
		q := h.proc("second")
		q.Begin()
		q.Write(messages.Merged, "hi")
		q.Exit(0)
		finished(second)
		q.EndTree()
		want(h, "what it has written", <-follower, "hi")
	}, plan{fake: serial})
}

// A background job answers when it has started, not before, and only once.
func TestPromoteFromTheStart(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "serve"}, Mode: messages.ModeAsync, PromoteAfter: time.Minute})
		h.after(time.Hour)
		silent(c) // it has a budget, but nobody waits for it
		p := h.proc("serve")
		p.Begin()
		job := reply[messages.CommandPromoted](c).Job
		want(h, "background", job.Background, true)
		want(h, "mode", job.Mode, messages.ModeAsync)
		want(h, "pid", job.PID > 0, true)
		p.Exit(0)
		h.after(0)
		h.wantFacts("j1", "started promoted finished:exited retired")
	})
}

// A background job that cannot start has ended before it could answer.
func TestPromoteFromAStartThatFails(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "serve"}, Mode: messages.ModeAsync})
		h.proc("serve").Fail(messages.Error{Code: messages.SpawnFailed, Message: "no"}, 126)
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.FailedToStart)
		want(h, "status", job.ExitCode(), 126)
	})
}

// A background job that is stopped before it starts has its one reply, the one of the queue.
func TestPromoteOfAStoppedStart(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}, Mode: messages.ModeAsync})
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j2"}))
		want(h, "answered", reply[messages.CommandPromoted](c).Job.State, messages.Queued)
		want(h, "outcome", h.job("j2").End.Outcome, messages.Cancelled)
		p.Exit(0)
		h.after(0)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.wantFacts("j2", "queued finished:cancelled retired")
	}, plan{fake: serial})
}
