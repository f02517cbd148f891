package supervision_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/backends"
	"troupe/host"
	"troupe/internal/test/fake"
	"troupe/internal/test/need"
	"troupe/messages"
)

// play is how the processes of a drama behave, by the first word of their text.
func play(text string) *fake.Script {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "quick":
		return &fake.Script{Begin: time.Millisecond, Steps: []fake.Step{
			fake.Write(10*time.Millisecond, messages.Merged, text+"\n"), fake.Exit(100*time.Millisecond, 3),
		}}
	case "leaver":
		return &fake.Script{Begin: time.Millisecond, Leave: fake.Children{N: 1, Output: true}, Steps: []fake.Step{
			fake.Exit(50*time.Millisecond, 0), fake.Write(time.Second, messages.Merged, "late"), fake.EndTree(9 * time.Second),
		}}
	case "fail":
		return &fake.Script{Begin: time.Millisecond, Fail: &messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "no"}, Shell: 127}
	}
	return &fake.Script{Begin: time.Millisecond, Nature: fake.Obedient, Steps: []fake.Step{fake.Exit(100*time.Hour, 0)}}
}

// act is one request of a drama, and when it is made.
type act struct {
	at      time.Duration
	request any
}

// drama is one of everything: jobs that end, that time out, that are promoted,
// that leave something behind; reads, waits, controls, a hand-over, stops,
// closings. It takes half a minute of virtual time.
var drama = []act{
	{0, messages.OpenScope{Path: "a/b"}},
	{0, messages.OpenSession{Scope: "a/b", Session: "s"}},
	{0, messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "quick 1"}}},
	{0, messages.RunCommand{Scope: "a/b", Session: "s", Labels: messages.Labels{Name: "slow"}, Program: messages.Program{Text: "slow"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Stdin: messages.StdinPipe}}},
	{0, messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "leaver"}}},
	{0, messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "fail"}}},
	{0, messages.RunCommand{Scope: "a", Labels: messages.Labels{Name: "late"}, Program: messages.Program{Text: "slow late"}, Timeout: 2 * time.Second}},
	{0, messages.RunCommand{Scope: "c", Program: messages.Program{Text: "quick 2"}, PromoteAfter: 50 * time.Millisecond}},
	{0, messages.RunCommand{Scope: "a", Labels: messages.Labels{Name: "stopped"}, Program: messages.Program{Text: "slow stopped"}, PromoteAfter: time.Hour}},
	{0, messages.RunCommand{Scope: "d", Session: "bash", Program: messages.Program{Text: "quick 3"}, Dir: "/d", Open: &messages.SessionPlan{Backend: messages.BackendShell}}},
	{0, messages.RunCommand{Scope: "d", Session: "bash", Program: messages.Program{Text: "quick 4"}, Mode: messages.ModeAsync, Open: &messages.SessionPlan{Backend: messages.BackendShell}}},
	{500 * time.Millisecond, messages.HandOver{Job: "j9", To: "c"}},
	{500 * time.Millisecond, messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewTail}}},
	{500 * time.Millisecond, messages.FollowOutput{Job: "slow", From: 0}},
	{500 * time.Millisecond, messages.WaitJobs{Jobs: []messages.JobID{"late", "slow"}, Any: true}},
	{500 * time.Millisecond, messages.WaitJobs{Jobs: []messages.JobID{"slow"}, Condition: messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Second}}},
	{600 * time.Millisecond, messages.SignalCommand{Job: "slow", Signal: "CONT"}},
	{600 * time.Millisecond, messages.WriteInput{Job: "slow", Data: []byte("x")}},
	{600 * time.Millisecond, messages.ChangeDeadline{Job: "slow", After: time.Hour}},
	{700 * time.Millisecond, messages.PromoteCommand{Job: "stopped"}},
	{800 * time.Millisecond, messages.RunCommand{Scope: "e/f", Labels: messages.Labels{Name: "kept"}, Program: messages.Program{Text: "slow kept"}, Mode: messages.ModeAsync}},
	{800 * time.Millisecond, messages.RunCommand{Scope: "e/f", Program: messages.Program{Text: "slow beside"}}},
	{800 * time.Millisecond, messages.RunCommand{Scope: "e/f", Session: "t", Program: messages.Program{Text: "slow away"}}},
	{900 * time.Millisecond, messages.PromoteCommand{Job: "kept", Keep: true}},
	{time.Second, messages.ReleaseScope{Path: "e"}},
	{3 * time.Second, messages.HandOver{Job: "slow", To: "c"}},
	{4 * time.Second, messages.StopCommand{Job: "slow"}},
	{5 * time.Second, messages.StopCommand{Scope: "a"}},
	{6 * time.Second, messages.CloseSession{Scope: "d", Session: "bash"}},
	{6 * time.Second, messages.CloseSession{Scope: "a/b", Session: "s"}},
	{7 * time.Second, messages.CloseScope{Path: "a"}},
	{7 * time.Second, messages.CloseScope{Path: "e"}},
}

// perform plays a drama. A client whose request is lost asks again after half a
// minute, as its deadline tells it, and so does one that hears of a fault; a run
// is never asked for twice.
func (h *house) perform(acts []act) {
	h.Helper()
	begin := h.since()
	var asked []*client
	for _, a := range acts {
		if wait := begin + a.at - h.since(); wait > 0 {
			h.after(wait)
		}
		asked = append(asked, h.send(a.request))
	}
	for range 3 {
		h.after(30 * time.Second)
		for i, c := range asked {
			if _, run := c.request.(messages.RunCommand); !run && c.unheard() {
				asked[i] = h.send(c.request)
			}
		}
	}
	h.after(30 * time.Second)
	for _, c := range asked {
		if len(c.heard()) == 0 {
			h.Errorf("%T %s was never answered", c.request, brief(c.request))
		}
	}
}

// unheard says whether a request must be made again.
func (c *client) unheard() bool {
	heard := c.heard()
	if len(heard) == 0 {
		return true
	}
	err, _ := refusal(heard[0])
	return err.Code == messages.Internal
}

// dramaticOutcomes are the ends of the jobs of the drama, by text. Whatever
// fails, these stay.
var dramaticOutcomes = map[string]string{
	"quick 1": "exited 3", "quick 2": "exited 3", "quick 3": "exited 3", "quick 4": "exited 3", "leaver": "exited 0", "fail": "failed_to_start 127",
	"slow kept": "cancelled 143", "slow beside": "cancelled 143", "slow away": "cancelled 143",
	"slow": "cancelled 143", "slow late": "timed_out 143", "slow stopped": "cancelled 143",
}

func (h *house) checkDrama() {
	h.Helper()
	for _, j := range reply[messages.JobList](h.ask(messages.ListJobs{Finished: true})).Jobs {
		got, want := fmt.Sprintf("%s %d", j.End.Outcome, j.End.Shell()), dramaticOutcomes[j.Command]
		if got != want || j.State != messages.Retired {
			h.Errorf("%s %q is %s with %s, want %s", j.ID, j.Command, j.State, got, want)
		}
	}
	c := h.ask(messages.RunCommand{Scope: "a/b", Session: "s", Program: messages.Program{Text: "quick again"}})
	h.after(time.Second)
	want(h, "the next", finished(c).End.Shell(), 3)
}

// rehearse plays the drama once with a fault, or none.
func rehearse(t *testing.T, f fault) (seen map[point]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, plan{fake: fake.Options{Auto: play, Can: backends.Capabilities{
			Parallel: 3, Queue: 8, Input: true, Separate: true, Signals: true, Attribute: true,
		}}, slow: f.kind == "recorder"})
		h.stage.fault = f
		sub := h.subscribe(messages.Subscribe{}, true)
		h.perform(drama)
		h.checkDrama()
		if s := h.stage; f.kind != "channel" || s.fired == 0 {
			wantList(h, "told", sub.numbers(), through(1, h.ledger.last())...)
		} else {
			wantList(h, "told", slices.Compact(slices.Sorted(slices.Values(sub.numbers()))), through(1, h.ledger.last())...)
		}
		h.end()
		seen = h.stage.seen
	})
	return seen
}

// An actor may fail over any message it ever gets, before it has done anything
// about it or behind all that it did: every job ends once and as it would have,
// and every request is answered, at the second try at the latest.
func TestCrashAnywhere(t *testing.T) {
	seen := rehearse(t, fault{})
	for p, n := range rehearse(t, fault{point: point{kind: "recorder"}}) { // a journal that never waits has none
		if p.kind == "recorder" {
			seen[p] = n
		}
	}
	if t.Failed() {
		return
	}
	faults := faultsOver(seen)
	step, from := sampleStep, time.Now().YearDay()%sampleStep
	if need.Soak() {
		step, from = 1, 0
	}
	for i := from; i < len(faults); i += step {
		t.Run(faults[i].String(), func(t *testing.T) { rehearse(t, faults[i]) })
	}
}

// sampleStep is which part of the faults a short run tries: another one each
// day. The long run tries all.
const sampleStep = 4

// faultsOver are the faults at the first, second and last delivery of each kind.
func faultsOver(seen map[point]int) []fault {
	var all []fault
	for p, n := range seen {
		if p.kind == "supervisor" || p.message == "" {
			continue // the first is the end of the node: see TestFaultCrashOfTheSupervisor
		}
		for _, nth := range slices.Compact([]int{1, min(2, n), n}) {
			all = append(all, fault{p, nth, false, 1}, fault{p, nth, true, 1})
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return cmp.Compare(a.String(), b.String()) })
	return all
}

// While the journal fails, nothing that it would have to tell of begins or piles
// up: what changes meanwhile is told once, as it stands when the journal is well.
// What is there may end.
func TestFaultJournalFailsWhileJobsChange(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		reply[messages.SessionOpened](h.ask(messages.OpenSession{Scope: "ci", Session: "one"}))
		before := h.ledger.last()
		h.ledger.fail(errors.New("no space left on device"))
		p.AwaitInput(true)
		h.after(time.Minute)
		for _, r := range []any{
			messages.OpenSession{Scope: "ci", Session: "two"}, messages.OpenScope{Path: "more"}, messages.HandOver{Job: "j1", To: "ci"},
		} {
			want(h, "reason", refused(h.ask(r), messages.ResourceExhausted).Reason, "journal")
		}
		for range 1000 {
			p.AwaitInput(false)
			p.AwaitInput(true)
		}
		for n := range time.Duration(1000) {
			reply[messages.Acknowledged](h.ask(messages.ChangeDeadline{Job: "j1", After: time.Hour + n}))
		}
		p.AwaitInput(false)
		h.after(0)
		reply[messages.SessionClosed](h.ask(messages.CloseSession{Scope: "ci", Session: "one"}))
		h.ledger.fail(nil)
		h.after(time.Minute)
		h.wantFacts("j1", "started changed changed")
		want(h, "facts", h.ledger.last()-before, 3)
		told, _ := h.ledger.all()[h.ledger.last()-1].Fact.(messages.CommandChanged)
		want(h, "told waiting", told.Job.WaitingForInput, false)
		want(h, "told timeout", told.Job.Timeout, h.job("j1").Timeout)
		p.Exit(0)
		finished(c)
		h.wantFacts("j1", "started changed changed finished:exited retired")
	})
}

// A writer that fails over a journal that is well again leaves no refusal behind.
func TestFaultRecorderFailsAsTheJournalIsMended(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
		h.ledger.fail(errJournal)
		p.AwaitInput(true)
		h.after(0)
		refused(h.run(messages.RunCommand{Program: messages.Program{Text: "b"}}), messages.ResourceExhausted)
		p.AwaitInput(false)
		h.ledger.fail(nil)
		h.stage.fail(fault{point: point{"recorder", "actors.commit"}, nth: 1})
		h.after(time.Minute)
		h.wantFacts("j1", "started changed changed")
		p.Exit(0)
		finished(c)
		_, p = h.start(messages.RunCommand{Program: messages.Program{Text: "b"}})
		p.Exit(0)
	}, plan{slow: true})
}

// A journal that cannot be read when the node opens, or fails later, stops new
// work with a reason, and work goes on when it is well.
func TestCrashOfTheJournal(t *testing.T) {
	for _, err := range []error{errJournal, errBroken} { // the second panics
		t.Run(err.Error(), func(t *testing.T) { crashJournal(t, err) })
	}
}

func crashJournal(t *testing.T, fault error) {
	t.Helper()
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "a"}})
		h.ledger.fail(fault)
		p.Exit(0)
		h.after(time.Minute)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited) // clients do not wait for the journal
		err := refused(h.run(messages.RunCommand{Program: messages.Program{Text: "b"}}), messages.ResourceExhausted)
		want(h, "reason", err.Reason, "journal")
		h.ledger.fail(nil)
		h.after(time.Minute)
		h.wantFacts("j1", "started finished:exited retired")
		c, p = h.start(messages.RunCommand{Program: messages.Program{Text: "b"}})
		p.Exit(0)
		want(h, "outcome", finished(c).End.Outcome, messages.Exited)
		if _, err := host.Ask(context.Background(), h.node.Host(), messages.ListJobs{Finished: true}); err != nil {
			h.Error(err)
		}
	})
}
