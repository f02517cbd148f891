package supervision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors"
	"troupe/messages"
)

// The records of jobs that are over are kept within bounds of number, age and
// output, also across a restart; never that of a job that is not over.
func TestRetention(t *testing.T) {
	for _, one := range []struct {
		name   string
		limits actors.Limits
		wait   time.Duration
		left   string
	}{
		{"number", actors.Limits{Finished: 2}, 0, "j3 j4 j5"},
		{"age", actors.Limits{Age: time.Hour}, 30 * time.Minute, "j4 j5"},
		{"bytes", actors.Limits{LogBytes: 250}, 0, "j3 j4 j5"},
		{"none", actors.Limits{}, 0, "j1 j2 j3 j4 j5"},
	} {
		t.Run(one.name, func(t *testing.T) {
			journals(t, func(h *house) {
				for _, text := range []string{"a", "b", "c", "d"} {
					if text == "d" {
						h.after(one.wait)
					}
					_, p := h.start(messages.RunCommand{Program: messages.Program{Text: text}, Mode: messages.ModeAsync})
					p.Write(messages.Merged, strings.Repeat(text, 100))
					p.Exit(0)
				}
				_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "runs"}, Mode: messages.ModeAsync})
				p.Write(messages.Merged, strings.Repeat("x", 1000))
				h.after(0)
				h.again()
				h.after(one.wait + 20*time.Second)
				var left []string
				for _, j := range h.listed(messages.ListJobs{Finished: true}) {
					left = append(left, string(j))
				}
				want(h, "left", strings.Join(left, " "), one.left)
				want(h, "logs", h.store.Logs(), len(left))
				h.again()
				want(h, "left behind another restart", len(h.listed(messages.ListJobs{Finished: true})), len(left))
				page := reply[messages.OutputPage](h.ask(messages.ReadOutput{Job: "j4", View: messages.View{Kind: messages.ViewTail}}))
				want(h, "output of before", page.Text, strings.Repeat("d", 100))
				want(h, "removed", reply[messages.JobFound](h.ask(messages.RemoveJob{Job: "j4"})).Job.ID, "j4")
				h.after(0)
				h.again()
				reply[messages.JobMissing](h.ask(messages.FindJob{Job: "j4"}))
			}, plan{limits: one.limits})
		})
	}
}

// The output of a job that was forgotten is removed by the next node, if this one
// was killed before it came to that, or may keep fewer.
func TestRetentionOfWhatWasForgotten(t *testing.T) {
	journals(t, func(h *house) {
		for n := range h.plan.limits.Finished + 1 {
			_, p := h.start(messages.RunCommand{Program: messages.Program{Text: fmt.Sprint(n)}, Mode: messages.ModeAsync})
			p.Write(messages.Merged, "x")
			p.Exit(0)
			h.after(0)
		}
		listed := func(most int) {
			h.after(0)
			want(h, "jobs", len(h.listed(messages.ListJobs{Finished: true})), most)
			h.after(20 * time.Second)
			want(h, "logs", h.store.Logs(), most)
		}
		h.again()
		listed(h.plan.limits.Finished)
		h.plan.limits.Finished = 2
		h.again()
		listed(2)
		h.again()
		listed(2)
	}, plan{limits: actors.Limits{Finished: 64}}) // of which two are removed at a time
}

// A job whose record goes before its engine was told that the end is kept is settled
// all the same when an actor dies with that word: the engine would keep it for ever.
func TestForgottenJobsAreSettled(t *testing.T) {
	for _, kind := range []string{"scope", "session", "command"} {
		t.Run(kind, func(t *testing.T) {
			journals(t, func(h *house) {
				message := "routed:actors.recorded"
				if kind == "command" {
					message = "actors.recorded"
				}
				h.stage.fail(fault{point: point{kind, message}, nth: 1})
				_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "writes"}, Mode: messages.ModeAsync})
				p.Write(messages.Merged, "more than is kept")
				p.Exit(0)
				h.after(time.Minute)
				reply[messages.JobMissing](h.ask(messages.FindJob{Job: "j1"}))
				want(h, "unsettled", len(h.engine.Unsettled()), 0)
				want(h, "words that the node may forget it whole", h.stage.count(point{"supervisor", "actors.settled"}), 1)
			}, plan{limits: actors.Limits{LogBytes: 1}})
		})
	}
}

// The end of a job that was forgotten before its engine was told so is told by no other node:
// the journal has it as long as the engine.
func TestForgottenJobsAreToldOnce(t *testing.T) {
	journals(t, func(h *house) {
		h.stage.spoil = func(_ *actor.PID, message any) int {
			if fmt.Sprintf("%T", message) == "actors.recorded" {
				return 0 // the node dies before
			}
			return 1
		}
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "writes"}, Mode: messages.ModeAsync})
		p.Write(messages.Merged, "more than is kept")
		p.Exit(0)
		h.after(time.Minute)
		reply[messages.JobMissing](h.ask(messages.FindJob{Job: "j1"}))
		want(h, "unsettled", len(h.engine.Unsettled()), 1)
		h.stage.spoil = nil
		told := h.ledger.last()
		h.again()
		want(h, "and nothing was told anew", h.ledger.last(), told)
		want(h, "jobs", len(h.listed(messages.ListJobs{Finished: true})), 0)
		want(h, "unsettled behind it", len(h.engine.Unsettled()), 0)
		h.after(time.Minute)
		want(h, "logs", h.store.Logs(), 0)
	}, plan{limits: actors.Limits{LogBytes: 1}})
}
