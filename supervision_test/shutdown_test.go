package supervision_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// ending ends the node beside the test; the error of the call comes when it has.
func (h *house) ending(ctx context.Context, r messages.ShutdownNode) <-chan error {
	h.Helper()
	h.over, h.left = true, r.KeepJobs
	done := make(chan error, 1)
	go func() { done <- h.node.Shutdown(ctx, r) }()
	synctest.Wait()
	return done
}

// An ordered end takes nothing new in, answers what is asked of what is there,
// and ends every job as it would be stopped.
func TestShutdownInOrder(t *testing.T) {
	inHouse(t, func(h *house) {
		running, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "running"}})
		starting := h.run(messages.RunCommand{Scope: "c", Program: messages.Program{Text: "starting"}})
		queued := h.run(messages.RunCommand{Scope: "c", Program: messages.Program{Text: "queued"}})
		done := h.ending(context.Background(), messages.ShutdownNode{Reason: "enough"})
		h.wantSignals(p, "TERM")
		want(h, "queued", finished(queued).End.Outcome, messages.Cancelled)
		for _, r := range []any{
			messages.RunCommand{Scope: "a", Program: messages.Program{Text: "more"}},
			messages.OpenScope{Path: "d"},
			messages.OpenSession{Session: "s"},
			messages.CloseScope{Path: "a"},
			messages.HandOver{Job: "j1", To: "c"},
			messages.Subscribe{},
			messages.WaitJobs{Jobs: []messages.JobID{"j1"}},
		} {
			refused(h.ask(r), messages.ShuttingDown)
		}
		want(h, "jobs", len(h.listed(messages.ListJobs{Finished: true})), 3)
		want(h, "state", h.job("j1").State, messages.Stopping)
		reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}))
		h.after(time.Second)
		h.proc("starting").Begin()
		h.after(messages.DefaultGrace - time.Second)
		h.wantSignals(p, "TERM", "KILL")
		if err := <-done; err != nil {
			h.Error(err)
		}
		for _, c := range []*client{running, starting} {
			job := finished(c)
			want(h, "outcome", job.End.Outcome, messages.Cancelled)
			want(h, "by", job.End.Cause.By, messages.ByShutdown)
			want(h, "why", job.End.Cause.Reason, "enough")
		}
		want(h, "processes", len(h.engine.Ever()), 2)
		want(h, "took", h.since(), messages.DefaultGrace)
		if _, err := h.node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: "late"}}); !errors.Is(err, node.ErrClosed) {
			h.Errorf("a node that has ended ran a command: %v", err)
		}
	}, plan{fake: serial})
}

// Everything that waits is answered: waits, followers, closings that are on
// their way, calls of the library, subscribers up to the last fact.
func TestShutdownGivesEveryReply(t *testing.T) {
	for _, keep := range []bool{false, true} {
		inHouse(t, func(h *house) {
			s := h.subscribe(messages.Subscribe{}, true)
			run, _ := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "a"}})
			h.start(messages.RunCommand{Scope: "b", Program: messages.Program{Text: "b"}, Mode: messages.ModeAsync})
			called := make(chan error, 1)
			go func() {
				_, err := h.node.Run(context.Background(), messages.RunCommand{Scope: "c", Program: messages.Program{Text: "c"}})
				called <- err
			}()
			h.after(0)
			asked := []*client{
				h.ask(messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Condition: messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Hour}}),
				h.ask(messages.FollowOutput{Job: "j1"}), h.ask(messages.StopCommand{Scope: "a", Grace: time.Hour}),
				h.ask(messages.CloseSession{Scope: "a", Grace: time.Hour}), h.ask(messages.CloseScope{Path: "b", Grace: time.Hour}),
			}
			if !keep {
				h.proc("c").Begin()
			}
			if err := h.shutdown(messages.ShutdownNode{Grace: -1, KeepJobs: keep}); err != nil {
				h.Error(err)
			}
			for _, c := range asked {
				want(h, "answers to "+say(c.request), len(c.heard()), 1)
			}
			want(h, "living", len(h.engine.Live()) > 0, keep)
			wantList(h, "told", s.numbers(), through(1, h.ledger.last())...)
			err := <-called
			if keep {
				refused(run, messages.ShuttingDown)
				want(h, "the call", errors.Is(err, &messages.Error{Code: messages.ShuttingDown}), true)
			} else {
				want(h, "outcome", finished(run).End.Outcome, messages.Cancelled)
				want(h, "the call", err == nil, true)
			}
			h.engine.Close(false)
		})
	}
}

// So is who asks for the output of a job that is over as the node ends.
func TestShutdownAnswersReaders(t *testing.T) {
	for range 20 {
		inHouse(t, func(h *house) {
			h.ended(messages.RunCommand{Program: messages.Program{Text: "a"}})
			h.after(0)
			asked := []*client{
				h.send(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}), h.send(messages.FollowOutput{Job: "j1"}),
			}
			if err := h.shutdown(messages.ShutdownNode{}); err != nil {
				h.Error(err)
			}
			for _, c := range asked {
				want(h, "answers", len(c.heard()), 1)
			}
		})
	}
}

// Jobs that are left go on: they are not signalled, nobody owns them, and the
// engine has them for the next node.
func TestShutdownLeavesJobs(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "running"}, Mode: messages.ModeAsync, Timeout: time.Hour})
		starting := h.run(messages.RunCommand{Program: messages.Program{Text: "starting"}})
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			h.Error(err)
		}
		reply[messages.CommandPromoted](c)
		refused(starting, messages.ShuttingDown)
		h.wantSignals(p)
		want(h, "unowned", len(h.engine.Unowned()), 2)
		h.proc("starting").Begin()
		h.wantFacts("j1", "started promoted")
		h.after(time.Hour)
		h.wantSignals(p, "TERM") // the engine keeps the deadline
		h.engine.Close(false)
		want(h, "living", len(h.engine.Live()), 0)
	})
}

// A job that is over when a node leaves its jobs is settled first, also if the journal is slow: its
// engine would keep the end, and a keeper would run on for it. A leftover does not delay the end.
func TestShutdownSettlesEnds(t *testing.T) {
	journals(t, func(h *house) {
		_, left := h.start(messages.RunCommand{Program: messages.Program{Text: "leaves a process"}, Mode: messages.ModeAsync})
		left.Leave(fake.Children{N: 1})
		left.Exit(0)
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "ends"}, Mode: messages.ModeAsync})
		h.after(time.Minute)
		slow := make(chan struct{})
		h.ledger.hold(slow)
		p.Exit(0)
		h.after(0)
		time.AfterFunc(time.Second, func() { close(slow) })
		begin := h.since()
		if err := h.shutdown(messages.ShutdownNode{KeepJobs: true}); err != nil {
			h.Error(err)
		}
		want(h, "took", h.since()-begin, time.Second)
		want(h, "ends that the engine keeps", len(h.engine.Unsettled()), 0)
		h.engine.Close(false)
	}, plan{})
}

// An end that is cut short by its caller returns at once; what is left is the
// engine's to end. Asking again is harmless.
func TestShutdownForced(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "stubborn"}})
		h.cut = true
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := h.since()
		done := h.ending(ctx, messages.ShutdownNode{Grace: time.Hour})
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			h.Errorf("an end that was cut short: %v", err)
		}
		want(h, "took", h.since()-begin, time.Second)
		h.wantSignals(p, "TERM")
		want(h, "owned", p.Owned(), false)
		if err := h.node.Shutdown(context.Background(), messages.ShutdownNode{}); err != nil {
			h.Errorf("the end again: %v", err)
		}
		h.left = true
		h.engine.Close(false)
		h.wantSignals(p, "TERM", "KILL")
		want(h, "answers", len(c.heard()), 0)
	})
}

// Two who end the node end it once, by the shorter of their graces, and both hear that it
// has ended.
func TestShutdownTwice(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		one := h.ending(context.Background(), messages.ShutdownNode{})
		two := h.ending(context.Background(), messages.ShutdownNode{Grace: -1})
		h.wantSignals(p, "TERM", "KILL")
		p.Exit(0)
		if err := errors.Join(<-one, <-two); err != nil {
			h.Error(err)
		}
		want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
	})
}

// Who survives is named in the error; a start that never comes about holds the
// end no longer than its patience.
func TestShutdownNamesSurvivors(t *testing.T) {
	stuck := messages.Survivor{PID: 77, State: "D"}
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		p.Leave(fake.Children{N: 1, Stubborn: true, Survivors: []messages.Survivor{stuck}})
		err := h.shutdown(messages.ShutdownNode{Grace: -1})
		var named *node.SurvivorsError
		if !errors.As(err, &named) || len(named.Survivors) != 1 || named.Survivors[0] != stuck {
			h.Errorf("the end of the node: %v", err)
		}
		wantList(h, "survivors", finished(c).End.Survivors, stuck)
	})
	inHouse(t, func(h *house) {
		c := h.run(messages.RunCommand{Program: messages.Program{Text: "never begins"}})
		move := h.send(messages.CloseScope{Path: "main"})
		if err := h.shutdown(messages.ShutdownNode{Grace: -1}); err != nil {
			h.Error(err)
		}
		if h.since() > time.Minute {
			h.Errorf("the end took %s", h.since())
		}
		refused(c, messages.ShuttingDown)
		refused(move, messages.ShuttingDown)
		h.left = true
		h.engine.Close(false)
		want(h, "living", len(h.engine.Live()), 0)
	})
}

// A journal that fails as the node ends gets another try; one that stays so does
// not hold the end.
func TestShutdownWithAJournalThatFails(t *testing.T) {
	for _, mended := range []bool{true, false} {
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
			h.ledger.fail(errJournal)
			if mended {
				time.AfterFunc(7*time.Second, func() { h.ledger.fail(nil) })
			}
			done := h.ending(context.Background(), messages.ShutdownNode{Grace: time.Second})
			h.after(time.Second)
			h.wantSignals(p, "TERM", "KILL")
			want(h, "outcome", finished(c).End.Outcome, messages.Cancelled) // a client does not wait for it
			if err := <-done; err != nil {
				h.Error(err)
			}
			if h.since() > time.Minute {
				h.Errorf("the end took %s", h.since())
			}
			want(h, "living", len(h.engine.Live()), 0)
			h.left = true // the journal may not hold the end
			if mended {
				h.wantFacts("j1", "started stopping finished:cancelled retired")
			}
		})
	}
}

// A job that asked for a long time to end has it, and its caller hears how it
// ended; so has one whose time the end of the node sets.
func TestShutdownGivesAJobItsOwnGrace(t *testing.T) {
	const long = time.Hour
	for _, r := range []struct{ job, asked time.Duration }{{job: long}, {job: time.Second, asked: long}} {
		inHouse(t, func(h *house) {
			c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "stubborn"}, Grace: r.job})
			h.start(messages.RunCommand{Program: messages.Program{Text: "patient no more"}, Mode: messages.ModeAsync, Grace: -1})
			done := h.ending(context.Background(), messages.ShutdownNode{Grace: r.asked})
			h.after(long - time.Second)
			h.wantSignals(p, "TERM")
			h.after(time.Second)
			h.wantSignals(p, "TERM", "KILL")
			if err := <-done; err != nil {
				h.Error(err)
			}
			want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
			want(h, "took", h.since(), long)
		})
	}
}

// A grace without an end in sight is as long as it says.
func TestShutdownGivesAllTheTimeThereIs(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Mode: messages.ModeAsync})
		done := h.ending(context.Background(), messages.ShutdownNode{Grace: math.MaxInt64})
		h.after(24 * time.Hour)
		h.wantSignals(p, "TERM")
		p.Exit(0)
		if err := <-done; err != nil {
			h.Error(err)
		}
	})
}

// A job that has not ended when its time is over, and some more, is still waited
// for: it has its outcome, and who waits for it hears of it.
func TestShutdownWaitsForWhatIsLate(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "late"}, Grace: time.Minute})
		p.HoldDrain(true)
		done := h.ending(context.Background(), messages.ShutdownNode{})
		h.after(time.Minute + 30*time.Second)
		silent(c)
		p.HoldDrain(false)
		want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
		if err := <-done; err != nil {
			h.Error(err)
		}
		h.wantFacts("j1", "started stopping finished:cancelled retired")
	})
}

// A node that is told once more to end, by nobody who waits, answers all who do.
func TestShutdownAgainByNobody(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		done := h.ending(context.Background(), messages.ShutdownNode{})
		h.tell(messages.ShutdownNode{})
		again := h.ask(messages.ShutdownNode{})
		p.Exit(0)
		if err := <-done; err != nil {
			h.Error(err)
		}
		reply[messages.ShutdownDone](again)
		want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
	})
}

// Code that was given to the node and hangs does not hold its end beyond its
// context. Who ends the node meanwhile returns when it has ended, and no sooner,
// or with a context of its own.
func TestShutdownWithAJournalThatHangs(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		release := make(chan struct{})
		h.ledger.hold(release)
		h.cut, h.left = true, true
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		one := h.ending(ctx, messages.ShutdownNode{Grace: -1})
		h.after(time.Second + 500*time.Millisecond)
		two := h.ending(context.Background(), messages.ShutdownNode{})
		now, cancel := context.WithCancel(context.Background())
		cancel()
		want(h, "an ended context", h.node.Shutdown(now, messages.ShutdownNode{}), context.Canceled)
		want(h, "who come second wait", len(two), 0)
		want(h, "the first waits", len(one), 0)
		if err := <-one; !errors.Is(err, context.DeadlineExceeded) {
			h.Errorf("the end of a node that hangs: %v", err)
		}
		want(h, "the second", <-two, nil)
		want(h, "took", h.since(), 2*time.Second)
		close(release)
		h.left = true
		h.after(time.Second)
		h.engine.Close(false)
	}, plan{slow: true})
}

// It does not hold the end for ever either, where nobody has set a bound.
func TestShutdownWithoutABoundWithAJournalThatHangs(t *testing.T) {
	inHouse(t, func(h *house) {
		h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		release := make(chan struct{})
		h.ledger.hold(release)
		h.cut, h.left = true, true
		err := <-h.ending(context.Background(), messages.ShutdownNode{Grace: -1})
		if !errors.Is(err, &messages.Error{Code: messages.Internal, Reason: "hangs"}) {
			h.Errorf("the end of a node that hangs: %v", err)
		}
		if h.since() > 30*time.Second {
			h.Errorf("took %s", h.since())
		}
		want(h, "the end of one that has ended", h.node.Shutdown(context.Background(), messages.ShutdownNode{}), nil)
		close(release)
		h.left = true
		h.after(time.Second)
		h.engine.Close(false)
	}, plan{slow: true})
}

// Whoever waits for a stop when the node ends without its jobs is told that it ends, not
// that something has failed.
func TestShutdownAnswersWhoWaitsForAStop(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "stubborn"}, Mode: messages.ModeAsync})
		stopped := make(chan any, 1)
		go func() {
			reply, err := h.node.Ask(context.Background(), messages.StopCommand{Job: "j1", Grace: time.Minute})
			if err != nil {
				reply = err
			}
			stopped <- reply
		}()
		synctest.Wait()
		h.wantSignals(p, "TERM")
		if err := <-h.ending(context.Background(), messages.ShutdownNode{KeepJobs: true}); err != nil {
			h.Error(err)
		}
		switch got := (<-stopped).(type) {
		case messages.CommandRejected: // as it ends
			want(h, "the answer", got.Err.Code, messages.ShuttingDown)
		case error: // as it has ended
			want(h, "the answer", errors.Is(got, node.ErrClosed), true)
		default:
			h.Errorf("the answer is %T %v", got, got)
		}
	})
}
