package supervision_test

import (
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// quiet is a command that is stopped after a minute without output.
func quiet(text string) messages.RunCommand {
	return messages.RunCommand{Program: messages.Program{Text: text}, ProcAttr: messages.ProcAttr{IdleTimeout: time.Minute}}
}

// A command that writes nothing for its idle timeout is stopped as at its deadline, and for a
// cause of its own. Each output gives it the whole time again.
func TestIdleTimeoutStopsASilentCommand(t *testing.T) {
	inHouse(t, func(h *house) {
		r := quiet("make")
		r.Timeout = time.Hour
		c, p := h.start(r)
		want(h, "idle timeout", h.job("j1").IdleTimeout(), time.Minute)
		for range 10 {
			h.after(time.Minute - 1)
			p.Write(messages.Merged, ".")
		}
		h.after(time.Minute - 1)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM")
		want(h, "state", h.job("j1").State, messages.Stopping)
		want(h, "cause", h.job("j1").End.Cause, messages.Cause{By: messages.ByIdle, Reason: "it printed nothing for 1m0s"})
		h.after(messages.DefaultGrace)
		h.wantSignals(p, "TERM", "KILL")
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.TimedOut)
		want(h, "cause", job.End.Cause, messages.Cause{By: messages.ByIdle, Reason: "it printed nothing for 1m0s", Signal: "KILL"})
		want(h, "exit code", job.ExitCode(), 124)
		h.wantFacts("j1", "started stopping finished:timed_out retired")
	})
}

// Time in the queue does not count, nor does time in which the node does not take the output: for
// a slow reader, or while the log is full. The deadline of a job counts on.
func TestIdleTimeoutLeavesOutPauses(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(quiet("make"))
		h.after(time.Hour) // it is starting
		p := h.proc("make")
		p.Begin()
		h.after(30 * time.Second)
		reply[messages.Acknowledged](h.ask(messages.PauseOutput{Job: "j1", Hold: true}))
		h.after(time.Hour)
		h.wantSignals(p)
		reply[messages.Acknowledged](h.ask(messages.PauseOutput{Job: "j1"}))
		h.after(time.Minute - 1)
		p.BlockLog(messages.Merged, true)
		h.after(time.Hour)
		h.wantSignals(p)
		p.BlockLog(messages.Merged, false)
		h.after(time.Minute - 1)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM")
		p.Exit(3)
		want(h, "outcome", finished(c).End.Outcome, messages.TimedOut)
	})
}

// A command that ends by itself, or is stopped for another cause, has that cause.
func TestIdleTimeoutIsNotTheCauseOfAnotherEnd(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(quiet("ends"))
		h.after(time.Minute - 1)
		p.Exit(3)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		c, p = h.start(quiet("stopped"))
		h.ask(messages.StopCommand{Job: "j2", Grace: time.Hour})
		h.after(2 * time.Minute)
		p.Exit(0)
		want(h, "cause", finished(c).End.Cause.By, messages.ByClient)
		h.after(time.Hour)
		h.wantFacts("j2", "started stopping finished:cancelled retired")
	})
}

// The engine holds the idle timeout while no node runs. The next node knows that it stops the
// job, and of a queued job the timeout.
func TestRestartKeepsTheIdleTimeout(t *testing.T) {
	journals(t, func(h *house) {
		r := quiet("make")
		r.Mode, r.Grace = messages.ModeAsync, time.Hour
		_, p := h.start(r)
		h.again()
		want(h, "idle timeout", h.job("j1").IdleTimeout(), time.Minute)
		h.after(30 * time.Second)
		h.die()
		h.after(30 * time.Second)
		h.wantSignals(p, "TERM")
		h.begin()
		want(h, "state", h.job("j1").State, messages.Stopping)
		want(h, "cause", h.job("j1").End.Cause.By, messages.ByIdle)
		p.Exit(0)
		h.after(0)
		want(h, "outcome", h.job("j1").End.Outcome, messages.TimedOut)
		h.wantFacts("j1", "started promoted stopping finished:timed_out retired")
	}, plan{})
}

// In a live shell the command is stopped, and the shell goes on.
func TestIdleTimeoutSparesTheLiveShell(t *testing.T) {
	inHouse(t, func(h *house) {
		r := quiet("make")
		r.Session, r.Open = "s", &messages.SessionPlan{}
		c, p := h.start(r)
		h.after(time.Minute)
		p.ExitSignal("INT")
		want(h, "outcome", finished(c).End.Outcome, messages.TimedOut)
		r.Text, r.IdleTimeout = "again", 0
		c, p = h.start(r)
		h.after(time.Hour)
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		want(h, "shells", len(h.engine.Shells()), 1)
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Session: "s"}))
	}, plan{fake: fake.Options{Nature: fake.Stubborn}})
}
