package supervision_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/messages"
)

// recordPatience is how long an end waits for a journal that takes no facts.
const recordPatience = 6 * time.Second

// loseRecorder makes the writer of the journal fail until it is given up.
func (h *house) loseRecorder() {
	h.Helper()
	for range 6 {
		h.crash("recorder")
	}
	want(h, "recorders", len(h.stage.all("recorder")), 0)
}

// endUnrecorded ends the node, if it has not ended: the journal does not know how
// its jobs ended, and the engine has the ends of those that ran. The next node, whose
// journal is well, says of them what their clients were told.
func (h *house) endUnrecorded() {
	h.Helper()
	if err := h.shutdown(messages.ShutdownNode{}); err != nil {
		h.Error(err)
	}
	told := h.endsTold()
	h.bury()
	h.nextTells(told)
}

// endsTold are the ends of jobs that ran, as their clients were told.
func (h *house) endsTold() map[messages.UID]messages.Record {
	told := map[messages.UID]messages.Record{}
	for _, c := range h.clients {
		for _, m := range c.heard() {
			if end, is := m.(messages.CommandFinished); is && !end.Job.Started.IsZero() {
				told[end.Job.UID] = end.Job
			}
		}
	}
	return told
}

// nextTells opens a node behind one that is over, of which clients were told ends that
// its journal does not have.
func (h *house) nextTells(told map[messages.UID]messages.Record) {
	h.Helper()
	want(h, "living", len(h.engine.Live()), 0)
	want(h, "ends that are with the engine", len(h.engine.Unsettled()), len(told))
	h.ledger.fail(nil)
	h.begin()
	recorded := 0
	for _, f := range h.ledger.all() {
		end, is := f.Fact.(messages.CommandFinished)
		was, ran := told[end.Job.UID]
		if !is || !ran {
			continue
		}
		recorded++
		if job := end.Job; job.End.Outcome != was.End.Outcome || job.End.Shell() != was.End.Shell() || !job.End.At.Equal(was.End.At) {
			h.Errorf("%s ended as %s %d, and as %s %d for the next node", was.ID, was.End.Outcome, was.End.Shell(), job.End.Outcome, job.End.Shell())
		}
	}
	want(h, "recorded by the next node", recorded, len(told))
	want(h, "unsettled", len(h.engine.Unsettled()), 0)
}

// unwritten are the ways in which a journal takes no facts, and how long an end
// then waits for it.
var unwritten = []struct {
	name  string
	slow  bool
	begin func(h *house)
	waits time.Duration
}{
	{"nobody writes it", true, (*house).loseRecorder, 0},
	{"it is damaged", true, damageJournal, 0},
	{"it fails", true, failJournal, recordPatience},
	{"it fails, and never waits", false, failJournal, recordPatience},
}

func failJournal(h *house) { h.ledger.fail(errJournal) }

// damageJournal has it say that no other try helps: nobody waits for that.
func damageJournal(h *house) {
	h.ledger.fail(&messages.Error{Code: messages.Refused, Reason: "journal_damaged", Message: "the journal is damaged", Hint: "move it away"})
}

// A session and a scope can be closed while their ends cannot be recorded: what
// is there may end, and its end stays with the engine.
func TestFaultClosingsWithoutAJournal(t *testing.T) {
	for _, j := range unwritten {
		t.Run(j.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				over, p := h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "over before"}})
				first, q := h.start(messages.RunCommand{Scope: "a", Session: "s", Program: messages.Program{Text: "first"}})
				second, r := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "second"}})
				j.begin(h)
				p.Exit(0)
				finished(over)
				session := h.ask(messages.CloseSession{Scope: "a", Session: "s", Grace: time.Hour})
				h.wantSignals(q, "TERM")
				h.after(time.Minute)
				silent(session)
				q.Exit(0)
				finished(first)
				h.after(j.waits)
				reply[messages.SessionClosed](session)

				scope := h.ask(messages.CloseScope{Path: "a", Grace: time.Hour})
				h.wantSignals(r, "TERM")
				r.Exit(0)
				finished(second)
				h.after(j.waits)
				reply[messages.ScopeClosed](scope)
				want(h, "commands", len(h.stage.all("command")), 0)
				want(h, "text", reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}})).Text, "")
				h.endUnrecorded()
			}, plan{slow: j.slow})
		})
	}
}

// What was closed meanwhile is recorded when the journal is well again.
func TestFaultClosingsAreRecordedLater(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
		h.ledger.fail(errJournal)
		p.Exit(3)
		finished(c)
		h.after(time.Minute)
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"})) // it has waited long enough
		want(h, "ends with the engine", len(h.engine.Unsettled()), 1)
		h.ledger.fail(nil)
		h.after(time.Minute)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "told last", word(h.ledger.all()[h.ledger.last()-1].Fact), "scope-a")
		want(h, "and behind it", len(h.engine.Unsettled()), 0)
	})
}

// An end that was told while the journal failed is the same for the node that begins
// where this one died: whether its scope was closed meanwhile, its actor had failed, or
// it was forgotten.
func TestFaultUnrecordedEndsOutliveTheNode(t *testing.T) {
	for _, c := range []struct {
		name   string
		meddle func(h *house)
		limits actors.Limits
	}{
		{name: "in a scope that was closed"},
		{name: "without an actor", meddle: func(h *house) {
			for range 4 {
				h.crash("command")
			}
		}},
		{name: "forgotten", limits: actors.Limits{LogBytes: 1}},
	} {
		for _, j := range unwritten {
			t.Run(c.name+", "+j.name, func(t *testing.T) {
				inHouse(t, func(h *house) {
					over, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
					p.Write(messages.Merged, "some text")
					if c.meddle != nil {
						c.meddle(h)
					}
					j.begin(h)
					p.Exit(3)
					finished(over)
					h.after(time.Minute)
					reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"}))
					h.after(time.Minute)
					told := h.endsTold()
					h.die()
					h.nextTells(told)
				}, plan{slow: j.slow, limits: c.limits})
			})
		}
	}
}

// The scope in which a job ended may fail, too, while its end waits for the journal.
func TestFaultUnrecordedEndsAreSettledThoughTheirPlaceFailed(t *testing.T) {
	for _, kind := range []string{"session", "scope"} {
		journals(t, func(h *house) {
			over, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
			h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "goes on"}, Mode: messages.ModeAsync})
			h.ledger.fail(errJournal)
			p.Exit(3)
			finished(over)
			h.crash(kind)
			h.after(time.Minute)
			want(h, "unsettled", len(h.engine.Unsettled()), 1)
			h.ledger.fail(nil)
			h.after(time.Minute)
			h.wantFacts("j1", "started finished:exited retired")
			want(h, "unsettled", len(h.engine.Unsettled()), 0)
		}, plan{})
	}
}

// The end of the node does not wait out the grace of jobs that have ended.
func TestFaultShutdownWithoutAJournal(t *testing.T) {
	for _, j := range unwritten {
		t.Run(j.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}, Grace: time.Hour})
				j.begin(h)
				began := h.since()
				done := h.ending(context.Background(), messages.ShutdownNode{})
				h.wantSignals(p, "TERM")
				p.Exit(0)
				want(h, "outcome", finished(c).End.Outcome, messages.Cancelled)
				if err := <-done; err != nil {
					h.Error(err)
				}
				if took := h.since() - began; took > 2*j.waits {
					h.Errorf("the end took %s", took)
				}
				h.endUnrecorded()
			}, plan{slow: j.slow})
		})
	}
}

// A job whose turn comes back to a node without a writer is ended, too.
func TestFaultATurnComesBackWithoutARecorder(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
		release := h.hold("session", "actors.placement")
		second := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}})
		h.loseRecorder()
		silent(second)
		release()
		want(h, "second", finished(second).End.Cause.By, messages.BySystem)
		p.Exit(0)
		finished(first)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.endUnrecorded()
	}, plan{fake: serial, slow: true})
}

// Nothing starts that cannot be recorded: a queued job gets its slot when the journal can be
// written again. A stop of it is answered then, too: the next node starts it otherwise.
func TestFaultNothingStartsWithoutAJournal(t *testing.T) {
	inHouse(t, func(h *house) {
		before, p := h.start(messages.RunCommand{Program: messages.Program{Text: "before"}})
		second, third, fourth := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}}), h.run(messages.RunCommand{Program: messages.Program{Text: "third"}}), h.run(messages.RunCommand{Program: messages.Program{Text: "fourth"}})
		h.ledger.fail(errJournal)
		p.Exit(0)
		finished(before)
		h.after(time.Minute)
		want(h, "processes", len(h.engine.Ever()), 1)
		waits := h.ask(messages.WaitJobs{Jobs: []messages.JobID{"j3"}})
		stops := []*client{h.ask(messages.StopCommand{Job: "j3"}), h.ask(messages.StopCommand{Job: "j3"})}
		h.after(time.Minute)
		for _, c := range []*client{second, third, waits, stops[0], stops[1]} {
			silent(c) // until the end of j3 is recorded, the next node would start it
		}

		h.ledger.fail(nil)
		h.after(time.Minute)
		want(h, "third", finished(third).End.Outcome, messages.Cancelled)
		for _, c := range stops {
			reply[messages.CommandStopped](c)
		}
		reply[messages.WaitEnded](waits)
		for _, c := range []*client{second, fourth} {
			q := h.proc(c.request.(messages.RunCommand).Text)
			q.Begin()
			q.Exit(3)
			h.after(0)
			want(h, "status", finished(c).End.Shell(), 3)
		}
		want(h, "processes", len(h.engine.Ever()), 3)
	}, plan{fake: serial})
}

// A subscriber of a journal that is never read again gets an error that says what to do. One
// that has all that was recorded knows the whole past.
func TestFaultSubscribersWithoutAJournal(t *testing.T) {
	for _, j := range unwritten[:2] {
		t.Run(j.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "make"}})
				j.begin(h)
				p.Exit(0)
				finished(c)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				s, err := h.node.Subscribe(ctx, messages.Subscribe{})
				if err != nil {
					h.Fatal(err)
				}
				_, err = s.Next(ctx)
				var coded *messages.Error
				if !errors.As(err, &coded) || !strings.HasPrefix(coded.Message, "cannot read the journal: ") || coded.Hint == "" {
					h.Errorf("got %v, want that the journal cannot be read", err)
				}
				h.after(0)
				want(h, "channels", len(h.stage.all("channel")), 0)
				if err := s.Close(); err != nil {
					h.Error(err)
				}
				if s, err = h.node.Subscribe(ctx, messages.Subscribe{After: h.ledger.last()}); err != nil {
					h.Fatal(err)
				}
				want(h, "newest", s.Newest(), h.ledger.last())
				if err := s.Close(); err != nil {
					h.Error(err)
				}
				h.endUnrecorded()
			}, plan{slow: true})
		})
	}
}

// Who waits for a turn is ended if nobody writes the journal any more. A damage is
// found when something is written.
func TestFaultNothingStartsWithoutARecorder(t *testing.T) {
	for _, j := range unwritten[:2] {
		t.Run(j.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				first, p := h.start(messages.RunCommand{Program: messages.Program{Text: "first"}})
				second := h.run(messages.RunCommand{Program: messages.Program{Text: "second"}})
				j.begin(h)
				h.ask(messages.OpenScope{Path: "other"})
				silent(first)
				job := finished(second)
				want(h, "second", job.End.Outcome, messages.Cancelled)
				want(h, "by", job.End.Cause.By, messages.BySystem)
				p.Exit(3)
				want(h, "first", finished(first).End.Shell(), 3)
				want(h, "processes", len(h.engine.Ever()), 1)
				h.endUnrecorded()
			}, plan{fake: serial, slow: true})
		})
	}
}
