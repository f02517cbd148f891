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

// A running job changes its owner and does not notice: it is not signalled, not
// started again, its client has its one reply, its deadline stays.
func TestHandoverOfALiveJob(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "make"}, Timeout: time.Hour, PromoteAfter: 2 * time.Minute, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		h.after(time.Minute)
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b/c"}))
		job := h.job("j1")
		want(h, "scope", job.Scope, messages.ScopePath("b/c"))
		want(h, "session", job.Session, messages.DefaultSession)
		want(h, "state", job.State, messages.Running)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.wantSignals(p)
		want(h, "owned", p.Owned(), true)

		reply[messages.InputWritten](h.ask(messages.WriteInput{Job: "j1", Data: []byte("x")}))
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"})) // it is none of that scope's any more
		h.wantSignals(p)
		silent(c)
		h.after(time.Minute)
		reply[messages.CommandPromoted](c)
		h.after(58*time.Minute - 1)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM")
		p.Exit(0)
		h.after(0)
		want(h, "outcome", h.job("j1").End.Outcome, messages.TimedOut)
		h.wantFacts("j1", "started changed promoted stopping finished:timed_out retired")
	})
}

// The new owner's end is the job's.
func TestHandoverChangesWhoEndsIt(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		d, q := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "test"}})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Scope: "a", Grace: -1}))
		want(h, "stayed", finished(d).End.Outcome, messages.Cancelled)
		h.wantSignals(q, "KILL")
		h.wantSignals(p)
		h.after(time.Second) // a place that has just adopted a job is not closed at once
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "b", Grace: -1}))
		h.wantSignals(p, "KILL")
		want(h, "moved", finished(c).End.Outcome, messages.Cancelled)
	})
}

// What waits in a queue can be moved, and starts at its new place.
func TestHandoverOfAQueuedJob(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
		second := h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "second"}, Timeout: time.Minute})
		third := h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "third"}})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j2", To: "b"}))
		q := h.proc("second")
		q.Begin()
		h.after(time.Minute)
		h.wantSignals(q, "TERM") // its limits went with it
		q.Exit(0)
		want(h, "second", finished(second).End.Outcome, messages.TimedOut)
		p.Exit(0)
		h.after(0)
		r := h.proc("third")
		r.Begin()
		r.Exit(0)
		want(h, "third", finished(third).End.Outcome, messages.Exited)
		h.wantFacts("j2", "queued changed changed started stopping finished:timed_out retired")
	}, plan{fake: serial})
}

// A job that starts may be moved, too: it is started once.
func TestHandoverOfAStartingJob(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		want(h, "processes", len(h.engine.Ever()), 1)
		p := h.proc("make")
		p.Begin()
		job := reply[messages.CommandPromoted](c).Job
		want(h, "scope", job.Scope, messages.ScopePath("b"))
		p.Exit(3)
		h.after(0)
		want(h, "status", h.job("j1").End.Shell(), 3)
	})
}

// A job that starts keeps its turn when it is moved, wherever it comes to: no
// process is without an owner meanwhile, and a stop finds it.
func TestHandoverOfAStartingJobIntoAFullPlace(t *testing.T) {
	inHouse(t, func(h *house) {
		other, q := h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "other"}})
		c := h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		p := h.proc("make")
		waits := h.run(messages.RunCommand{Scope: "c", Program: messages.Program{Text: "waits for its turn"}})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j2", To: "b"}))
		want(h, "owned", p.Owned(), true)
		stop := h.ask(messages.StopCommand{Job: "j2", Grace: -1})
		silent(stop)
		want(h, "processes", len(h.engine.Ever()), 2)
		p.Begin()
		reply[messages.CommandStopped](stop)
		h.wantSignals(p, "KILL")
		want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
		h.wantFacts("j2", "changed stopping started finished:cancelled retired")
		h.proc("waits for its turn").Begin()
		h.proc("waits for its turn").Exit(0)
		finished(waits)
		q.Exit(0)
		finished(other)
	}, plan{fake: serial, limits: actors.Limits{Starts: 1}})
}

// A job that is being stopped goes on being stopped.
func TestHandoverOfAStoppingJob(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		stop := h.ask(messages.StopCommand{Job: "j1", Grace: time.Minute})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		want(h, "why", refused(stop, messages.Busy).Reason, "moving") // asking again is harmless
		again := h.ask(messages.StopCommand{Job: "j1", Grace: time.Minute})
		h.after(time.Minute)
		h.wantSignals(p, "TERM", "KILL")
		reply[messages.CommandStopped](again)
		want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
		h.wantFacts("j1", "started stopping changed finished:cancelled retired")
	})
}

// What has finished stays where it was; what is not there cannot be moved.
func TestHandoverRefused(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		p.Leave(fake.Children{N: 1, Output: true})
		p.Exit(0)
		finished(c)
		refused(h.ask(messages.HandOver{Job: "j1", To: "b"}), messages.JobFinished)
		p.EndTree()
		h.after(0)
		refused(h.ask(messages.HandOver{Job: "j1", To: "b"}), messages.JobFinished)
		refused(h.ask(messages.HandOver{Job: "j7", To: "b"}), messages.NotFound)
		d, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "test"}})
		refused(h.ask(messages.HandOver{Job: "j2", To: "no//path"}), messages.InvalidParams)
		want(h, "scope", h.job("j2").Scope, messages.ScopePath("a"))
		p.Exit(0)
		finished(d)
		h.wantFacts("j1", "started finished:exited retired")
	})
}

// Two who want the same job get it one after the other, or share its move.
func TestHandoverTwice(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		one, two := h.send(messages.HandOver{Job: "j1", To: "b"}), h.send(messages.HandOver{Job: "j1", To: "c"})
		reply[messages.Acknowledged](one)
		reply[messages.Acknowledged](two)
		want(h, "scope", h.job("j1").Scope, messages.ScopePath("c"))
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "d"}))
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "d"}))
		want(h, "scope", h.job("j1").Scope, messages.ScopePath("d"))
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		want(h, "processes", len(h.engine.Ever()), 1)
	})
}

// A job that ends while it is moved ends once, and whoever moved it hears one
// answer.
func TestHandoverOfAJobThatEnds(t *testing.T) {
	for range 20 { // the two race
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
			move := h.send(messages.HandOver{Job: "j1", To: "b"})
			p.Exit(3)
			h.after(time.Minute)
			want(h, "answers", len(move.heard()), 1)
			want(h, "status", finished(c).End.Shell(), 3)
			want(h, "state", h.job("j1").State, messages.Retired)
		})
	}
}

// Closing the new place while the job is on its way ends the job, wherever the
// closing meets it: a session, a scope, a scope that is made for it.
func TestHandoverIntoAClosingPlace(t *testing.T) {
	for _, closing := range []any{
		messages.CloseScope{Path: "b", Grace: -1}, messages.CloseScope{Path: "b/c", Grace: -1}, messages.CloseSession{Scope: "b/c", Grace: -1},
	} {
		for range 10 { // the move and the closing race
			inHouse(t, func(h *house) {
				h.start(messages.RunCommand{Scope: "b/c", Program: messages.Program{Text: "there"}, Mode: messages.ModeAsync})
				c, _ := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
				move, end := h.send(messages.HandOver{Job: "j2", To: "b/c"}), h.send(closing)
				h.after(time.Minute)
				reply[messages.Acknowledged](move)
				want(h, "answers", len(end.heard()), 1)
				want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
				want(h, "living", len(h.engine.Live()), 0)
			})
		}
	}
}

// So does the end of the node.
func TestHandoverIntoTheEnd(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for range 10 {
			inHouse(t, func(h *house) {
				c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
				move := h.send(messages.HandOver{Job: "j1", To: "b/c"})
				if err := h.shutdown(messages.ShutdownNode{Grace: -1, KeepJobs: keep}); err != nil {
					h.Error(err)
				}
				want(h, "answers", len(move.heard()), 1)
				want(h, "answers of the run", len(c.heard()), 1)
				want(h, "lives", p.Alive(), keep)
				want(h, "owned", p.Owned(), false)
				h.engine.Close(false)
			})
		}
	}
}

// Whoever asked something of the job before it was moved is answered.
func TestHandoverLosesNoRequest(t *testing.T) {
	for range 20 {
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
			asked := []*client{
				h.send(messages.PromoteCommand{Job: "j1"}), h.send(messages.FollowOutput{Job: "j1"}),
				h.send(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}), h.send(messages.ChangeDeadline{Job: "j1", After: time.Hour}),
			}
			reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
			for _, a := range asked {
				want(h, "answers", len(a.heard()), 1)
			}
			p.Exit(0)
			h.after(0)
			reply[messages.CommandPromoted](c)
		})
	}
}

// A sink that fails as the job leaves does not hold it.
func TestHandoverPastASinkThatFails(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		h.ask(messages.FollowOutput{Job: "j1"})
		h.stage.fail(fault{point: point{"sink", "actors.flushSink"}, nth: 1})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		h.ask(messages.FollowOutput{Job: "j1"})
		h.stage.fail(fault{point: point{"sink", "actors.flushSink"}, nth: 1})
		p.Exit(0)
		finished(c)
		h.wantFacts("j1", "started changed finished:exited retired")
		want(h, "sinks", len(h.stage.all("command")), 0)
	})
}

// A job that waits is moved though the queue of its new place is full; one that
// its new place cannot take has an outcome: it was told of.
func TestHandoverOfAQueuedJobIntoAFullQueue(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
		_, q := h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "other"}, Mode: messages.ModeAsync})
		moved, lost := h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "moved"}}), h.run(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "lost"}})
		for i := range 4 {
			h.run(messages.RunCommand{Scope: "b", Program: messages.Program{Text: fmt.Sprintf("waits %d", i)}})
		}
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j3", To: "b"}))
		silent(moved)
		refused(h.run(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "too many"}}), messages.QueueFull)

		h.ask(messages.HandOver{Job: "j4", To: "broken"})
		job := finished(lost)
		want(h, "outcome", job.End.Outcome, messages.FailedToStart)
		want(h, "why", job.End.Err.Code, messages.SpawnFailed)
		h.wantFacts("j4", "queued changed finished:failed_to_start retired")
		want(h, "state", h.job("j4").State, messages.Retired)
		stop := h.ask(messages.StopCommand{Scope: "b", Grace: -1})
		for _, late := range h.engine.Live() { // the next may have had its turn before it heard
			if late != p {
				late.Begin()
			}
		}
		reply[messages.CommandStopped](stop)
		want(h, "outcome", finished(moved).End.Outcome, messages.Cancelled)
		h.wantSignals(q, "KILL")
		p.Exit(0)
	}, plan{fake: fake.Options{Can: serial.Can, OpenFails: func(at backends.ExecutorSpec) error {
		if at.Scope == "broken" {
			return &messages.Error{Code: messages.SpawnFailed, Message: "no shell"}
		}
		return nil
	}}})
}

// The quota of the new owner counts it, and does not refuse it: it exists.
func TestHandoverIntoAFullScope(t *testing.T) {
	inHouse(t, func(h *house) {
		reply[messages.ScopeOpened](h.ask(messages.OpenScope{Path: "b", Quota: messages.ScopeQuota{Jobs: 1, Sessions: 1}}))
		_, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "x"}, Mode: messages.ModeAsync})
		_, q := h.start(messages.RunCommand{Scope: "b", Session: "s", Program: messages.Program{Text: "y"}, Mode: messages.ModeAsync})
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		refused(h.run(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "z"}}), messages.ResourceExhausted)
		want(h, "owned", p.Owned(), true)
		p.Exit(0)
		h.after(0)
		refused(h.run(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "z"}}), messages.ResourceExhausted)
		q.Exit(0)
		h.after(0)
		c, p := h.start(messages.RunCommand{Scope: "b", Session: "s", Program: messages.Program{Text: "z"}})
		p.Exit(0)
		finished(c)
	})
}
