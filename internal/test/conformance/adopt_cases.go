package conformance

import (
	"reflect"
	"slices"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func adoptCases() []testCase {
	return []testCase{
		{"an adoption replays", adoptReplays, 0},
		{"an adoption takes over", adoptTakesOver, 0},
		{"an unknown job is not adopted", adoptUnknown, 0},
		{"no facts after a release", releaseIsSilence, 0},
		{"many owners", manyOwners, 0},
		{"a settled job is forgotten", settleForgets, 0},
		{"the inventory", inventory, anEngine},
	}
}

// numbered returns the facts that stay until they are settled.
func numbered(heard []messages.ProcessFact) []messages.ProcessFact {
	return slices.DeleteFunc(slices.Clone(heard), func(f messages.ProcessFact) bool {
		switch f.(type) {
		case messages.ProcessStarted, messages.ProcessFailed, messages.ProcessExited, messages.OutputClosed, messages.TreeEnded:
			return false
		}
		return true
	})
}

// lastNumber returns the highest number among the facts.
func lastNumber(heard []messages.ProcessFact) uint64 {
	last := uint64(0)
	for _, f := range heard {
		switch f := f.(type) {
		case messages.ProcessExited:
			last = max(last, f.Seq)
		case messages.OutputClosed:
			last = max(last, f.Seq)
		case messages.TreeEnded:
			last = max(last, f.Seq)
		}
	}
	return last
}

func adoptReplays(b *bench) {
	first := b.start("hello")
	first.over()
	second, err := b.adopt(b.place, first.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	second.over()
	if got, want := numbered(second.all()), numbered(first.all()); !reflect.DeepEqual(got, want) {
		b.Errorf("replayed %s\nof       %s", show(got), show(want))
	}
}

func adoptTakesOver(b *bench) {
	first := b.start("obey").ready()
	second, err := b.adopt(b.place, first.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	first.forbidMore()
	a, _ := await[messages.ProcessStarted](first.factRecorder)
	s, _ := await[messages.ProcessStarted](second.factRecorder)
	if a != s {
		b.Errorf("adopted as %+v, started as %+v", s, a)
	}
	second.stop(messages.ByClient, time.Minute)
	second.gone(messages.ByClient)
	first.process.Release() // of what it has no more
	if third, err := b.adopt(b.place, first.command.ID); err != nil {
		b.Error(err)
	} else {
		third.over()
	}
}

func adoptUnknown(b *bench) {
	if _, err := b.adopt(b.place, b.id()); !isError(err, messages.NotFound) {
		b.Errorf("adopting an unknown job: %v", err)
	}
}

func releaseIsSilence(b *bench) {
	first := b.start("slow").ready()
	first.process.NotifyGrowth(messages.Merged, 6)
	first.process.Release()
	first.forbidMore()
	first.process.Release()
	second, err := b.adopt(b.place, first.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	if f := second.over(); f.Status.Code != 0 || second.read(messages.Merged) != "ready\n1\n2\n3\n4\n5\n" {
		b.Errorf("released, it ended with %+v", f)
	}
}

// manyOwners checks that each owner receives the start first, the last one the end, and
// that no owner receives a fact after its release.
func manyOwners(b *bench) {
	r := b.start("slow")
	r.begun()
	for range 200 {
		r.process.Release()
		r.forbidMore()
		next, err := b.adopt(b.place, r.command.ID)
		if err != nil {
			b.Fatal(err)
		}
		next.command = r.command
		r = next
		r.process.NotifyGrowth(messages.Merged, 0)
	}
	r.over()
}

func settleForgets(b *bench) {
	first := b.start("hello")
	f := first.over()
	first.process.Settle(f.Seq)
	second, err := b.adopt(b.place, first.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	second.until("the rest", func(heard []messages.ProcessFact) bool { return len(numbered(heard)) == 3 })
	if count[messages.ProcessExited](second.all()) > 0 || count[messages.ProcessStarted](second.all()) != 1 {
		b.Errorf("replayed %s", show(second.all()))
	}
	last := lastNumber(second.all())
	second.process.Settle(last)
	if _, err := b.adopt(b.place, first.command.ID); !isError(err, messages.NotFound) {
		b.Errorf("adopting a forgotten job: %v", err)
	}
	second.process.Settle(last)
	second.process.Release()
}

func inventory(b *bench) {
	r := b.start("obey").ready()
	find := func() *backends.InventoryJob {
		b.Helper()
		all, err := b.Engine.Inventory(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, h := range all {
			if h.ID == r.command.ID {
				return &h
			}
		}
		return nil
	}
	if h := find(); h == nil || !h.Live || h.Ended || string(h.Meta) != "meta" {
		b.Errorf("live: %+v", h)
	}
	r.process.SaveMeta([]byte("other"))
	if h := find(); h == nil || string(h.Meta) != "other" {
		b.Errorf("noted: %+v", h)
	}
	r.stop(messages.ByClient, time.Minute)
	r.gone(messages.ByClient)
	if h := find(); h == nil || h.Live || !h.Ended {
		b.Errorf("over: %+v", h)
	}
	r.process.Settle(lastNumber(r.all()))
	if h := find(); h != nil {
		b.Errorf("settled: %+v", h)
	}
}
