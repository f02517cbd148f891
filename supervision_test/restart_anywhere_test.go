package supervision_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/internal/test/fake"
	"troupe/internal/test/need"
	"troupe/messages"
)

// revive opens another node if this one has died.
func (h *house) revive() (died bool) {
	h.Helper()
	if h.node.Err() == nil {
		return false
	}
	h.cut = true
	_ = h.node.Shutdown(context.Background(), messages.ShutdownNode{})
	synctest.Wait()
	h.bury()
	h.begin()
	return true
}

// survive plays a drama whose node may die at any of its acts, and is revived.
func (h *house) survive(acts []act) (died int) {
	h.Helper()
	begin := h.since()
	live := func(d time.Duration) {
		h.after(d)
		if h.revive() {
			died++
		}
	}
	for _, a := range acts {
		live(max(0, begin+a.at-h.since()))
		h.send(a.request)
	}
	for range 3 {
		live(30 * time.Second)
	}
	return died
}

// restage plays the drama once with a node that dies over a message, before or
// behind it, and holds what is left to what is true of every node.
func restage(t *testing.T, f fault, slow bool) (seen map[point]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, plan{fake: fake.Options{Auto: play, Can: backends.Capabilities{
			Parallel: 3, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
		}}, slow: slow})
		h.stage.fault = f
		died := h.survive(drama)
		if died > 1 { // or not at all: how often some messages come is a matter of chance
			h.Errorf("the node died %d times", died)
		}
		want(h, "unowned", len(h.engine.Unowned()), 0)
		told := map[messages.UID]bool{}
		for _, fact := range h.ledger.all() {
			if about, ok := fact.Fact.(messages.CommandFact); ok {
				told[about.Record().UID] = true
			}
		}
		for _, p := range h.jobs() {
			if !told[p.ID] {
				h.Errorf("nothing is told of %q", p.Text())
			}
		}
		seen = maps.Clone(h.stage.seen)
		h.stage.fail(fault{})
		h.end()
	})
	return seen
}

// atOpening are messages that come before a node can be asked anything.
var atOpening = []string{"actor.Started", "actors.recorderReady", "messages.ListScopes"}

// The next daemon may be killed, too, while it puts its actors around what it
// found, and the one behind it has every job.
func TestRestartWhileBeginningAgain(t *testing.T) {
	for _, slow := range []bool{false, true} {
		for nth := 1; nth <= 60; nth += 1 + nth/10 {
			f := fault{point: point{kind: "supervisor"}, nth: nth, behind: nth%2 == 0}
			t.Run(fmt.Sprintf("slow %v, message %d", slow, nth), func(t *testing.T) { beginTwice(t, f, slow) })
		}
	}
}

func beginTwice(t *testing.T, f fault, slow bool) {
	t.Helper()
	inHouse(t, func(h *house) {
		var acts []act
		for _, a := range drama {
			if a.at < 3*time.Second {
				acts = append(acts, a)
			}
		}
		h.survive(acts)
		h.ask(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "slow again"}, Mode: messages.ModeAsync})
		h.ask(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "slow foreground"}})
		h.after(time.Second)
		h.die()
		h.mortal = f
		h.begin()
		h.after(time.Second)
		h.revive()
		h.stage.fail(fault{}) // it has not come to that message
		h.after(time.Minute)
		want(h, "unowned", len(h.engine.Unowned()), 0)
		want(h, "the job", h.job("slow").State, messages.Running)
		for _, p := range h.jobs() {
			if h.job(messages.JobID(p.ID)).Command != p.Text() {
				h.Errorf("%q is not known any more", p.Text())
			}
		}
	}, plan{fake: fake.Options{Auto: play, Can: backends.Capabilities{
		Parallel: 3, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
	}}, slow: slow})
}

// A daemon may be killed over any message that its supervisor ever gets: the next
// one has every job, tells of each once, and leaves nothing with the engine.
func TestRestartAnywhere(t *testing.T) {
	step, from := sampleStep, time.Now().YearDay()%sampleStep
	if need.Soak() {
		step, from = 1, 0
	}
	for _, slow := range []bool{false, true} {
		var faults []fault
		for p, n := range restage(t, fault{}, slow) {
			if p.kind != "supervisor" || p.message == "" || slices.Contains(atOpening, p.message) {
				continue
			}
			for _, nth := range slices.Compact([]int{1, min(2, n), (n + 1) / 2, n}) {
				faults = append(faults, fault{p, nth, false, 1}, fault{p, nth, true, 1})
			}
		}
		slices.SortFunc(faults, func(a, b fault) int { return cmp.Compare(a.String(), b.String()) })
		if len(faults) < 50 {
			t.Fatalf("only %d faults", len(faults))
		}
		for i := from; i < len(faults); i += step {
			t.Run(faults[i].String(), func(t *testing.T) { restage(t, faults[i], slow) })
		}
	}
}
