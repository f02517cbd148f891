package supervision_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// A subscriber that acknowledges nothing gets its window and no more, whatever
// happens; it delays nobody, and when it goes on it misses nothing.
func TestFaultBackpressureOfASlowSubscriber(t *testing.T) {
	inHouse(t, func(h *house) {
		slow := h.subscribe(messages.Subscribe{Channel: "slow", Window: 4}, false)
		quick := h.subscribe(messages.Subscribe{}, true)
		const jobs = messages.MaxOutbox // three facts each: far more than an outbox holds
		begin := h.since()
		h.runMany(jobs, "job")
		want(h, "time lost", h.since()-begin, 0)
		wantList(h, "the slow one", slow.numbers(), through(1, 4)...)
		wantList(h, "the quick one", quick.numbers(), through(1, h.ledger.last())...)

		for slow.last() < h.ledger.last() {
			before := slow.last()
			slow.acknowledge(before)
			if slow.last() > before+4 {
				h.Fatalf("%d facts were told beyond the window of 4", slow.last()-before)
			}
			if slow.last() == before {
				h.Fatalf("it stands still at %d of %d", before, h.ledger.last())
			}
		}
		wantList(h, "the slow one", slow.numbers(), through(1, h.ledger.last())...)
		h.runMany(1, "live again")
		slow.acknowledge(slow.last())
		wantList(h, "the slow one", slow.numbers(), through(1, h.ledger.last())...)
	})
}

// The window is bounded whatever a client asks for, and so are the channels, beside
// those of the host.
func TestFaultBackpressureBounds(t *testing.T) {
	inHouse(t, func(h *house) {
		h.subscribe(messages.Subscribe{Own: true}, true)
		greedy := h.subscribe(messages.Subscribe{Window: 1 << 30}, false)
		usual := h.subscribe(messages.Subscribe{}, false)
		h.runMany(messages.MaxOutbox/2, "job")
		want(h, "greedy", len(greedy.told()), messages.MaxOutbox)
		want(h, "usual", len(usual.told()), messages.DefaultWindow)
		h.subscribe(messages.Subscribe{Channel: "third"}, true)
		refused(h.ask(messages.Subscribe{}), messages.ResourceExhausted)
		h.subscribe(messages.Subscribe{Own: true}, true)
		h.subscribe(messages.Subscribe{Channel: "third", Resume: true}, true) // one that comes back is none more
	}, plan{limits: actors.Limits{Channels: 3}})
}

// A journal that cannot be read for a while delays the one who needs it, who
// then reads on.
func TestFaultBackpressureReadsOnFromTheJournal(t *testing.T) {
	inHouse(t, func(h *house) {
		slow := h.subscribe(messages.Subscribe{Window: 2}, false)
		h.runMany(messages.MaxOutbox/2, "job")
		last := h.ledger.last()
		h.ledger.fail(fmt.Errorf("input/output error"))
		slow.acknowledge(slow.last())
		slow.acknowledge(slow.last())
		h.after(time.Minute)
		h.ledger.fail(nil)
		h.after(time.Minute)
		for slow.last() < last {
			before := slow.last()
			slow.acknowledge(before)
			if slow.last() == before {
				h.Fatalf("it stands still at %d of %d", before, last)
			}
		}
		wantList(h, "told", slow.numbers(), through(1, last)...)
	})
}

// A reader of output that does not read holds nothing back: the engine tells of
// growth once, and the log grows on.
func TestFaultBackpressureOfOutput(t *testing.T) {
	inHouse(t, func(h *house) {
		c, p := h.start(messages.RunCommand{Program: messages.Program{Text: "yes"}})
		first := h.ask(messages.FollowOutput{Job: "j1"})
		silent(first)
		for range 10_000 {
			p.Write(messages.Merged, "y\n")
		}
		h.after(0)
		grew := 0
		for _, f := range p.Said() {
			if _, ok := f.(messages.OutputGrew); ok {
				grew++
			}
		}
		want(h, "told of growth", grew, 1)
		reply[messages.OutputGrew](first)
		p.Exit(0)
		want(h, "bytes", finished(c).Output[0].Bytes, 20_000)
	})
}

// Starts are admitted only as far as they are bounded: more wait, and more than
// that is refused at once.
func TestBackpressureOfAScript(t *testing.T) {
	inHouse(t, func(h *house) {
		var clients []*client
		for i := range 20 {
			clients = append(clients, h.run(messages.RunCommand{Program: messages.Program{Text: fmt.Sprintf("quick %d", i)}}))
		}
		for _, c := range clients[10:] {
			refused(c, messages.Busy)
		}
		h.after(time.Minute)
		for _, c := range clients[:10] {
			want(h, "status", finished(c).End.Shell(), 3)
		}
	}, plan{limits: actors.Limits{Unstarted: 10, Starts: 2}, fake: fake.Options{Auto: play}})
}
