package supervision_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// situation is a job in one of its phases, and how it goes on to its end.
type situation struct {
	name    string
	bring   func(h *house, at messages.RunCommand) *client // up to its phase
	finish  func(h *house, p *fake.Process)
	outcome messages.Outcome
	facts   string
}

const stubborn = "the job"

// situations are the phases of a job: each actor is made to fail in each.
var situations = []situation{
	{"queued", func(h *house, at messages.RunCommand) *client {
		first := at
		first.Text, first.Name = "before it", "" // at is of one live job
		h.start(first)
		return h.run(at)
	}, func(h *house, _ *fake.Process) {
		h.proc("before it").Exit(0)
		h.after(0)
		p := h.proc(stubborn)
		p.Begin()
		p.Exit(3)
	}, messages.Exited, "queued changed started finished:exited retired"},
	{"starting", func(h *house, at messages.RunCommand) *client {
		return h.run(at)
	}, func(h *house, p *fake.Process) {
		p.Begin()
		p.Exit(3)
	}, messages.Exited, "started finished:exited retired"},
	{"starting in the background", func(h *house, at messages.RunCommand) *client {
		at.PromoteAfter = time.Minute
		c := h.run(at)
		h.after(time.Minute)
		reply[messages.CommandPromoted](c)
		return c
	}, func(h *house, p *fake.Process) {
		want(h, "owned", p.Owned(), true)
		p.Begin()
		p.Exit(3)
	}, messages.Exited, "promoted started finished:exited retired"},
	{"starting in vain", func(h *house, at messages.RunCommand) *client {
		return h.run(at)
	}, func(h *house, p *fake.Process) {
		p.Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, 127)
	}, messages.FailedToStart, "finished:failed_to_start retired"},
	{"running", func(h *house, at messages.RunCommand) *client {
		c, _ := h.start(at)
		return c
	}, func(h *house, p *fake.Process) {
		p.Write(messages.Merged, "more")
		p.Exit(3)
	}, messages.Exited, "started finished:exited retired"},
	{"running into its deadline", func(h *house, at messages.RunCommand) *client {
		at.Timeout = time.Minute
		c, _ := h.start(at)
		h.after(30 * time.Second)
		return c
	}, func(h *house, p *fake.Process) {
		h.after(30*time.Second - 1)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM")
		h.after(messages.DefaultGrace)
		h.wantSignals(p, "TERM", "KILL")
	}, messages.TimedOut, "started stopping finished:timed_out retired"},
	{"running into its budget", func(h *house, at messages.RunCommand) *client {
		at.PromoteAfter = time.Minute
		c, _ := h.start(at)
		h.after(30 * time.Second)
		return c
	}, func(h *house, p *fake.Process) {
		h.after(30*time.Second - 1)
		want(h, "background", h.job("job").Background, false)
		h.after(1)
		want(h, "background", h.job("job").Background, true)
		p.Exit(3)
	}, messages.Exited, "started promoted finished:exited retired"},
	{"in the background", func(h *house, at messages.RunCommand) *client {
		at.Mode = messages.ModeAsync
		c, _ := h.start(at)
		return c
	}, func(h *house, p *fake.Process) {
		p.Exit(3)
	}, messages.Exited, "started promoted finished:exited retired"},
	{"stopping", func(h *house, at messages.RunCommand) *client {
		c, p := h.start(at)
		h.send(messages.StopCommand{Job: "job"})
		h.after(time.Second)
		h.wantSignals(p, "TERM")
		return c
	}, func(h *house, p *fake.Process) {
		h.after(messages.DefaultGrace)
		h.wantSignals(p, "TERM", "KILL")
	}, messages.Cancelled, "started stopping finished:cancelled retired"},
	{"draining", func(h *house, at messages.RunCommand) *client {
		c, p := h.start(at)
		p.HoldDrain(true)
		p.Exit(3)
		h.after(0)
		return c
	}, func(h *house, p *fake.Process) {
		p.HoldDrain(false)
	}, messages.Exited, "started finished:exited retired"},
	{"finished", func(h *house, at messages.RunCommand) *client {
		c, p := h.start(at)
		p.Leave(fake.Children{N: 1, Output: true})
		p.Exit(3)
		h.after(0)
		return c
	}, func(h *house, p *fake.Process) {
		p.Write(messages.Merged, "late")
		p.EndTree()
	}, messages.Exited, "started finished:exited retired"},
}

// kinds are the actors that can be made to fail around a job, but for the
// supervisor, whose failure ends the node.
var kinds = []string{"command", "sink", "session", "scope", "subscope", "recorder", "channel", "watch", "gather"}

// Whatever actor fails, and whatever the job is doing: the job does not notice,
// it is not started again, its end is told once and as it was, its client has
// one reply, and the session goes on.
func TestFaultCrashOfAnyActorInAnyPhase(t *testing.T) {
	for _, s := range situations {
		for _, kind := range kinds {
			t.Run(s.name+"/"+kind, func(t *testing.T) {
				inHouse(t, func(h *house) { s.survives(h, kind) }, plan{fake: serial, slow: kind == "recorder"})
			})
		}
	}
}

func (s situation) survives(h *house, kind string) {
	h.Helper()
	sub := h.subscribe(messages.Subscribe{}, true)
	c := s.bring(h, messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: stubborn}, Labels: messages.Labels{Name: "job"}})
	id := h.job("job").ID
	before := h.signalled(stubborn)
	wait := h.send(messages.WaitJobs{Jobs: []messages.JobID{id}, Condition: messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Hour}})
	follow := h.send(messages.FollowOutput{Job: id, From: 1000})
	if kind == "gather" { // it lives only while it stops something
		h.start(messages.RunCommand{Scope: "other", Program: messages.Program{Text: "to be stopped"}})
		h.send(messages.StopCommand{Scope: "other"})
	}
	h.after(0)
	h.crash(kind)
	want(h, "signals by the crash", h.signalled(stubborn)-before, 0)

	s.finish(h, h.engine.Find(stubborn))
	h.after(time.Minute)
	heard := c.heard()
	if len(heard) != 1 {
		h.Fatalf("the client of the run had %s", brief(heard))
	}
	job := h.job(id)
	want(h, "outcome", job.End.Outcome, s.outcome)
	want(h, "flags", len(job.Flags), 0)
	h.wantFacts(id, s.facts)
	h.after(time.Hour)
	want(h, "answers to a wait", len(wait.heard()), 1)
	want(h, "answers to a follower", len(follow.heard()), 1)
	wantList(h, "told", sub.numbers(), through(1, h.ledger.last())...)

	next, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "the next"}})
	p.Exit(0)
	want(h, "outcome of the next", finished(next).End.Outcome, messages.Exited)
}

// What ends a session is told again to the actor of a job whose first one died
// over it: nothing is forgotten in a place that closes.
func TestCrashOverTheClosing(t *testing.T) {
	for _, crashes := range []int{1, 4} { // the last leaves it without an actor
		for _, behind := range []bool{false, true} {
			inHouse(t, func(h *house) {
				c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
				h.stage.fail(fault{point{"command", "messages.StopCommand"}, 1, behind, crashes})
				closing := h.ask(messages.CloseScope{Path: "a", Grace: -1})
				h.after(time.Second) // a place that has just adopted a job is not closed at once
				reply[messages.ScopeClosed](closing)
				h.wantSignals(p, "KILL")
				want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
			})
		}
	}
}

// signalled is how many signals a process of a text got, 0 if there is none.
func (h *house) signalled(text string) int {
	if p := h.engine.Find(text); p != nil {
		return len(p.Signalled())
	}
	return 0
}

// The job of a caller who has gone is stopped also if that is lost with whoever was to do
// it: nobody else would ask again.
func TestFaultStopOfWhoGaveUpIsLost(t *testing.T) {
	for _, at := range []point{
		{"scope", "routed:messages.StopCommand"}, {"session", "routed:messages.StopCommand"}, {"command", "messages.StopCommand"},
	} {
		for _, behind := range []bool{false, true} {
			inHouse(t, func(h *house) {
				c := h.call(messages.RunCommand{Program: messages.Program{Text: "a"}}, time.Second)
				p := h.proc("a")
				p.Begin()
				h.stage.fail(fault{at, 1, behind, 1})
				want(h, "given up", errors.Is((<-c).err, context.DeadlineExceeded), true)
				h.after(0)
				want(h, "failures", h.stage.fired, 1)
				h.after(2 * time.Second)
				h.wantSignals(p, "TERM")
				p.Exit(143)
				h.after(0)
				job := h.job("j1")
				want(h, "outcome", job.End.Outcome, messages.Cancelled)
				want(h, "gone", job.HasFlag(messages.FlagClientGone), true)
			})
		}
	}
}
