package supervision_test

import (
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// A stubborn command is promoted, asked to stop, killed after the grace, and
// its end is told once.
func TestFaultTimeoutLadder(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "sleep 1h"}, PromoteAfter: time.Minute, Timeout: time.Hour})
		h.after(time.Hour - 1)
		reply[messages.CommandPromoted](c)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM")
		want(h, "state", h.job("j1").State, messages.Stopping)
		h.after(messages.DefaultGrace - 1)
		h.wantSignals(p, "TERM")
		h.after(1)
		h.wantSignals(p, "TERM", "KILL")
		job := h.job("j1")
		want(h, "outcome", job.End.Outcome, messages.TimedOut)
		want(h, "cause", job.End.Cause, messages.Cause{By: messages.ByDeadline, Reason: job.End.Cause.Reason, Signal: "KILL"})
		want(h, "exit code", job.ExitCode(), 124)
		want(h, "status", job.End.Shell(), 137)
		h.after(time.Hour)
		h.wantFacts("j1", "started promoted stopping finished:timed_out retired")
		reply[messages.CommandPromoted](c)
	})
}

// Who goes when asked is not killed, whatever its status: it timed out.
func TestTimeoutObeyed(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(*fake.Process)
		code int
	}{
		{"it dies of TERM", func(p *fake.Process) { p.ExitSignal("TERM") }, 143},
		{"it traps TERM and exits 0", func(p *fake.Process) { p.Exit(0) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				client, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: time.Minute})
				h.after(time.Minute)
				h.wantSignals(p, "TERM")
				h.after(time.Second)
				silent(client)
				c.play(p)
				job := finished(client)
				want(h, "outcome", job.End.Outcome, messages.TimedOut)
				want(h, "status", job.End.Shell(), c.code)
				want(h, "exit code", job.ExitCode(), 124)
				h.after(time.Hour)
				h.wantSignals(p, "TERM")
				h.wantFacts("j1", "started stopping finished:timed_out retired")
			})
		})
	}
}

// The grace is the job's own; a negative one is none.
func TestTimeoutGrace(t *testing.T) {
	inHouse(t, func(h *house) {
		a, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: time.Minute, Grace: time.Second})
		b, q := h.start(messages.RunCommand{Program: messages.Program{Text: "b"}, Timeout: time.Minute, Grace: -1})
		h.after(time.Minute)
		h.wantSignals(p, "TERM")
		h.wantSignals(q, "KILL")
		want(h, "outcome", finished(b).End.Outcome, messages.TimedOut)
		silent(a)
		h.after(time.Second)
		h.wantSignals(p, "TERM", "KILL")
		want(h, "outcome", finished(a).End.Outcome, messages.TimedOut)
	})
}

// The first cause stays: a job that timed out is not cancelled any more, and one
// that was being stopped does not time out.
func TestFaultTimeoutFirstCauseStays(t *testing.T) {
	inHouse(t, func(h *house) {
		a, _ := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: time.Minute, Grace: time.Hour})
		b, _ := h.start(messages.RunCommand{Program: messages.Program{Text: "b"}, Timeout: time.Minute, Grace: time.Hour})
		h.after(time.Minute - 1)
		stopB := h.ask(messages.StopCommand{Job: "j2"})
		h.after(1)
		stopA := h.ask(messages.StopCommand{Job: "j1", Grace: time.Second})
		h.after(time.Second)
		want(h, "outcome", finished(a).End.Outcome, messages.TimedOut)
		reply[messages.CommandStopped](stopA)
		silent(stopB)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j2", Grace: -1}))
		reply[messages.CommandStopped](stopB)
		want(h, "outcome", finished(b).End.Outcome, messages.Cancelled)
		h.wantFacts("j1", "started stopping finished:timed_out retired")
		h.wantFacts("j2", "started stopping finished:cancelled retired")
	})
}

// A deadline can be moved on, set from now, and taken away, and the engine's
// insurance moves with it.
func TestTimeoutChangeOfDeadline(t *testing.T) {
	inHouse(t, func(h *house) {
		_, extended := h.start(messages.RunCommand{Program: messages.Program{Text: "extended"}, Timeout: time.Minute, Mode: messages.ModeAsync})
		_, set := h.start(messages.RunCommand{Program: messages.Program{Text: "set"}, Timeout: time.Hour, Mode: messages.ModeAsync})
		_, given := h.start(messages.RunCommand{Program: messages.Program{Text: "given"}, Mode: messages.ModeAsync})
		_, taken := h.start(messages.RunCommand{Program: messages.Program{Text: "taken"}, Timeout: time.Minute, Mode: messages.ModeAsync})
		h.after(30 * time.Second)
		for _, r := range []messages.ChangeDeadline{
			{Job: "j1", Extend: time.Minute}, {Job: "j2", After: 20 * time.Second}, {Job: "j3", After: 20 * time.Second}, {Job: "j4", None: true},
		} {
			reply[messages.Acknowledged](h.ask(r))
		}
		want(h, "insured", extended.Deadline(), 90*time.Second)
		want(h, "insured", set.Deadline(), 20*time.Second)
		want(h, "insured", given.Deadline(), 20*time.Second)
		want(h, "insured", taken.Deadline(), 0)
		want(h, "told", h.job("j1").Timeout, 2*time.Minute)
		h.wantFacts("j1", "started promoted changed")

		h.after(20*time.Second - 1)
		h.wantSignals(set)
		h.after(1)
		h.wantSignals(set, "TERM")
		h.wantSignals(given, "TERM")
		h.after(70*time.Second - 1)
		h.wantSignals(extended)
		h.after(1)
		h.wantSignals(extended, "TERM")
		h.after(24 * time.Hour)
		h.wantSignals(taken)
		taken.Exit(0)
		h.after(0)
		h.wantFacts("j4", "started promoted changed finished:exited retired")
		for _, id := range []messages.JobID{"j1", "j2", "j3"} {
			want(h, "outcome", h.job(id).End.Outcome, messages.TimedOut)
		}
	})
}

// A change that means nothing changes nothing.
func TestBadInputTimeoutBadChanges(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: time.Minute, Grace: time.Hour})
		h.start(messages.RunCommand{Program: messages.Program{Text: "b"}})
		for _, r := range []messages.ChangeDeadline{
			{Job: "j1"},
			{Job: "j1", Extend: time.Second, After: time.Second},
			{Job: "j1", None: true, After: time.Second},
			{Job: "j1", None: true, Extend: time.Second},
			{Job: "j1", After: -1},
			{Job: "j1", Extend: -1},
			{Job: "j1", After: messages.MaxDuration + 1},
			{Job: "j2", Extend: time.Minute},
		} {
			refused(h.ask(r), messages.InvalidParams)
		}
		h.after(time.Minute)
		h.wantSignals(p, "TERM")
		refused(h.ask(messages.ChangeDeadline{Job: "j1", Extend: time.Minute}), messages.Refused)
		p.Exit(0)
		h.after(0)
		refused(h.ask(messages.ChangeDeadline{Job: "j1", Extend: time.Minute}), messages.JobFinished)
		want(h, "outcome", h.job("j1").End.Outcome, messages.TimedOut)
	})
}

// The deadline runs from leaving the queue: what waits does not time out, and
// what was changed while it waited counts from there.
func TestTimeoutNotInTheQueue(t *testing.T) {
	inHouse(t, func(h *house) {
		_, first := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}, Timeout: time.Minute})
		d := h.run(messages.RunCommand{Program: messages.Program{Text: "third"}, Timeout: time.Minute})
		h.after(24 * time.Hour)
		silent(c)
		reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j3", Extend: time.Hour}))
		first.Exit(0)
		h.after(0)
		p := h.proc("second")
		h.after(30 * time.Second)
		p.Begin()
		h.after(30*time.Second - 1)
		h.wantSignals(p)
		h.after(1)
		h.wantSignals(p, "TERM") // the start counts
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.TimedOut)

		q := h.proc("third")
		q.Begin()
		h.after(61*time.Minute - 1)
		h.wantSignals(q)
		h.after(1)
		h.wantSignals(q, "TERM")
		q.Exit(0)
		want(h, "outcome", finished(d).End.Outcome, messages.TimedOut)
	}, plan{fake: serial})
}

// A start that takes longer than the deadline is stopped as soon as there is
// something to stop.
func TestTimeoutWhileStarting(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: time.Minute})
		h.after(2 * time.Minute)
		want(h, "state", h.job("j1").State, messages.Stopping)
		silent(c)
		p := h.proc("a")
		p.Begin()
		h.after(0)
		want(h, "outcome", finished(c).End.Outcome, messages.TimedOut)
		h.wantFacts("j1", "stopping started finished:timed_out retired")

		c = h.run(messages.RunCommand{Program: messages.Program{Text: "b"}, Timeout: time.Minute})
		h.after(2 * time.Minute)
		h.proc("b").Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, 127)
		want(h, "outcome", finished(c).End.Outcome, messages.TimedOut)
	})
}
