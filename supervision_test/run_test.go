package supervision_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A command runs, its client hears once how it ended, and the record holds what
// the process was.
func TestRunFinishes(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Labels: messages.Labels{Name: "build", Description: "all of it", Tag: "t"}})
		h.after(time.Second)
		silent(c)
		want(h, "state", h.job("build").State, messages.Running)
		p.Write(messages.Merged, "hi\n")
		h.after(time.Second)
		p.Exit(3)

		job := finished(c)
		want(h, "id", job.ID, "j1")
		want(h, "outcome", job.End.Outcome, messages.Exited)
		want(h, "status", job.End.Shell(), 3)
		want(h, "exit code", job.ExitCode(), 3)
		want(h, "code", job.End.Code != nil, true)
		want(h, "who ended it", job.End.Cause, messages.Cause{})
		want(h, "duration", job.Duration(), 2*time.Second)
		want(h, "bytes", job.Output[0].Bytes, 3)
		want(h, "scope", job.Scope, messages.MainScope)
		want(h, "session", job.Session, messages.DefaultSession)
		want(h, "tag", job.Tag, "t")
		want(h, "directory", job.Dir, "/work")
		want(h, "mode", job.Mode, messages.ModeSync)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "state", h.job("j1").State, messages.Retired)
		want(h, "found by uid", h.job(messages.JobID(job.UID)).ID, "j1")
		page := reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}))
		want(h, "text", page.Text, "hi\n")
		want(h, "closed", page.Closed, true)
	})
}

// The end of a process is told as it was: what a shell would say of a signal,
// and a code above 128 stays a code.
func TestRunTellsTheStatus(t *testing.T) {
	for _, c := range []struct {
		name    string
		play    func(*fake.Process) bool
		outcome messages.Outcome
		shell   int
	}{
		{"zero", func(p *fake.Process) bool { return p.Exit(0) }, messages.Exited, 0},
		{"code 137", func(p *fake.Process) bool { return p.Exit(137) }, messages.Exited, 137},
		{"segv", func(p *fake.Process) bool { return p.ExitSignal("SEGV") }, messages.Signaled, 128 + 11},
		{"kill by a stranger", func(p *fake.Process) bool { return p.ExitSignal("KILL") }, messages.Signaled, 128 + 9},
		{"term by a stranger", func(p *fake.Process) bool { return p.ExitSignal("TERM") }, messages.Signaled, 128 + 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				client, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
				c.play(p)
				job := finished(client)
				want(h, "outcome", job.End.Outcome, c.outcome)
				want(h, "status", job.End.Shell(), c.shell)
				want(h, "exit code", job.ExitCode(), c.shell)
			})
		})
	}
}

// A program that cannot be executed is a job with an outcome.
func TestBadInputRunFailsToStart(t *testing.T) {
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Argv: []string{"mkae", "all"}}})
		h.proc("mkae all").Fail(messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no mkae"}, 127)
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.FailedToStart)
		want(h, "status", job.ExitCode(), 127)
		want(h, "error", job.End.Err.Reason, "ENOENT")
		want(h, "started", job.Started.IsZero(), true)
		h.wantFacts("j1", "finished:failed_to_start retired")
		want(h, "state", h.job("j1").State, messages.Retired)

		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "the session works on"}})
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
	})
}

// What is refused before the start makes no job: no record, no fact, no process.
func TestBadInputRunRefusals(t *testing.T) {
	dirs := fake.Options{Check: func(c backends.Command) *messages.Error {
		if c.Dir == "/nowhere" {
			return &messages.Error{Code: messages.CwdNotFound, Message: "there is no /nowhere"}
		}
		return nil
	}, OpenFails: func(at backends.ExecutorSpec) error {
		if at.Session == "broken" {
			return errors.New("no place to run")
		}
		return nil
	}}
	inHouse(t, func(h *house) {
		long := messages.SessionID(strings.Repeat("x", 65))
		for _, c := range []struct {
			run  messages.RunCommand
			code messages.Code
		}{
			{messages.RunCommand{}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: " \n"}}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Argv: []string{""}}}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a", Argv: []string{"a"}}}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a\x00b"}}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: strings.Repeat("x", messages.MaxText+1)}}, messages.TooLarge},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Scope: "a//b"}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Scope: messages.ScopePath(strings.Repeat("a/", 16) + "a")}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Session: long}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Session: "../x"}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: -1}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Timeout: messages.MaxDuration + 1}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, PromoteAfter: -time.Second}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Dir: "relative"}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, UID: "no ulid"}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Env: messages.Env{Set: []string{"1=x"}}}, messages.EnvRefused},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, OnExit: "maybe"}, messages.InvalidParams},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Dir: "/nowhere"}, messages.CwdNotFound},
			{messages.RunCommand{Program: messages.Program{Text: "a"}, Session: "broken"}, messages.SpawnFailed},
		} {
			refused(h.run(c.run), c.code)
		}
		want(h, "processes", len(h.engine.Ever()), 0)
		want(h, "jobs", len(reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Jobs), 0)
		for _, f := range h.ledger.all() {
			if _, ok := f.Fact.(messages.CommandFact); ok {
				h.Errorf("a job that was refused was told of: %s", brief(f.Fact))
			}
		}
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
	}, plan{fake: dirs})
}

// The result is the exit of the main process: who still holds the output delays
// nothing and is told beside it; the last word comes when all is closed.
func TestRunDoesNotWaitForWhoHoldsTheOutput(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "sleep 30 & echo hi"}})
		p.Leave(fake.Children{N: 1, Output: true})
		p.Write(messages.Merged, "hi\n")
		p.Exit(0)
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.Exited)
		want(h, "output open", job.OutputOpen, true)
		want(h, "children", job.End.Children, 1)
		h.wantFacts("j1", "started finished:exited")

		h.after(30 * time.Second)
		p.Write(messages.Merged, "late\n")
		p.EndTree()
		h.after(0)
		h.wantFacts("j1", "started finished:exited retired")
		job = h.job("j1")
		want(h, "output open", job.OutputOpen, false)
		want(h, "children", job.End.Children, 0)
		want(h, "bytes", job.Output[0].Bytes, 8)
	})
}

// A job whose output has other marks to tell after its end tells them with its
// last word and no earlier.
func TestRunTellsNothingBetweenTheEndAndTheRetirement(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		p.Leave(fake.Children{N: 1, Output: true})
		p.Exit(0)
		finished(c)
		p.Flag(messages.Merged, messages.FlagLogTampered)
		h.after(0)
		h.wantFacts("j1", "started finished:exited")
		p.EndTree()
		h.after(0)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "flagged", h.job("j1").HasFlag(messages.FlagLogTampered), true)
	})
}

// Draining is shown in lists and told to nobody.
func TestRunDrains(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		p.HoldDrain(true)
		p.Exit(0)
		h.after(time.Minute)
		silent(c)
		want(h, "state", h.job("j1").State, messages.Draining)
		p.HoldDrain(false)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		h.wantFacts("j1", "started finished:exited retired")
	})
}

// The door of the library: a record with sizes, a caller who gives up.
func TestRunByTheDoor(t *testing.T) {
	inHouse(t, func(h *house) {
		done := make(chan messages.Record, 1)
		go func() {
			job, err := h.node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: "a"}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}})
			if err != nil {
				h.Error(err)
			}
			done <- job
		}()
		synctest.Wait()
		p := h.proc("a")
		p.Begin()
		p.Write(messages.Stderr, "oops")
		p.Exit(1)
		job := <-done
		want(h, "status", job.End.Shell(), 1)
		want(h, "streams", len(job.Output), 2)
		want(h, "stderr", job.Output[1].Bytes, 4)

		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		go func() {
			job, err := h.node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "b"}})
			if !errors.Is(err, context.DeadlineExceeded) {
				h.Errorf("the caller gave up and got %v", err)
			}
			done <- job
		}()
		synctest.Wait()
		p = h.proc("b")
		p.SetNature(fake.Obedient)
		p.Begin()
		job = <-done
		want(h, "given up after", h.since(), time.Minute)
		h.after(0)
		want(h, "outcome", h.job(messages.JobID(job.UID)).End.Outcome, messages.Cancelled)
		want(h, "flagged", slices.Contains(h.job(messages.JobID(job.UID)).Flags, messages.FlagClientGone), true)
		h.wantSignals(p, "TERM")

		_, err := h.node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "too late"}})
		want(h, "an ended context", errors.Is(err, context.DeadlineExceeded), true)
		_, err = h.node.Ask(ctx, messages.OpenSession{Session: "too late"})
		want(h, "an ended context", errors.Is(err, context.DeadlineExceeded), true)
		h.after(0)
		want(h, "processes", len(h.engine.Ever()), 2)
		want(h, "sessions", len(reply[messages.SessionList](h.ask(messages.ListSessions{})).Sessions), 1)

		_, err = h.node.Run(context.Background(), messages.RunCommand{})
		if !errors.Is(err, &messages.Error{Code: messages.InvalidParams}) {
			h.Errorf("an empty command: %v", err)
		}
	})
}
