package supervision_test

import (
	"context"
	"testing"
	"time"

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
// its jobs ended, and the engine has nothing left of them.
func (h *house) endUnrecorded() {
	h.Helper()
	if err := h.shutdown(messages.ShutDown{}); err != nil {
		h.Error(err)
	}
	want(h, "unsettled", len(h.engine.Unsettled()), 0)
	want(h, "living", len(h.engine.Live()), 0)
	h.left = true
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
	{"it fails", true, failJournal, recordPatience},
	{"it fails, and never waits", false, failJournal, recordPatience},
}

func failJournal(h *house) { h.ledger.fail(errJournal) }

// A session and a scope can be closed while their ends cannot be recorded: what
// is there may end, and leaves nothing with the engine.
func TestFaultClosingsWithoutAJournal(t *testing.T) {
	for _, j := range unwritten {
		t.Run(j.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				over, p := h.start(messages.RunCommand{Scope: "a", Session: "s", Text: "over before"})
				first, q := h.start(messages.RunCommand{Scope: "a", Session: "s", Text: "first"})
				second, r := h.start(messages.RunCommand{Scope: "a/b", Text: "second"})
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
				want(h, "settled", len(h.engine.Unsettled()), 0)
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
		c, p := h.start(messages.RunCommand{Scope: "a", Text: "make"})
		h.ledger.fail(errJournal)
		p.Exit(3)
		finished(c)
		h.after(time.Minute)
		reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"})) // it has waited long enough
		h.ledger.fail(nil)
		h.after(time.Minute)
		h.wantFacts("j1", "started finished:exited retired")
		want(h, "told last", word(h.ledger.all()[h.ledger.last()-1].Fact), "scope-a")
	})
}

// The end of the node does not wait out the grace of jobs that have ended.
func TestFaultShutdownWithoutAJournal(t *testing.T) {
	for _, j := range unwritten {
		t.Run(j.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				c, p := h.start(messages.RunCommand{Text: "make", Grace: time.Hour})
				j.begin(h)
				began := h.since()
				done := h.ending(context.Background(), messages.ShutDown{})
				h.wantSignals(p, "TERM")
				p.Exit(0)
				want(h, "outcome", finished(c).Outcome, messages.Cancelled)
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
		first, p := h.start(messages.RunCommand{Text: "first"})
		release := h.hold("session", "actors.place")
		second := h.run(messages.RunCommand{Text: "second"})
		h.loseRecorder()
		silent(second)
		release()
		want(h, "second", finished(second).Cause.By, messages.BySystem)
		p.Exit(0)
		finished(first)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.endUnrecorded()
	}, plan{fake: serial, slow: true})
}

// Nothing starts that cannot be recorded: who waits for a turn gets it when the
// journal is well again, or is stopped meanwhile.
func TestFaultNothingStartsWithoutAJournal(t *testing.T) {
	inHouse(t, func(h *house) {
		before, p := h.start(messages.RunCommand{Text: "before"})
		second, third, fourth := h.run(messages.RunCommand{Text: "second"}), h.run(messages.RunCommand{Text: "third"}), h.run(messages.RunCommand{Text: "fourth"})
		h.ledger.fail(errJournal)
		p.Exit(0)
		finished(before)
		h.after(time.Minute)
		want(h, "processes", len(h.engine.Ever()), 1)
		reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j3"}))
		want(h, "third", finished(third).Outcome, messages.Cancelled)
		silent(second)

		h.ledger.fail(nil)
		h.after(time.Minute)
		for _, c := range []*client{second, fourth} {
			q := h.proc(c.request.(messages.RunCommand).Text)
			q.Begin()
			q.Exit(3)
			h.after(0)
			want(h, "status", finished(c).Shell, 3)
		}
		want(h, "processes", len(h.engine.Ever()), 3)
	}, plan{fake: serial})
}

// Who waits for a turn is ended if nobody writes the journal any more.
func TestFaultNothingStartsWithoutARecorder(t *testing.T) {
	inHouse(t, func(h *house) {
		first, p := h.start(messages.RunCommand{Text: "first"})
		second := h.run(messages.RunCommand{Text: "second"})
		h.loseRecorder()
		silent(first)
		job := finished(second)
		want(h, "second", job.Outcome, messages.Cancelled)
		want(h, "by", job.Cause.By, messages.BySystem)
		p.Exit(3)
		want(h, "first", finished(first).Shell, 3)
		want(h, "processes", len(h.engine.Ever()), 1)
		h.endUnrecorded()
	}, plan{fake: serial, slow: true})
}
