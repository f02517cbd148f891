package conformance

import (
	"time"

	"troupe/backends"
	"troupe/messages"
)

func executorCases() []testCase {
	return []testCase{
		{"a close ends leftovers", closeEnds, 0},
		{"a close ends running jobs", closeEndsRunning, ownProcess},
		{"a close leaves kept jobs", closeLeaves, ownProcess},
		{"children are ended at once", childrenEnded, 0},
		{"a released executor ends nothing", releasedPlace, 0},
		{"a yielded job", yielded, ownProcess},
	}
}

// closed closes an executor and waits for ShellClosed.
func (b *bench) closed(place backends.Executor, grace time.Duration) messages.ShellClosed {
	b.Helper()
	n := count[messages.ShellClosed](b.closings.all())
	place.Close(grace)
	place.Close(grace)
	var last messages.ShellClosed
	b.closings.until("the end of the place", func(heard []messages.ProcessFact) bool {
		for _, f := range heard {
			if c, ok := f.(messages.ShellClosed); ok {
				last = c
			}
		}
		return count[messages.ShellClosed](heard) > n
	})
	b.closings.quiet(50*time.Millisecond, func(messages.ProcessFact) bool { return true })
	return last
}

func onExit(o messages.OnExit) func(*backends.Command) {
	return func(c *backends.Command) { c.OnExit = o }
}

func closeEnds(b *bench) {
	r := b.start("held", onExit(messages.AdoptChildren))
	r.result()
	if c := b.closed(b.place, 5*time.Second); len(c.Survivors) > 0 {
		b.Errorf("survivors: %+v", c.Survivors)
	}
	if n := count[messages.TreeEnded](r.all()); n != 1 {
		b.Error("the executor closed before the tree ended")
	}
	r.over()
}

func closeEndsRunning(b *bench) {
	r := b.start("ignore").ready()
	silent := b.start("obey").ready()
	silent.process.Release()
	silent.forbidMore()
	b.closed(b.place, 200*time.Millisecond)
	if f := r.over(); f.Cause.By != messages.ByScope || f.Status.Signal != "KILL" {
		b.Errorf("ended with %+v by %+v", f.Status, f.Cause)
	}
}

func closeLeaves(b *bench) {
	other := b.open()
	kept := b.start("held", onExit(messages.KeepChildren))
	kept.result()
	b.closed(b.place, 0)
	kept.quiet(200*time.Millisecond, func(messages.ProcessFact) bool { return true })
	kept.stop(messages.ByClient, time.Minute)
	kept.over()
	b.place = other
}

func childrenEnded(b *bench) {
	b.start("held", onExit(messages.KillChildren)).over()
}

// held returns the inventory for opening an executor: the job, and a shared shell if
// there is one.
func (b *bench) held(id messages.UID) []backends.InventoryJob {
	if !b.Shared {
		return []backends.InventoryJob{{ID: id, Meta: []byte("meta"), Live: true}}
	}
	all, err := b.Engine.Inventory(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// releasedPlace checks that a released executor ends nothing, and one opened with its
// jobs does.
func releasedPlace(b *bench) {
	first := b.start("ignore").ready()
	first.process.Release()
	first.forbidMore()
	b.place.Release()
	b.place.Close(0)
	b.place = b.open(b.held(first.command.ID)...)
	second, err := b.adopt(b.place, first.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	second.quiet(200*time.Millisecond, func(f messages.ProcessFact) bool { _, ok := f.(messages.ProcessStarted); return !ok })
	if n := count[messages.ShellClosed](b.closings.all()); n > 0 {
		b.Error("a released executor emitted ShellClosed")
	}
	b.closed(b.place, 0)
	second.over()
	b.place = b.open()
}

func yielded(b *bench) {
	r := b.start("ignore").ready()
	r.process.Release()
	r.forbidMore()
	other := b.open()
	b.place.Yield(r.command.ID)
	b.closed(b.place, 0)
	b.place = other
	taken, err := b.adopt(other, r.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	await[messages.ProcessStarted](taken.factRecorder)
	taken.quiet(200*time.Millisecond, func(messages.ProcessFact) bool { return true })
	b.closed(other, 0)
	taken.over()
	b.place = b.open()
}
