package supervision_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/host"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// await waits for jobs to meet a condition.
func (h *house) await(any bool, until messages.Condition, jobs ...messages.JobID) *client {
	h.Helper()
	return h.ask(messages.WaitJobs{Jobs: jobs, Any: any, Condition: until})
}

// wantWait compares the one answer of a wait: how it ended, and by whom.
func wantWait(c *client, how string, met ...messages.JobID) messages.WaitEnded {
	c.h.Helper()
	end := reply[messages.WaitEnded](c)
	got := "nothing"
	switch {
	case end.Satisfied:
		got = "satisfied"
	case end.TimedOut:
		got = "timed out"
	case end.Impossible:
		got = "impossible"
	}
	want(c.h, "the wait", got, how)
	wantList(c.h, "met", end.Met, met...)
	return end
}

// Waiting for all is waiting for the last, for any is for the first; the answer
// has the records of all.
func TestWaitForTheEnd(t *testing.T) {
	inHouse(t, func(h *house) {
		a, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Labels: messages.Labels{Name: "build"}})
		b, q := h.start(messages.RunCommand{Program: messages.Program{Text: "b"}})
		all, one := h.await(false, messages.Condition{}, "build", "j2"), h.await(true, messages.Condition{Kind: messages.UntilExit}, "j1", "j2")
		twice := h.await(false, messages.Condition{}, "j1", "build", messages.JobID(h.job("j1").UID)) // one job by three names
		h.after(time.Hour)
		silent(all)
		silent(one)
		p.Exit(3)
		end := wantWait(one, "satisfied", "j1")
		want(h, "records", len(end.Jobs), 2)
		want(h, "status", end.Jobs[0].End.Shell(), 3)
		want(h, "the other", end.Jobs[1].State, messages.Running)
		want(h, "records", len(wantWait(twice, "satisfied", "j1").Jobs), 1)
		silent(all)
		q.Exit(0)
		wantWait(all, "satisfied", "j1", "j2")
		wantWait(h.await(false, messages.Condition{}, "j2", "j1"), "satisfied", "j2", "j1") // they have ended
		finished(a)
		finished(b)
	})
}

// A wait lasts as long as its client wants: the jobs go on.
func TestWaitTimesOut(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		wait := h.ask(messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Timeout: time.Minute})
		h.after(time.Minute - 1)
		silent(wait)
		h.after(1)
		want(h, "state", wantWait(wait, "timed out").Jobs[0].State, messages.Running)
		h.wantSignals(p)
		p.Exit(0)
		finished(c)
		h.after(0)
		want(h, "watches", len(h.stage.all("watch")), 0)
	})
}

// A pattern is met by what is written, at once if it was already, across writes
// and across an actor that fails; it cannot be met by a job that has ended.
func TestWaitForAPattern(t *testing.T) {
	ready := messages.Condition{Kind: messages.UntilPattern, Pattern: `(?m)^ready on \d+\n`}
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "serve"}})
		wait := h.await(false, ready, "j1")
		p.Write(messages.Merged, "not ready on 1\nready ")
		silent(wait)
		h.crash("command")
		h.after(time.Minute) // a question that was lost with an actor is asked again
		h.crash("sink")
		p.Write(messages.Merged, "on 80")
		silent(wait)
		p.Write(messages.Merged, "80\n")
		wantWait(wait, "satisfied", "j1")
		wantWait(h.await(false, ready, "j1"), "satisfied", "j1")
		never := h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "never"}, "j1")
		p.Exit(0)
		wantWait(never, "impossible")
		wantWait(h.await(false, ready, "j1"), "satisfied", "j1") // it is still written there
		wantWait(h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "never"}, "j1"), "impossible")
		finished(c)
	})
}

// A pattern is looked for in the stream that is named, or in all.
func TestWaitForAPatternInAStream(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}})
		stdout := h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "x", Stream: messages.Stdout}, "j1")
		both := h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "x"}, "j1")
		p.Write(messages.Stderr, "x\n")
		wantWait(both, "satisfied", "j1")
		silent(stdout)
		p.Write(messages.Stdout, "x\n")
		wantWait(stdout, "satisfied", "j1")
		p.Exit(0)
		finished(c)
		h.ended(messages.RunCommand{Program: messages.Program{Text: "b"}})
		refused(h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "x", Stream: messages.Stderr}, "j2"), messages.InvalidParams)
	})
}

// A job is quiet when it has written nothing for so long: each write begins that
// anew; one that asks for input is waited for until it does.
func TestWaitForQuietAndInput(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		quiet := h.await(false, messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Minute}, "j1")
		input := h.await(false, messages.Condition{Kind: messages.UntilInput}, "j1")
		for range 3 {
			h.after(40 * time.Second)
			p.Write(messages.Merged, ".")
			silent(quiet)
		}
		h.after(time.Minute - 1)
		silent(quiet)
		h.after(1)
		wantWait(quiet, "satisfied", "j1")
		silent(input)
		p.AwaitInput(true)
		wantWait(input, "satisfied", "j1")
		p.AwaitInput(false)
		h.after(0)
		input = h.await(true, messages.Condition{Kind: messages.UntilInput}, "j1")
		p.Exit(0)
		wantWait(input, "impossible")
		finished(c)
	})
}

// A job that has no input, or none any more, is not waited for.
func TestWaitForInputThatCannotBe(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		wantWait(h.await(false, messages.Condition{Kind: messages.UntilInput}, "j1"), "impossible")
		h.start(messages.RunCommand{Program: messages.Program{Text: "b"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		open := h.await(false, messages.Condition{Kind: messages.UntilInput}, "j2")
		h.after(time.Minute)
		silent(open)
		reply[messages.Acknowledged](h.ask(messages.CloseInput{Job: "j2"}))
		h.after(time.Minute)
		wantWait(open, "impossible")
		wantWait(h.await(true, messages.Condition{Kind: messages.UntilInput}, "j1", "j2"), "impossible")
	})
}

// A wait holds while its job is moved, and is answered when the job is ended
// with its scope.
func TestWaitPastAHandover(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "a"}})
		end, text := h.await(false, messages.Condition{}, "j1"), h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "x"}, "j1")
		reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"}))
		p.Write(messages.Merged, "x")
		wantWait(text, "satisfied", "j1")
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"}))
		silent(end)
		h.after(time.Second)
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "b", Grace: -1}))
		wantWait(end, "satisfied", "j1")
		finished(c)
	})
}

// What cannot be waited for is refused at once; and so is one wait too many.
func TestWaitRefused(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Mode: messages.ModeAsync})
		refused(h.await(false, messages.Condition{}, "j1", "j2"), messages.NotFound)
		refused(h.await(false, messages.Condition{}), messages.InvalidParams)
		refused(h.await(false, messages.Condition{Kind: messages.UntilPattern, Pattern: "("}, "j1"), messages.InvalidParams)
		refused(h.await(false, messages.Condition{Kind: messages.UntilPort, Port: 1 << 16}, "j1"), messages.InvalidParams)
		var waits []*client
		for range 3 {
			waits = append(waits, h.await(false, messages.Condition{}, "j1"))
		}
		err := refused(h.await(false, messages.Condition{}, "j1"), messages.ResourceExhausted)
		want(h, "limit", err.Reason, "watches")
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j1", Grace: -1}))
		for i, w := range waits {
			want(h, fmt.Sprintf("wait %d", i), reply[messages.WaitEnded](w).Satisfied, true)
		}
		h.after(0)
		wantWait(h.await(false, messages.Condition{}, "j1"), "satisfied", "j1")
	}, plan{limits: actors.Limits{Watches: 3}})
}

// A wait that its client gave up makes room for another, whatever it is for; a
// stop of many whose client left takes no room, and goes on.
func TestWaitsGivenUpMakeRoom(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Grace: time.Hour})
		giveUp := func(r messages.Refusable) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if _, err := h.node.Ask(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
				h.Errorf("%T: %v", r, err)
			}
		}
		wait := messages.WaitJobs{Jobs: []messages.JobID{"j1"}}
		for range 3 {
			giveUp(wait)
		}
		text := messages.Condition{Kind: messages.UntilPattern, Pattern: "x"}
		first := h.await(false, text, "j1")
		silent(first)
		want(h, "watches", len(h.stage.all("watch")), 1)
		giveUp(messages.WaitJobs{Jobs: wait.Jobs, Condition: text})
		giveUp(messages.StopCommand{Scope: "main"})
		second, third := h.await(false, messages.Condition{}, "j1"), h.await(false, messages.Condition{}, "j1")
		silent(second)
		silent(third)
		refused(h.ask(wait), messages.ResourceExhausted)
		want(h, "gathers", len(h.stage.all("gather")), 1)
		p.Write(messages.Merged, "x")
		wantWait(first, "satisfied", "j1")
		p.Exit(0)
		wantWait(second, "satisfied", "j1")
		wantWait(third, "satisfied", "j1")
		finished(c)
		h.after(0)
		want(h, "watches", len(h.stage.all("watch")), 0)
		want(h, "gathers", len(h.stage.all("gather")), 0)
	}, plan{limits: actors.Limits{Watches: 3}})
}

// Stops of many jobs at once are bounded, whoever waits for them: one too many is
// refused. Waits do not take their room, and one job can still be stopped.
func TestFaultStopsOfManyAreBounded(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "a"}, Grace: time.Hour})
		var stops []*client
		for range 3 {
			silent(h.await(false, messages.Condition{}, "j1"))
		}
		for range 3 {
			stops = append(stops, h.ask(messages.StopCommand{Scope: "a"}))
		}
		h.tell(messages.StopCommand{Scope: "a"}) // for nobody
		err := refused(h.ask(messages.StopCommand{Scope: "a"}), messages.ResourceExhausted)
		want(h, "limit", err.Reason, "stops")
		want(h, "gathers", len(h.stage.all("gather")), 3)
		stops = append(stops, h.ask(messages.StopCommand{Job: "j1"}))
		p.Exit(0)
		finished(c)
		for _, stop := range stops {
			reply[messages.CommandStopped](stop)
		}
		h.after(0)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Scope: "a"}))
	}, plan{limits: actors.Limits{Watches: 3}})
}

// Those who wait for the end of one job's stop are bounded; who is turned away
// is told, and may still give it less time.
func TestFaultStopsOfOneJobAreBounded(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Grace: time.Hour})
		var last *client
		for range messages.MaxWaiting {
			last = h.send(messages.StopCommand{Job: "j1"})
		}
		h.tell(messages.StopCommand{Job: "j1"}) // for nobody
		err := refused(h.ask(messages.StopCommand{Job: "j1", Grace: time.Minute}), messages.ResourceExhausted)
		want(h, "reason", err.Reason, "waiting")
		h.wantSignals(p, "TERM")
		silent(last)
		h.after(time.Minute)
		h.wantSignals(p, "TERM", "KILL")
		finished(c)
		reply[messages.CommandStopped](last)
	})
}

// So are those who wait for a job to take its input.
func TestFaultControlsOfOneJobAreBounded(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "cat"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync})
		p.FillInput(true)
		var last *client
		for range messages.MaxWaiting {
			last = h.send(messages.WriteInput{Job: "j1", Data: []byte("x")})
		}
		h.after(0)
		err := refused(h.ask(messages.WriteInput{Job: "j1", Data: []byte("x")}), messages.Busy)
		want(h, "reason", err.Reason, "waiting")
		p.FillInput(false)
		h.after(0)
		want(h, "through", reply[messages.InputWritten](last).Through, messages.MaxWaiting)
	})
}

// A stop by the door that cannot wait for the record says so, beside who survives.
func TestWaitOfAStopThatIsRefused(t *testing.T) {
	stuck := messages.Survivor{PID: 77, State: "D"}
	for _, full := range []bool{false, true} {
		inHouse(t, func(h *house) {
			h.start(messages.RunCommand{Program: messages.Program{Text: "other"}, Mode: messages.ModeAsync})
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
			p.Leave(fake.Children{N: 1, Stubborn: true, Survivors: []messages.Survivor{stuck}})
			if full {
				silent(h.await(false, messages.Condition{}, "j1"))
			}
			stopped, err := host.Ask(context.Background(), h.node.Host(), messages.StopCommand{Job: "j2", Grace: -1})
			wantList(h, "survivors", stopped.Survivors, stuck)
			want(h, "refused", errors.Is(err, &messages.Error{Code: messages.ResourceExhausted}), full)
			want(h, "an error", err != nil, full)
			finished(c)
		}, plan{limits: actors.Limits{Watches: 1}})
	}
}

// Nothing goes on looking at a job for a caller of the door who has given up.
func TestWaitOfWhoGivesUpEnds(t *testing.T) {
	for _, until := range []messages.Condition{
		{}, {Kind: messages.UntilPattern, Pattern: "x"}, {Kind: messages.UntilQuiet, Quiet: time.Hour}, {Kind: messages.UntilInput}, {Kind: messages.UntilPort, Port: 1},
	} {
		inHouse(t, func(h *house) {
			_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync})
			stays := h.await(false, until, "j1")
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := h.node.Ask(ctx, messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Condition: until})
			want(h, "given up", errors.Is(err, context.DeadlineExceeded), true)
			h.after(0)
			want(h, "waits", len(h.stage.all("watch")), 1)
			silent(stays)
			p.Exit(0)
			h.after(0)
			reply[messages.WaitEnded](stays)
		})
	}
}
