package supervision_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/internal/test/need"
	"troupe/messages"
)

// playTold is play, with a command that is told of ends.
func playTold(text string) *fake.Script {
	if strings.HasPrefix(text, "tell") {
		return &fake.Script{Begin: time.Millisecond, Input: func(p *fake.Process, _ string, closed bool) {
			if closed {
				p.Exit(0)
			}
		}}
	}
	return play(text)
}

// notedDrama are ends that are told to a URL that is away at first, to one that is
// there, and to a command.
var notedDrama = []act{
	{0, messages.RunCommand{Scope: "a", Program: messages.Program{Text: "quick 1"}, OnFinish: []string{there, "tell"}}},
	{0, messages.RunCommand{Scope: "a", Program: messages.Program{Text: "fail"}, OnFinish: []string{elsewhere}}},
	{0, messages.RunCommand{Scope: "a", Program: messages.Program{Text: "leaver"}, OnFinish: []string{elsewhere, "tell"}}},
	{0, messages.RunCommand{Scope: "a", Program: messages.Program{Text: "slow"}, Labels: messages.Labels{Name: "slow"}, Mode: messages.ModeAsync, OnFinish: []string{there, elsewhere}}},
	{4 * time.Second, messages.StopCommand{Job: "slow"}},
}

// note plays the drama with a fault, or none, and holds what was told to what is true
// of every notice.
func note(t *testing.T, f fault, slow bool) (seen map[point]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := &urls{}
		u.answer = func(d messages.Delivery, try int) messages.Delivered {
			if d.To == there && try < 3 {
				return busy
			}
			return messages.Delivered{}
		}
		h := open(t, plan{urls: u, slow: slow, fake: fake.Options{Auto: playTold, Can: backends.Capabilities{
			Parallel: 3, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
		}}})
		h.stage.fault = f
		h.survive(notedDrama)
		h.stage.fail(fault{}) // it has not come to that message
		h.checkNotices()
		seen = maps.Clone(h.stage.seen)
		h.end()
	})
	return seen
}

// checkNotices sees to it that each end that was promised was told, under one number,
// and that each command ran once for each.
func (h *house) checkNotices() {
	h.Helper()
	promised := 0
	numbers := map[string]messages.Seq{}
	for _, job := range reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Jobs {
		for _, n := range job.OnFinish {
			if !job.State.Ended() {
				continue // what was to stop it was lost
			}
			if n.State != messages.NoticeDelivered {
				h.Errorf("of %q, %s was told: %s (%s)", job.Command, n.To, n.State, n.Err.Message)
			}
			if n.To == "tell" {
				promised++
			}
			numbers[n.To+" "+string(job.ID)] = n.Seq
		}
	}
	for _, to := range []string{there, elsewhere} {
		for _, t := range h.plan.urls.of(to) {
			if want := numbers[to+" "+string(t.job.ID)]; t.seq != want {
				h.Errorf("the end of %s was told under the number %d, and is %d", t.job.ID, t.seq, want)
			}
		}
	}
	ran := 0
	for _, p := range h.engine.Ever() {
		if p.Text() == "tell" {
			ran++
			if text, _ := p.Input(); strings.Count(text, "\n") != 1 {
				h.Errorf("a command was told %q", text)
			}
		}
	}
	if ran != promised {
		h.Errorf("the command was run %d times for %d ends", ran, promised)
	}
	want(h, "tellers", len(h.stage.all("notice")), 0)
}

// Whatever fails on the way of a notice, an actor or the whole node, before or behind
// what it does: the end is told, under its one number, and a command is run once.
func TestFaultNoticeAnywhere(t *testing.T) {
	for _, slow := range []bool{false, true} {
		seen := note(t, fault{}, slow)
		if t.Failed() {
			return
		}
		var all []fault
		for p, n := range seen {
			if p.kind == "supervisor" && p.message != "" {
				for _, nth := range []int{1, n/2 + 1, n} {
					all = append(all, fault{p, nth, false, 1}, fault{p, nth, true, 1})
				}
			}
		}
		all = append(all, faultsOver(seen)...)
		step, from := sampleStep, time.Now().YearDay()%sampleStep
		if need.Soak() {
			step, from = 1, 0
		}
		for i := from; i < len(all); i += step {
			t.Run(fmt.Sprintf("%v %s", slow, all[i]), func(t *testing.T) { note(t, all[i], slow) })
		}
	}
}
