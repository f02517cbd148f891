package supervision_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A command whose actors fail again and again is not given another: the job
// runs on, is marked, can only be stopped, and ends as any other.
func TestFaultCrashTooOften(t *testing.T) {
	for _, c := range []struct {
		name    string
		end     func(h *house, p *fake.Process)
		outcome messages.Outcome
		facts   string
	}{
		{"it exits", func(_ *house, p *fake.Process) { p.Exit(3) }, messages.Exited, "started promoted changed finished:exited retired"},
		{"it is stopped", func(h *house, p *fake.Process) {
			stop := h.ask(messages.StopCommand{Job: "j1", Grace: time.Second})
			h.wantSignals(p, "TERM")
			h.after(time.Second)
			reply[messages.CommandStopped](stop)
		}, messages.Cancelled, "started promoted changed stopping finished:cancelled retired"},
		{"its deadline comes", func(h *house, p *fake.Process) {
			h.after(time.Hour)
			h.wantSignals(p, "TERM") // the engine insures it
			p.ExitSignal("TERM")
		}, messages.TimedOut, "started promoted changed finished:timed_out retired"},
		{"it leaves children", func(h *house, p *fake.Process) {
			p.Leave(fake.Children{N: 1, Output: true})
			p.Exit(3)
			h.after(time.Minute)
			p.EndTree()
		}, messages.Exited, "started promoted changed finished:exited retired"},
		{"its scope is closed", func(h *house, p *fake.Process) {
			reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a", Grace: -1}))
		}, messages.Cancelled, "started promoted changed stopping finished:cancelled retired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				client, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync, Timeout: time.Hour, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
				for range 4 {
					h.crash("command")
					h.after(time.Second)
				}
				want(h, "a command", h.stage.find("command") == nil, true)
				h.wantSignals(p)
				job := h.job("j1")
				want(h, "flagged", job.HasFlag(messages.FlagUnsupervised), true)
				want(h, "state", job.State, messages.Running)
				refused(h.ask(messages.WriteInput{Job: "j1", Data: []byte("x")}), messages.Refused)
				refused(h.ask(messages.SignalCommand{Job: "j1", Signal: "INT"}), messages.Refused)
				c.end(h, p)
				h.after(0)
				reply[messages.CommandPromoted](client)
				job = h.job("j1")
				want(h, "outcome", job.End.Outcome, c.outcome)
				want(h, "flagged", job.HasFlag(messages.FlagUnsupervised), true)
				h.wantFacts("j1", c.facts)
				next, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "next"}})
				p.Exit(0)
				want(h, "the next", finished(next).End.Outcome, messages.Exited)
			})
		})
	}
}

// Crashes that are far apart are none too many.
func TestFaultCrashNowAndThen(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
		for range 12 {
			h.crash("command")
			h.after(4 * time.Second)
		}
		want(h, "flags", len(h.job("j1").Flags), 0)
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		h.wantFacts("j1", "started finished:exited retired")
	})
}

// A foreground job without supervision still answers its client when it ends.
func TestFaultCrashTooOftenInTheForeground(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, PromoteAfter: time.Hour})
		for range 4 {
			h.crash("command")
		}
		silent(c)
		p.Exit(3)
		want(h, "status", finished(c).End.Shell(), 3)
	})
}

// A job that has not started when its actors fail too often never starts: it is
// ended, since nobody could look after it.
func TestFaultCrashTooOftenInTheQueue(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}, Mode: messages.ModeAsync})
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}})
		for range 4 {
			h.crash("command") // the youngest
		}
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.Cancelled)
		want(h, "by", job.End.Cause.By, messages.BySystem)
		want(h, "processes", len(h.engine.Ever()), 1)
		p.Exit(0)
		h.after(0)
		h.wantFacts("j1", "started promoted finished:exited retired")
	}, plan{fake: serial})
}

// While a job is starting its actors may fail too often, too: it goes on, and
// is heard of when it begins.
func TestFaultCrashTooOftenWhileStarting(t *testing.T) {
	for _, mode := range []messages.Mode{messages.ModeSync, messages.ModeAsync} {
		inHouse(t, func(h *house) {
			c := h.run(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: mode})
			for range 4 {
				h.crash("command")
			}
			want(h, "processes", len(h.engine.Ever()), 1)
			p := h.proc("make")
			p.Begin()
			h.after(time.Second)
			if mode == messages.ModeAsync {
				reply[messages.CommandPromoted](c)
			}
			p.Exit(3)
			h.after(0)
			want(h, "status", h.job("j1").End.Shell(), 3)
			want(h, "replies", len(c.heard()), 1)
		})
	}
}

// Lost is said only of a job that the engine no longer knows.
func TestFaultCrashOfAForgottenJob(t *testing.T) {
	inHouse(t, func(h *house) {
		c, _ := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
		stop := h.ask(messages.StopCommand{Job: "j1", Grace: time.Hour})
		h.engine.Forget(h.job("j1").UID)
		h.after(0)
		silent(c)
		h.crash("command")
		job := finished(c)
		want(h, "outcome", job.End.Outcome, messages.Lost)
		want(h, "exit code", job.ExitCode(), 125)
		want(h, "error", job.End.Err.Code, messages.NotFound)
		want(h, "answers to the stop", len(stop.heard()), 1)
		h.wantFacts("j1", "started stopping finished:lost retired")
		next, p := h.start(messages.RunCommand{Program: messages.Program{Text: "next"}})
		p.Exit(0)
		want(h, "the next", finished(next).End.Outcome, messages.Exited)
	})
}

// So it is when the session or the scope has to be made anew.
func TestFaultCrashOfWhatHeldAForgottenJob(t *testing.T) {
	for _, kind := range []string{"session", "scope"} {
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
			d, q := h.start(messages.RunCommand{Program: messages.Program{Text: "test"}})
			h.engine.Forget(p.ID)
			h.crash(kind)
			want(h, "outcome", finished(c).End.Outcome, messages.Lost)
			silent(d)
			q.Exit(0)
			want(h, "outcome", finished(d).End.Outcome, messages.Exited)
		})
	}
}

// A request in the hands of an actor that fails is refused, not lost.
func TestFaultCrashRefusesWhatItHeld(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "cat"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		p.FillInput(true)
		input := h.ask(messages.WriteInput{Job: "j1", Data: []byte("x")})
		silent(input)
		stop := h.ask(messages.StopCommand{Job: "j1", Grace: time.Hour})
		h.crash("command")
		refused(input, messages.Internal)
		refused(stop, messages.Internal)
		h.stage.fail(fault{point: point{"command", "messages.SignalCommand"}, nth: 1})
		refused(h.ask(messages.SignalCommand{Job: "j1", Signal: "INT"}), messages.Internal)
		h.stage.fail(fault{point: point{"session", "routed:messages.ReadOutput"}, nth: 1})
		refused(h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}), messages.Internal)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j1", Grace: -1}))
		h.wantFacts("j1", "started promoted stopping finished:cancelled retired")
	})
}

// Who waits for the end of a job that has no actor of its own is refused, too, when that
// goes elsewhere, or its session fails.
func TestFaultCrashRefusesWhoWaitsForAJobWithoutAnActor(t *testing.T) {
	for name, why := range map[string]struct {
		happens func(h *house)
		code    messages.Code
	}{
		"its session fails": {func(h *house) { h.crash("session") }, messages.Internal},
		"it is handed over": {func(h *house) { reply[messages.Acknowledged](h.ask(messages.HandOver{Job: "j1", To: "b"})) }, messages.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
				for range 4 {
					h.crash("command")
				}
				stop := h.ask(messages.StopCommand{Job: "j1", Grace: time.Hour})
				silent(stop)
				why.happens(h)
				refused(stop, why.code)
				p.Exit(0)
			})
		})
	}
}

// A sink that fails too often is given up: reads say so, the job does not care.
func TestFaultCrashOfASinkTooOften(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
		p.Write(messages.Merged, "hello")
		read := messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}
		for range 3 {
			want(h, "text", reply[messages.OutputPage](h.ask(read)).Text, "hello")
			h.crash("sink")
		}
		want(h, "text", reply[messages.OutputPage](h.ask(read)).Text, "hello")
		h.crash("sink")
		refused(h.ask(read), messages.OutputUnavailable)
		p.Exit(0)
		finished(c)
		want(h, "text", reply[messages.OutputPage](h.ask(read)).Text, "hello") // the archive's reader is another
	})
}

// A recorder that fails too often ends new work, and says why; what runs is
// ended in order.
func TestFaultCrashOfTheRecorderTooOften(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
		for range 6 {
			h.crash("recorder")
		}
		err := refused(h.run(messages.RunCommand{Program: messages.Program{Text: "more"}}), messages.ResourceExhausted)
		want(h, "reason", err.Reason, "journal")
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		h.over = true
		if err := h.node.Shutdown(context.Background(), messages.ShutdownNode{}); err != nil {
			h.Error(err)
		}
		h.left = true // the journal cannot tell of the ends: nobody writes it
		want(h, "living", len(h.engine.Live()), 0)
	}, plan{slow: true})
}

// A channel that fails too often ends, and its subscriber hears that it must
// come again.
func TestFaultCrashOfAChannelTooOften(t *testing.T) {
	inHouse(t, func(h *house) {
		s := h.subscribe(messages.Subscribe{Channel: "c"}, true)
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
		for range 4 {
			h.crash("channel")
		}
		all := s.said.all()
		if _, gone := all[len(all)-1].(messages.Unsubscribed); !gone {
			h.Errorf("the subscriber's last word was %s", brief(all[len(all)-1]))
		}
		p.Exit(0)
		h.after(0)
		again := h.subscribe(messages.Subscribe{Channel: "c", After: s.last()}, true)
		wantList(h, "told", append(s.numbers(), again.numbers()...), through(1, h.ledger.last())...)
	})
}

// The failure of the supervisor is the failure of the node: whoever waits hears
// it, whoever asks later hears it, and nothing hangs.
func TestFaultCrashOfTheSupervisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, plan{})
		for _, text := range []string{"a", "b", "c"} {
			h.start(messages.RunCommand{Scope: messages.ScopePath(text), Program: messages.Program{Text: text}})
			h.run(messages.RunCommand{Scope: messages.ScopePath(text), Program: messages.Program{Text: text + " starting"}})
		}
		sub, err := h.node.Subscribe(context.Background(), messages.Subscribe{Now: true})
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 3)
		go func() {
			_, err := h.node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: "d"}})
			errs <- err
		}()
		go func() {
			_, err := h.node.Ask(context.Background(), messages.WaitJobs{Jobs: []messages.JobID{"j1"}})
			errs <- err
		}()
		synctest.Wait()
		h.stage.pardonDead(func(dead *actor.DeadLetterEvent) bool {
			return dead.PID.Id == "supervisor" // everybody's last words have nobody to hear them
		})
		h.crash("supervisor")
		<-h.node.Failed()
		for range 2 {
			if err := <-errs; err == nil || errors.Is(err, node.ErrClosed) {
				t.Errorf("the node failed and somebody heard %v", err)
			}
		}
		for range 16 { // what the session has heard before, and then the error
			if _, err = sub.Next(context.Background()); err != nil {
				break
			}
		}
		if err == nil || errors.Is(err, node.ErrClosed) {
			t.Errorf("the node failed and a subscriber heard %v", err)
		}
		if _, err := h.node.Ask(context.Background(), messages.ListJobs{}); err == nil || errors.Is(err, node.ErrClosed) {
			t.Errorf("a failed node answered with %v", err)
		}
		if _, err := h.node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: "e"}}); err == nil || errors.Is(err, node.ErrClosed) {
			t.Errorf("a failed node ran a command with %v", err)
		}
		if err := h.node.Err(); err == nil || errors.Is(err, node.ErrClosed) {
			t.Errorf("a failed node says %v", err)
		}
		if err := h.node.Shutdown(context.Background(), messages.ShutdownNode{}); err == nil {
			t.Error("the end of a failed node is told as a success")
		}
		_ = sub.Close()
		h.after(time.Minute)
		if n := len(h.engine.Unowned()); n != 7 {
			t.Errorf("%d jobs were let go, want all of them", n)
		}
		h.engine.Close(false)
		h.after(aYear)
		for _, c := range h.clients {
			h.system().ProcessRegistry.Remove(c.pid)
		}
		h.checkSystem()
	})
}
