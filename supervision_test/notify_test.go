package supervision_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors"
	"troupe/internal/node"
	"troupe/messages"
)

// runMany runs n short jobs one after the other.
func (h *house) runMany(n int, text string) {
	h.Helper()
	for i := range n {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("%s %d", text, i)}})
		p.Exit(0)
		finished(c)
	}
}

// Every fact is told once, in order, by its number; nothing is told behind the
// end of a job but its retirement.
func TestNotifyInOrder(t *testing.T) {
	inHouse(t, func(h *house) {
		s := h.subscribe(messages.Subscribe{}, true)
		c, p := h.start(messages.RunCommand{Scope: "a", Program: messages.Program{Text: "make"}, PromoteAfter: time.Second, Timeout: time.Minute})
		h.after(2 * time.Minute)
		reply[messages.CommandPromoted](c)
		h.wantSignals(p, "TERM", "KILL")
		h.runMany(3, "more")
		wantList(h, "told", s.numbers(), through(1, h.ledger.last())...)
		for i, n := range s.told() {
			want(h, "channel", n.Channel, s.channel())
			want(h, fmt.Sprintf("fact %d", n.Seq), word(n.Fact), word(h.ledger.all()[i].Fact))
		}
	})
}

// A subscriber chooses where to begin: at the beginning, after a number, now.
func TestNotifyFrom(t *testing.T) {
	inHouse(t, func(h *house) {
		h.runMany(5, "before")
		last := h.ledger.last()
		all := h.subscribe(messages.Subscribe{}, true)
		some := h.subscribe(messages.Subscribe{After: last - 3}, true)
		now := h.subscribe(messages.Subscribe{Now: true}, true)
		far := h.subscribe(messages.Subscribe{After: last + 1000}, true)
		h.runMany(1, "then")
		end := h.ledger.last()
		wantList(h, "from the beginning", all.numbers(), through(1, end)...)
		wantList(h, "after a number", some.numbers(), through(last-2, end)...)
		wantList(h, "from now on", now.numbers(), through(last+1, end)...)
		wantList(h, "after what never was", far.numbers(), through(1, end)...)
		dropped, _ := far.said.all()[1].(messages.FactsDropped)
		want(h, "what never was", dropped, messages.FactsDropped{Channel: far.channel(), From: last + 1001})
	})
}

// The end of a job that a client was told of came before a subscription that follows, also if the
// journal does not have it yet.
func TestNotifyFromNowIsAfterWhatWasTold(t *testing.T) {
	inHouse(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "before"}})
		resume := make(chan struct{})
		h.ledger.hold(resume)
		p.Exit(0)
		h.after(0)
		wantWait(h.await(false, messages.Condition{}, "j1"), "satisfied", "j1")
		now := h.subscribe(messages.Subscribe{Now: true}, true)
		h.ledger.hold(nil)
		close(resume)
		h.after(0)
		last := h.ledger.last()
		want(h, "what the journal has", h.ledger.words("j1"), "started finished:exited retired")
		h.runMany(1, "then")
		wantList(h, "from now on", now.numbers(), through(last+1, h.ledger.last())...)
	}, plan{slow: true})
}

// A filter lets through what it names: a scope with what is below it, a job,
// the ends.
func TestNotifyFilter(t *testing.T) {
	inHouse(t, func(h *house) {
		scope := h.subscribe(messages.Subscribe{Filter: messages.Filter{Scope: "a"}}, true)
		job := h.subscribe(messages.Subscribe{Filter: messages.Filter{Job: "j2"}}, true)
		ends := h.subscribe(messages.Subscribe{Filter: messages.Filter{Ends: true}}, true)
		both := h.subscribe(messages.Subscribe{Filter: messages.Filter{Scope: "a/b", Ends: true}}, true)
		for _, s := range []messages.ScopePath{"a", "a/b", "ab", "c"} {
			c, p := h.start(messages.RunCommand{Scope: s, Program: messages.Program{Text: string(s)}})
			p.Exit(0)
			finished(c)
		}
		for _, c := range []struct {
			name string
			sub  *subscriber
			lets func(messages.Fact) bool
		}{
			{"scope", scope, func(f messages.Fact) bool { return scopeOf(f) == "a" || scopeOf(f) == "a/b" }},
			{"job", job, func(f messages.Fact) bool { return jobOf(f) == "j2" }},
			{"ends", ends, func(f messages.Fact) bool { return word(f) == "finished:exited" }},
			{"both", both, func(f messages.Fact) bool {
				return scopeOf(f) == "a/b" && jobOf(f) == "j2" && word(f) == "finished:exited"
			}},
		} {
			var wanted []messages.Seq
			for _, f := range h.ledger.all() {
				if c.lets(f.Fact) {
					wanted = append(wanted, f.Seq)
				}
			}
			wantList(h, c.name, c.sub.numbers(), wanted...)
			want(h, "something", len(wanted) > 0, true)
		}
	})
}

func jobOf(f messages.Fact) messages.JobID {
	if fact, ok := f.(messages.CommandFact); ok {
		return fact.Record().ID
	}
	return ""
}

func scopeOf(f messages.Fact) messages.ScopePath {
	switch f := f.(type) {
	case messages.CommandFact:
		return f.Record().Scope
	case messages.SessionOpened:
		return f.Info.Scope
	case messages.ScopeOpened:
		return f.Path
	}
	return ""
}

// A subscriber that dies and comes back by the name of its channel hears what it
// has not acknowledged, again, and then the rest: nothing is lost, nothing is
// out of order.
func TestFaultNotifyResume(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.subscribe(messages.Subscribe{Channel: "me"}, false)
		h.runMany(2, "first")
		heard := first.last()
		first.acknowledge(heard - 2)
		first.vanish()
		h.runMany(2, "while away")
		second := h.subscribe(messages.Subscribe{Channel: "me", Resume: true}, true)
		want(h, "channel", second.channel(), "me")
		h.runMany(2, "back")
		wantList(h, "told", second.numbers(), through(heard-1, h.ledger.last())...)

		third := h.subscribe(messages.Subscribe{Channel: "me", Resume: true}, true)
		h.runMany(1, "once more")
		wantList(h, "told", third.numbers(), through(second.last()+1, h.ledger.last())...)
		want(h, "channels", len(h.stage.all("channel")), 1)
	})
}

// What the journal no longer holds is said to be dropped, never left out in
// silence.
func TestFaultNotifyFactsDropped(t *testing.T) {
	inHouse(t, func(h *house) {
		h.runMany(10, "old")
		last := h.ledger.last()
		s := h.subscribe(messages.Subscribe{}, true)
		var dropped []messages.FactsDropped
		for _, m := range s.said.all() {
			if d, ok := m.(messages.FactsDropped); ok {
				dropped = append(dropped, d)
			}
		}
		wantList(h, "dropped", dropped, messages.FactsDropped{Channel: s.channel(), From: 1, To: last - 8})
		wantList(h, "told", s.numbers(), through(last-7, last)...)
	}, plan{keep: 8})
}

// A channel that is ended is ended for good: one answer, no word behind it.
func TestNotifyUnsubscribe(t *testing.T) {
	inHouse(t, func(h *house) {
		s := h.subscribe(messages.Subscribe{Channel: "me"}, true)
		h.runMany(1, "a")
		heard := len(s.said.all())
		reply[messages.Unsubscribed](h.ask(messages.Unsubscribe{Channel: "me"}))
		h.runMany(1, "b")
		want(h, "words behind the end", len(s.said.all()), heard+1)
		refused(h.ask(messages.Unsubscribe{Channel: "me"}), messages.NotFound)
		h.tell(messages.Acknowledge{Channel: "me", Seq: 1})
		want(h, "channels", len(h.stage.all("channel")), 0)
	})
}

// The library's subscription: Next acknowledges, Close ends, the end of the node
// is told behind all facts.
func TestNotifyByTheDoor(t *testing.T) {
	inHouse(t, func(h *house) {
		ctx := context.Background()
		s, err := h.node.Subscribe(ctx, messages.Subscribe{Channel: "door", Window: 1})
		if err != nil {
			h.Fatal(err)
		}
		h.runMany(4, "a")
		for n := range h.ledger.last() / 2 {
			m, err := s.Next(ctx)
			if got, ok := m.(messages.Notification); !ok || got.Seq != n+1 {
				h.Fatalf("got %s, %v; want fact %d", brief(m), err, n+1)
			}
		}
		if err := s.Close(); err != nil {
			h.Error(err)
		}
		h.after(0)

		s, err = h.node.Subscribe(ctx, messages.Subscribe{After: h.ledger.last()})
		if err != nil {
			h.Fatal(err)
		}
		defer s.Close()
		brief, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := s.Next(brief); !errors.Is(err, context.DeadlineExceeded) {
			h.Errorf("nothing happened and Next gave %v", err)
		}
		done := make(chan []string)
		go func() {
			var words []string
			for {
				m, err := s.Next(ctx)
				if err != nil {
					if !errors.Is(err, node.ErrClosed) {
						h.Error(err)
					}
					done <- words
					return
				}
				words = append(words, word(m.(messages.Notification).Fact))
			}
		}()
		if err := h.shutdown(messages.ShutdownNode{}); err != nil {
			h.Error(err)
		}
		wantList(h, "told by the end", <-done, "session-main:default", "scope-main")
		if s, err := h.node.Subscribe(ctx, messages.Subscribe{}); s != nil || !errors.Is(err, node.ErrClosed) {
			h.Errorf("a node that has ended opened a channel: %v, %v", s, err)
		}
	})
}

// A subscription that is closed, or given up before it was open, leaves no
// channel behind.
func TestNotifyByTheDoorLeavesNothing(t *testing.T) {
	inHouse(t, func(h *house) {
		for range 5 {
			s, err := h.node.Subscribe(context.Background(), messages.Subscribe{})
			if err != nil {
				h.Fatal(err)
			}
			if err := s.Close(); err != nil {
				h.Error(err)
			}
			ctx, gaveUp := context.WithCancel(context.Background())
			hold, gone := make(chan struct{}), make(chan error)
			h.stage.spoil = func(_ *actor.PID, m any) int {
				if _, ok := m.(messages.ListScopes); ok {
					<-hold
				}
				return 1
			}
			go func() { _, _ = h.node.Ask(context.Background(), messages.ListScopes{}) }()
			synctest.Wait() // the tree is busy now
			go func() {
				_, err := h.node.Subscribe(ctx, messages.Subscribe{})
				gone <- err
			}()
			synctest.Wait()
			gaveUp()
			want(h, "given up", errors.Is(<-gone, context.Canceled), true)
			close(hold)
			_, err = h.node.Subscribe(ctx, messages.Subscribe{})
			want(h, "an ended context", errors.Is(err, context.Canceled), true)
			h.after(0)
		}
		want(h, "channels", len(h.stage.all("channel")), 0)
	}, plan{limits: actors.Limits{Channels: 3}})
}

// A name that a subscriber chose is not given to one that has none of its own.
func TestNotifyNamesAreNotGivenTwice(t *testing.T) {
	inHouse(t, func(h *house) {
		chosen := h.subscribe(messages.Subscribe{Channel: "c2"}, true)
		first := h.subscribe(messages.Subscribe{}, true)
		second := h.subscribe(messages.Subscribe{}, true)
		want(h, "first", first.channel(), "c1")
		want(h, "second", second.channel(), "c3")
		h.runMany(1, "a")
		for _, s := range []*subscriber{chosen, first, second} {
			wantList(h, "told", s.numbers(), through(1, h.ledger.last())...)
		}
	})
}

// Who loses a channel to another is told so, behind all else, and closes nothing
// of the other's.
func TestNotifyTakenOver(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.subscribe(messages.Subscribe{Channel: "me"}, false)
		h.runMany(1, "a")
		lost, err := h.node.Subscribe(context.Background(), messages.Subscribe{Channel: "me"})
		if err != nil {
			h.Fatal(err)
		}
		h.after(0)
		said := first.said.all()
		want(h, "the last word", said[len(said)-1], any(messages.Unsubscribed{Channel: "me", Reason: messages.ChannelReplaced}))

		last := h.subscribe(messages.Subscribe{Channel: "me"}, true)
		for {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			_, err = lost.Next(ctx)
			cancel()
			if err != nil {
				break
			}
		}
		want(h, "it has ended", errors.Is(err, node.ErrClosed), true)
		if err := lost.Close(); err != nil {
			h.Error(err)
		}
		h.runMany(1, "b")
		want(h, "words behind the end", len(first.said.all()), len(said))
		wantList(h, "told", last.numbers(), through(1, h.ledger.last())...)
	})
}

// An older acknowledgement that comes late tells the channel what its subscriber
// has dealt with by then.
func TestNotifyLateAcknowledgement(t *testing.T) {
	inHouse(t, func(h *house) {
		var heard []messages.Seq
		h.stage.spoil = func(who *actor.PID, m any) int {
			if a, ok := m.(messages.Acknowledge); ok && kindOf(who) == "channel" {
				heard = append(heard, a.Seq)
			}
			return 1
		}
		s := h.subscribe(messages.Subscribe{Window: 8, Filter: messages.Filter{Job: "j1"}}, false)
		h.runMany(1, "a")
		last := s.last()
		s.acknowledge(last) // there is room: the channel need not know
		h.runMany(2, "b")
		s.acknowledge(last - 2)
		wantList(h, "the channel hears", heard, last)
	})
}

// The time of acknowledgements may run out just as a fact takes them along. What is
// acknowledged then has a time of its own, and that ends with the node.
func TestNotifyAcknowledgedWhileTheLastAreRecorded(t *testing.T) {
	inHouse(t, func(h *house) {
		s := h.subscribe(messages.Subscribe{}, false)
		h.runMany(1, "a")
		first := s.last()
		s.acknowledge(first - 1) // it is recorded within a second
		h.after(500 * time.Millisecond)
		ranOut := make(chan struct{})
		h.stage.spoil = func(who *actor.PID, m any) int {
			if _, ok := m.(messages.ScopeOpened); ok && kindOf(who) == "supervisor" {
				h.tell(messages.Acknowledge{Channel: s.channel(), Seq: first})
				time.Sleep(time.Second) // it runs out behind that
				close(ranOut)
			}
			return 1
		}
		h.send(messages.OpenScope{Path: "a"})
		<-ranOut
		h.after(0)
		want(h, "facts", s.last(), first+1)
		s.vanish() // so that the node ends before the next second is over
	})
}

// Subscribers that left without a word take no places from others, and go on where
// they were if they come back.
func TestFaultNotifyPlacesOfTheVanished(t *testing.T) {
	inHouse(t, func(h *house) {
		gone := h.subscribe(messages.Subscribe{Channel: "gone"}, true)
		h.subscribe(messages.Subscribe{Channel: "stays"}, true)
		h.runMany(1, "a")
		heard := gone.last()
		gone.vanish()
		third := h.subscribe(messages.Subscribe{Channel: "third"}, true)
		want(h, "the third", third.channel(), "third")
		refused(h.ask(messages.Subscribe{Channel: "fourth"}), messages.ResourceExhausted)
		third.vanish()
		h.runMany(1, "b")
		back := h.subscribe(messages.Subscribe{Channel: "gone", Resume: true}, true)
		wantList(h, "told", back.numbers(), through(heard+1, h.ledger.last())...)
		want(h, "channels", len(h.stage.all("channel")), 2)
	}, plan{limits: actors.Limits{Channels: 2}})
}
