package supervision_test

import (
	"testing"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// waiting returns a run in the background that waits for something.
func waiting(text string, w messages.StartWaits) messages.RunCommand {
	return messages.RunCommand{Program: messages.Program{Text: text}, Mode: messages.ModeAsync, StartWaits: w}
}

func withLock(text, name string) messages.RunCommand {
	return waiting(text, messages.StartWaits{Locks: []messages.Lock{{Name: name}}})
}

// wantWaits checks what a job waits for: the jobs that it names.
func (h *house) wantWaits(id messages.JobID, jobs ...messages.JobID) {
	h.Helper()
	var got []messages.JobID
	for _, w := range h.job(id).WaitsFor {
		got = append(got, w.Jobs...)
	}
	wantList(h, "waits for", got, jobs...)
}

// notStarted checks that no process was started for a command.
func (h *house) notStarted(text string) {
	h.Helper()
	if h.engine.Find(text) != nil {
		h.Errorf("%q was started", text)
	}
}

// begun begins the process of a job that has waited.
func (h *house) begun(text string) {
	h.Helper()
	if !h.proc(text).Begin() {
		h.Errorf("%q has begun before", text)
	}
	h.after(0)
}

// A lock has one holder. The next job gets it when that one ends, however it ends, also if the
// node was replaced meanwhile, and a job that waits can be stopped.
func TestFaultLocksOverARestart(t *testing.T) {
	for _, restart := range restarts {
		journals(t, func(h *house) {
			_, p := h.start(withLock("holder", "db"))
			for _, text := range []string{"second", "stopped", "third"} {
				h.run(withLock(text, "db"))
			}
			h.wantWaits("j4", "j1", "j2", "j3")
			restart(h)
			h.wantWaits("j2", "j1")
			h.wantWaits("j4", "j1", "j2", "j3")
			reply[messages.CommandStopped](h.ask(messages.StopCommand{Job: "j3"}))
			want(h, "stopped", h.job("j3").End.Outcome, messages.Cancelled)
			h.notStarted("second")
			p.ExitSignal("KILL")
			h.after(0)
			h.begun("second")
			h.notStarted("third")
			restart(h)
			h.notStarted("third")
			h.proc("second").Exit(3)
			h.after(0)
			h.begun("third")
			h.proc("third").Exit(0)
			h.after(0)
			want(h, "third", h.job("j4").End.Outcome, messages.Exited)
		}, plan{fake: sideBySide})
	}
}

// A job starts after others have ended as it asked; one that never can ends with the reason, also
// if the others ended as no node was there.
func TestFaultJobsAfterOthersOverARestart(t *testing.T) {
	for _, restart := range restarts {
		journals(t, func(h *house) {
			_, p := h.start(waiting("first", messages.StartWaits{}))
			ends := map[messages.AfterEnd]string{messages.AfterOK: "ok", messages.AfterFail: "fail", messages.AfterAny: "any"}
			for _, on := range []messages.AfterEnd{messages.AfterOK, messages.AfterFail, messages.AfterAny} {
				h.run(waiting(ends[on], messages.StartWaits{After: []messages.After{{Job: "j1", On: on}}}))
			}
			h.wantWaits("j2", "j1")
			restart(h)
			h.wantWaits("j2", "j1")
			p.Exit(1)
			h.after(0)
			h.notStarted("ok")
			want(h, "ok", h.job("j2").End.Outcome, messages.FailedToStart)
			want(h, "why", h.job("j2").End.Err.Message, "it was to start if job j1 succeeded, but that exited 1")
			for _, text := range []string{"fail", "any"} {
				h.begun(text)
				h.proc(text).Exit(0)
			}
			h.after(0)
			_, late := h.start(waiting("late", messages.StartWaits{After: []messages.After{{Job: "j4"}}}))
			late.Exit(0)
			never := h.run(waiting("never", messages.StartWaits{After: []messages.After{{Job: "j1"}}}))
			_ = never
			want(h, "never", h.job("j6").End.Outcome, messages.FailedToStart)
			refused(h.run(waiting("unknown", messages.StartWaits{After: []messages.After{{Job: "j99"}}})), messages.NotFound)
		}, plan{fake: sideBySide})
	}
}

// A queue starts as many jobs at a time as it has places, the highest priority first.
func TestQueuesHavePlaces(t *testing.T) {
	journals(t, func(h *house) {
		queued := func(text string, priority int) messages.RunCommand {
			return waiting(text, messages.StartWaits{Queue: "pair", Priority: priority})
		}
		_, p := h.start(queued("one", 0))
		h.start(queued("two", 0))
		h.run(queued("low", -1))
		h.run(queued("high", 1))
		h.notStarted("high")
		p.Exit(0)
		h.after(0)
		h.begun("high")
		h.notStarted("low")
		refused(h.run(waiting("none", messages.StartWaits{Queue: "none"})), messages.InvalidParams)
		for _, text := range []string{"two", "high"} {
			h.proc(text).Exit(0)
			h.after(0)
		}
		h.begun("low")
		h.proc("low").Exit(0)
	}, plan{fake: sideBySide})
}

// A job that the node waits for must not wait for it: that cycle is refused, and nothing starts.
func TestBadInputCyclesOfWaits(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(withLock("outer", "db"))
		inner := withLock("inner", "db")
		inner.CalledBy = "j1"
		refused(h.run(inner), messages.Conflict)
		inner.StartWaits = messages.StartWaits{After: []messages.After{{Job: "j1", On: messages.AfterAny}}}
		refused(h.run(inner), messages.Conflict)
		h.run(withLock("next", "db"))
		inner.StartWaits = messages.StartWaits{After: []messages.After{{Job: "j2", On: messages.AfterAny}}}
		refused(h.run(inner), messages.Conflict)
		h.notStarted("inner")
		p.Exit(0)
		h.after(0)
		h.begun("next")
		h.proc("next").Exit(0)
	})
}

// sideBySide is a kind of sessions whose jobs outlive the node, and run beside each other.
var sideBySide = func() fake.Options {
	o := oneByOne
	o.Can.Parallel = 16
	return o
}()
