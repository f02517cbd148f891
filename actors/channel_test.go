package actors

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
	"pgregory.net/rapid"

	"troupe/internal/journal"
	"troupe/messages"
)

// herald plays what a supervisor and a recorder do for a channel.
type herald struct {
	*stage
	client *client
	spec   channelSpec
	last   messages.Seq
	given  messages.Seq // what was delivered
	made   *channel

	mu    sync.Mutex
	reads int
	deny  error // instead of a page
	lose  bool  // questions are lost
}

// now changes how the herald answers from now on.
func (h *herald) now(lose bool, deny error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose, h.deny = lose, deny
}

func withChannel(t *testing.T, spec channelSpec, play func(h *herald)) {
	t.Helper()
	onStage(t, func(s *stage) { playChannel(s, spec, play) })
}

func playChannel(s *stage, spec channelSpec, play func(h *herald)) {
	h := &herald{stage: s, client: s.client(), last: spec.last}
	spec.id, spec.subscriber = "c1", h.client.pid
	h.spec = spec
	s.react = func(ctx actor.Context) {
		h.mu.Lock()
		defer h.mu.Unlock()
		m, ok := ctx.Message().(readFacts)
		if !ok || h.lose {
			return
		}
		h.reads++
		answer := factsRead{after: m.after, err: h.deny}
		if h.deny == nil {
			answer.facts, answer.err = s.journal.Read(m.after, m.limit)
			answer.last, _ = s.journal.Last()
		}
		ctx.Respond(answer)
	}
	play(h)
}

func (h *herald) open() {
	h.spec.last, h.given = h.last, h.last
	h.raise(channelProps(h.deps, h.spec), kindChannel)
}

// happen lets n facts be recorded and delivered.
func (h *herald) happen(n int) { h.happenTo(n, fact) }

func (h *herald) happenTo(n int, make func(messages.Seq) messages.FactRecorded) {
	for range n {
		h.last++
		f := make(h.last)
		if err := h.journal.Append([]messages.FactRecorded{f}); err != nil {
			h.t.Fatal(err)
		}
		if h.kid != nil && h.spec.filter.Passes(f.Fact) {
			h.sys.Root.Send(h.kid, deliver{after: h.given, facts: []messages.FactRecorded{f}, upTo: h.last})
			h.given = h.last
		}
	}
	h.settle()
}

func (h *herald) ack(n messages.Seq) { h.tell(messages.Acknowledge{Channel: "c1", Seq: n}) }

// notes are the numbers that the subscriber was told of.
func (h *herald) notes() []messages.Seq {
	var out []messages.Seq
	for _, n := range of[messages.Notification](h.client.take()) {
		out = append(out, n.Seq)
	}
	return out
}

func (h *herald) expect(want ...messages.Seq) {
	h.t.Helper()
	got := h.notes()
	if len(got) != len(want) {
		h.t.Fatalf("told of %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			h.t.Fatalf("told of %v, want %v", got, want)
		}
	}
}

func TestChannelKeepsToItsWindow(t *testing.T) {
	withChannel(t, channelSpec{window: 2}, func(h *herald) {
		h.open()
		same(t, h.client.take(), messages.Subscribed{Channel: "c1"})
		h.happen(5)
		h.expect(1, 2)
		h.ack(99) // it was not told of 99, nor of 3
		h.expect(3, 4)
		h.ack(3)
		h.expect(5)
		h.ack(5)
		h.expect()
		if h.reads > 0 {
			t.Errorf("what is in the outbox was read from the journal")
		}
	})
}

func TestChannelBoundsItsWindow(t *testing.T) {
	withChannel(t, channelSpec{window: 100_000}, func(h *herald) {
		h.open()
		h.happen(messages.MaxOutbox + 10)
		if n := len(h.notes()); n != messages.MaxOutbox {
			t.Errorf("%d facts are unacknowledged, want at most %d", n, messages.MaxOutbox)
		}
	})
	withChannel(t, channelSpec{}, func(h *herald) {
		h.open()
		h.happen(messages.DefaultWindow + 10)
		if n := len(h.notes()); n != messages.DefaultWindow {
			t.Errorf("%d facts are unacknowledged, want %d", n, messages.DefaultWindow)
		}
	})
}

// A subscriber that is slow costs no memory and misses nothing.
func TestFaultChannelReadsOnFromTheJournal(t *testing.T) {
	withChannel(t, channelSpec{window: 10}, func(h *herald) {
		h.openWatched()
		h.happen(2000)
		if n := len(h.made.outbox); n > messages.MaxOutbox {
			t.Fatalf("the outbox holds %d facts", n)
		}
		if h.reads > 0 || len(h.made.outbox) > 0 {
			t.Errorf("%d pages were read and %d facts held for a subscriber that acknowledges none", h.reads, len(h.made.outbox))
		}
		told := h.notes()
		for len(told) < 2000 {
			h.ack(told[len(told)-1])
			more := h.notes()
			if len(more) == 0 {
				t.Fatalf("silence after %d facts", len(told))
			}
			told = append(told, more...)
			if n := len(h.made.outbox); n > messages.MaxOutbox {
				t.Fatalf("the outbox holds %d facts", n)
			}
		}
		for i, n := range told {
			if n != messages.Seq(i+1) {
				t.Fatalf("fact %d came as number %d", n, i+1)
			}
		}
		h.ack(2000)
		reads := h.reads
		h.happen(3) // it has caught up: these come without the journal
		h.expect(2001, 2002, 2003)
		if h.reads != reads {
			t.Errorf("the journal was read for what was delivered")
		}
	})
}

// openWatched opens the channel so that the test can look into it when it rests.
func (h *herald) openWatched() {
	spec := h.spec
	h.raise(h.deps.props(func() actor.Actor {
		h.made = &channel{deps: h.deps, spec: spec, sentUpTo: spec.after, bufferedUpTo: spec.after, last: spec.last}
		return h.made
	}), kindChannel)
}

// What the journal has forgotten is said, in one word and exactly.
func TestFaultChannelSaysWhatIsDropped(t *testing.T) {
	onStage(t, func(s *stage) {
		s.journal = journal.NewMemory(100)
		playChannel(s, channelSpec{after: 50}, func(h *herald) {
			h.happen(1000)
			h.open()
			got := h.client.take()
			same(t, got[:3], messages.Subscribed{Channel: "c1", After: 50},
				messages.FactsDropped{Channel: "c1", From: 51, To: 900},
				messages.Notification{Channel: "c1", Seq: 901, Fact: fact(901).Fact})
			for n := messages.Seq(901); n < 1000; n++ {
				h.ack(n)
			}
			if dropped := of[messages.FactsDropped](h.client.take()); len(dropped) > 0 {
				t.Errorf("dropped %v, which is there", dropped)
			}
		})
	})
}

// A journal that holds nothing any more drops all of it.
func TestChannelOfAnEmptyJournal(t *testing.T) {
	withChannel(t, channelSpec{last: 7, after: 2}, func(h *herald) {
		h.react = func(ctx actor.Context) {
			if m, ok := ctx.Message().(readFacts); ok {
				ctx.Respond(factsRead{after: m.after, last: 7})
			}
		}
		h.open()
		same(t, h.client.take(), messages.Subscribed{Channel: "c1", After: 2}, messages.FactsDropped{Channel: "c1", From: 3, To: 7})
	})
}

// What a filter holds back is no gap, and costs no window.
func TestChannelFilters(t *testing.T) {
	mixed := func(n messages.Seq) messages.FactRecorded {
		f := fact(n)
		if n%10 == 0 {
			f.Fact = messages.CommandFinished{Job: messages.Record{ID: "j1", Scope: "main/a", Seq: n}}
		}
		return f
	}
	withChannel(t, channelSpec{window: 1, filter: messages.Filter{Ends: true, Scope: "main"}}, func(h *herald) {
		h.open()
		h.happenTo(1000, mixed)
		h.expect(10)
		for n := messages.Seq(10); n < 1000; n += 10 {
			h.ack(n)
			got := h.client.take()
			if len(got) != 1 || got[0].(messages.Notification).Seq != n+10 {
				t.Fatalf("after %d: got %s", n, listed(got))
			}
		}
		h.ack(1000)
		h.happenTo(3, fact)
		same(t, h.client.take())
	})
}

// What a filter held back is not said to be dropped, either, when the journal
// has forgotten it by the time that the channel reads on.
func TestChannelDropsNothingThatWasFiltered(t *testing.T) {
	onStage(t, func(s *stage) {
		s.journal = journal.NewMemory(300)
		playChannel(s, channelSpec{window: 1, filter: messages.Filter{Job: "j1"}}, func(h *herald) {
			h.open()
			h.happen(1)
			h.happenTo(500, func(n messages.Seq) messages.FactRecorded {
				return messages.FactRecorded{Seq: n, Fact: messages.ScopeOpened{Path: "main"}}
			})
			h.happen(messages.MaxOutbox + 1) // more than the outbox takes
			h.client.take()
			h.ack(1)
			got := h.client.take()
			if len(got) != 1 || of[messages.Notification](got)[0].Seq != 502 {
				t.Fatalf("got %s\nwant the next that passes", listed(got))
			}
		})
	})
}

func TestFilter(t *testing.T) {
	job := messages.Record{ID: "j1", UID: "U1", Scope: "main/a"}
	ended, began := messages.CommandFinished{Job: job}, messages.CommandStarted{Job: job}
	for _, c := range []struct {
		filter messages.Filter
		fact   messages.Fact
		want   bool
	}{
		{messages.Filter{}, began, true},
		{messages.Filter{}, messages.SessionOpened{}, true},
		{messages.Filter{Ends: true}, began, false},
		{messages.Filter{Ends: true}, ended, true},
		{messages.Filter{Ends: true}, messages.CommandRetired{Job: job}, false},
		{messages.Filter{Ends: true}, messages.ScopeClosed{Path: "main"}, false},
		{messages.Filter{Scope: "main"}, began, true},
		{messages.Filter{Scope: "main/b"}, began, false},
		{messages.Filter{Scope: "main"}, messages.SessionOpened{Info: messages.SessionInfo{Scope: "main/a"}}, true},
		{messages.Filter{Scope: "main/b"}, messages.SessionClosed{Scope: "main/a"}, false},
		{messages.Filter{Scope: "main/b"}, messages.SessionReplaced{Scope: "main/b"}, true},
		{messages.Filter{Scope: "main/b"}, messages.ScopeOpened{Path: "main/b/c"}, true},
		{messages.Filter{Scope: "main/b"}, messages.ScopeClosed{Path: "main"}, false},
		{messages.Filter{Job: "j1"}, began, true},
		{messages.Filter{Job: "U1"}, began, true},
		{messages.Filter{Job: "j2"}, began, false},
		{messages.Filter{Job: "j1"}, messages.ScopeOpened{Path: "main"}, false},
	} {
		if got := c.filter.Passes(c.fact); got != c.want {
			t.Errorf("%+v passes %T: %v, want %v", c.filter, c.fact, got, c.want)
		}
	}
}

// A channel that is made again does not greet again, and goes on behind what
// was acknowledged.
func TestChannelResumes(t *testing.T) {
	withChannel(t, channelSpec{window: 4}, func(h *herald) {
		h.happen(5)
		h.spec.after, h.spec.resumed = 2, true
		h.open()
		got := h.client.take()
		if greeted := of[messages.Subscribed](got); len(greeted) > 0 {
			t.Errorf("a subscriber was greeted twice")
		}
		if told := of[messages.Notification](got); len(told) != 3 || told[0].Seq != 3 {
			t.Errorf("got %s, want 3 to 5", listed(got))
		}
	})
	withChannel(t, channelSpec{after: 99}, func(h *herald) {
		h.happen(5)
		h.open()
		same(t, h.client.take(), messages.Subscribed{Channel: "c1", After: 5}) // 99 was another node's
		h.happen(1)
		h.expect(6)
	})
}

func TestChannelEnds(t *testing.T) {
	withChannel(t, channelSpec{}, func(h *herald) {
		h.open()
		h.client.take()
		other := h.stage.client()
		other.ask(messages.Unsubscribe{Channel: "c1"})
		bye := messages.Unsubscribed{Channel: "c1", Reason: "unsubscribed"}
		same(t, h.client.take(), bye)
		same(t, other.take(), bye)
		same(t, h.heard.take()[:1], childDone{who: h.kid})
	})
	withChannel(t, channelSpec{}, func(h *herald) { // nobody to be answered beside the subscriber
		h.open()
		h.client.take()
		h.tell(messages.Unsubscribe{Channel: "c1"})
		same(t, h.client.take(), messages.Unsubscribed{Channel: "c1", Reason: "unsubscribed"})
		same(t, h.heard.take()[:1], childDone{who: h.kid})
	})
}

// A channel that is still waiting for a page ends when it has come.
func TestChannelEndsWhenNoAnswerIsOnItsWay(t *testing.T) {
	withChannel(t, channelSpec{after: 1, last: 9}, func(h *herald) {
		h.now(true, nil)
		h.open()
		h.client.take()
		h.client.ask(messages.Unsubscribe{Channel: "c1"})
		same(t, h.client.take(), messages.Unsubscribed{Channel: "c1", Reason: "unsubscribed"})
		h.client.ask(messages.Unsubscribe{Channel: "c1"}) // again, while it goes
		same(t, h.client.take(), messages.Unsubscribed{Channel: "c1", Reason: "unsubscribed"})
		if left := of[childDone](h.heard.take()); len(left) > 0 {
			t.Fatal("it left although a page was on its way")
		}
		h.tell(factsRead{after: 1, facts: []messages.FactRecorded{fact(2)}, last: 9})
		same(t, h.client.take())
		if left := of[childDone](h.heard.take()); len(left) != 1 {
			t.Fatalf("it said ended %d times, want once", len(left))
		}
	})
}

func TestChannelFlushes(t *testing.T) {
	withChannel(t, channelSpec{window: 2}, func(h *herald) {
		h.open()
		h.happen(3)
		asker := h.stage.client()
		asker.ask(flush{})
		same(t, asker.take())
		h.ack(2)
		same(t, asker.take())
		h.ack(3)
		same(t, asker.take(), flushed{})
		asker.ask(flush{})
		same(t, asker.take(), flushed{})
	})
	withChannel(t, channelSpec{}, func(h *herald) { // a subscriber that left without a word holds nothing up
		h.open()
		h.happen(3)
		h.client.leave()
		asker := h.stage.client()
		asker.ask(flush{})
		same(t, asker.take(), flushed{})
		h.happen(3)
	})
}

// A page that does not come, or cannot be read, is asked for again.
func TestChannelAsksAgain(t *testing.T) {
	withChannel(t, channelSpec{}, func(h *herald) {
		h.happen(3)
		h.now(true, nil)
		h.open()
		h.client.take()
		h.after(readPatience - 1)
		h.now(false, errors.New("the disk is gone"))
		h.expect()
		h.after(1)
		h.expect()
		h.now(false, nil)
		h.after(readPatience)
		h.expect(1, 2, 3)
	})
}

// A journal that can never be read ends the channel, after the facts that were read. The
// subscriber gets the error and what to do; nothing is asked again.
func TestFaultChannelEndsWhenTheJournalIsDamaged(t *testing.T) {
	damaged := &messages.Error{Code: messages.Refused, Reason: "journal_damaged", Message: "it is damaged", Hint: "move it away"}
	told := *damaged
	told.Message, told.Hint = "cannot read the journal: it is damaged", "move it away; then restart the node"
	bye := messages.Unsubscribed{Channel: "c1", Reason: told.Message, Err: &told}
	withChannel(t, channelSpec{window: messages.MaxOutbox}, func(h *herald) {
		h.happen(messages.MaxOutbox + 1)
		h.open()
		if n := len(h.notes()); n != messages.MaxOutbox {
			t.Fatalf("%d facts were read, want %d", n, messages.MaxOutbox)
		}
		h.now(false, damaged)
		h.heard.take()
		h.ack(messages.MaxOutbox)
		same(t, h.client.take(), bye)
		h.after(10 * readPatience)
		same(t, h.client.take())
		if left := of[childDone](h.heard.take()); len(left) != 1 || h.reads != 2 {
			t.Errorf("it said ended %d times and read %d times, want 1 and 2", len(left), h.reads)
		}
	})
	withChannel(t, channelSpec{}, func(h *herald) { // a flush does not wait for it, nor for a subscriber that has left
		h.happen(3)
		h.now(true, nil)
		h.open()
		asker := h.stage.client()
		asker.ask(flush{})
		h.client.leave()
		h.tell(factsRead{err: damaged})
		same(t, asker.take(), flushed{})
	})
}

// Whatever is recorded and acknowledged when, and however often the channel is
// made again: every fact above the last acknowledged one is told in order, or
// was forgotten by the journal and said to be.
func TestChannelMissesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.IntRange(0, 400), 1, 25).Draw(rt, "plan")
		limit := rapid.SampledFrom([]int{50, 300, 100_000}).Draw(rt, "limit")
		window := rapid.IntRange(1, 300).Draw(rt, "window")
		synctest.Test(t, func(t *testing.T) {
			t.Logf("plan %v, limit %d, window %d", plan, limit, window)
			playOn(t, func(s *stage) {
				s.deaf = true // a page may come for a channel that was stopped
				s.journal = journal.NewMemory(limit)
				playChannel(s, channelSpec{window: window}, func(h *herald) { h.live(plan) })
			})
		})
	})
}

func (h *herald) live(plan []int) {
	h.open()
	next, acked := messages.Seq(1), messages.Seq(0)
	hear := func() {
		for _, m := range h.client.take() {
			switch m := m.(type) {
			case messages.Notification:
				if m.Seq != next {
					h.t.Fatalf("told of %d where %d was due", m.Seq, next)
				}
				next++
			case messages.FactsDropped:
				held, err := h.journal.Read(0, 1)
				if err != nil || m.From != next || m.To < m.From || m.To >= held[0].Seq {
					h.t.Fatalf("dropped %d to %d; due was %d, and %v is held (%v)", m.From, m.To, next, held, err)
				}
				next = m.To + 1
			}
		}
	}
	for _, step := range plan {
		switch {
		case step < 200:
			h.happen(step)
		case step < 380:
			hear()
			acked += (next - 1 - acked) * messages.Seq(step-200) / 179
			h.ack(acked)
		default: // it is made again, as after a crash
			h.sys.Root.Stop(h.kid)
			h.settle()
			hear()
			h.spec.after, h.spec.resumed, next = acked, true, acked+1
			h.open()
		}
		hear()
	}
	for range 100_000 {
		if hear(); next > h.last {
			return
		}
		acked = next - 1
		h.ack(acked)
	}
	h.t.Fatalf("told up to %d of %d", next-1, h.last)
}
