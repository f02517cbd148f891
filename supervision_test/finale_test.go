package supervision_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// hold keeps an actor of a kind at the next message of a type until it is
// released: what comes meanwhile waits behind it.
func (h *house) hold(kind, message string) (release func()) {
	h.Helper()
	gate := make(chan struct{})
	var held atomic.Bool
	h.stage.spoil = func(who *actor.PID, m any) int {
		if p := (point{kindOf(who), nameOf(m)}); p == (point{kind, message}) && held.CompareAndSwap(false, true) {
			<-gate
		}
		return 1
	}
	return func() {
		h.Helper()
		if !held.Load() {
			h.Errorf("%s %s never came", kind, message)
		}
		close(gate)
		h.after(0)
	}
}

// holdTop keeps the supervisor busy.
func (h *house) holdTop() (release func()) {
	h.Helper()
	release = h.hold("supervisor", "messages.ListScopes")
	go h.tell(messages.ListScopes{})
	synctest.Wait()
	return release
}

// A job ends, and what holds it fails, or lets it go, before the node has heard
// its last word: that is told once, and its new actor leaves as any other.
func TestFaultLastWordsOfAJobThatIsPlacedAnew(t *testing.T) {
	for name, play := range map[string]func(h *house, end func()) (release func()){
		"its session fails": func(h *house, end func()) func() {
			release := h.holdTop()
			end()
			h.crash("session")
			return release
		},
		"it is handed over": func(h *house, end func()) func() {
			letGo := h.hold("session", "routed:actors.releaseJob")
			h.send(messages.HandOver{Job: "j1", To: "b"})
			end()
			release := h.holdTop()
			letGo()
			return release
		},
	} {
		for _, slow := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inHouse(t, func(h *house) {
					c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}})
					recorded := make(chan struct{})
					if slow {
						h.ledger.hold(recorded)
					}
					release := play(h, func() {
						p.Exit(3)
						h.after(0)
					})
					release()
					close(recorded)
					want(h, "status", finished(c).End.Shell(), 3)
					h.wantFacts("j1", "started finished:exited retired")
					want(h, "settled", len(h.engine.Unsettled()), 0)
					want(h, "commands", len(h.stage.all("command")), 0)
					h.after(time.Second) // a place that has just adopted a job is not closed at once
					reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: h.job("j1").Scope}))
				}, plan{slow: slow})
			})
		}
	}
}

// Jobs that are over stay so when what held them fails before the node has heard
// that they are settled: nothing more is told of them, and nothing stays around them.
func TestFaultOfAPlaceBehindTheEndOfItsJobs(t *testing.T) {
	for _, kind := range []string{"session", "scope"} {
		t.Run(kind, func(t *testing.T) {
			inHouse(t, func(h *house) {
				for _, text := range []string{"a", "b", "c"} {
					c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: text}})
					p.Exit(0)
					h.after(0)
					finished(c)
				}
				told := h.ledger.last()
				h.crash(kind)
				h.after(time.Second) // a place that has just adopted a job is not closed at once
				for _, f := range h.ledger.all()[told:] {
					if fact, ok := f.Fact.(messages.CommandFact); ok {
						h.Errorf("%s of %s was told behind its end", word(f.Fact), fact.Record().ID)
					}
				}
				want(h, "commands", len(h.stage.all("command")), 0)
				next, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "next"}})
				p.Exit(0)
				want(h, "outcome of the next", finished(next).End.Outcome, messages.Exited)
				reply[messages.ScopeClosed](h.ask(messages.CloseScope{Path: "a"}))
			})
		})
	}
}
