package conformance

import (
	"time"

	"troupe/backends"
	"troupe/messages"
)

func stopCases() []testCase {
	return []testCase{
		{"a stop that is obeyed", stopObeyed, ownProcess},
		{"a stop that is ignored", stopIgnored, ownProcess},
		{"the result waits for the tree", stopWaitsForTree, ownProcess},
		{"no grace", stopAtOnce, ownProcess},
		{"first cause, shorter grace", stopTwice, ownProcess},
		{"a stop after the end", stopAfterEnd, 0},
		{"a stop during the start", stopEarly, 0},
		{"a stopped process", stopStopped, ownProcess},
		{"the deadline holds without a supervisor", deadline, ownProcess},
		{"the deadline is moved", deadlineMoved, 0},
		{"stopped from many sides", stopRaces, 0},
	}
}

func stopObeyed(b *bench) {
	r := b.start("obey").ready()
	r.stop(messages.ByClient, time.Minute)
	f := r.gone(messages.ByClient)
	if f.Status.Code != 7 || f.Status.Signal != "" || f.Cause.Signal != "TERM" {
		b.Errorf("ended with %+v by %+v", f.Status, f.Cause)
	}
	if text := r.read(messages.Merged); text != "ready\nbye\n" {
		b.Errorf("it wrote %q", text)
	}
}

// stopIgnored checks that KILL comes after the grace and not before it (F19).
func stopIgnored(b *bench) {
	const grace = time.Second
	r := b.start("ignore").ready()
	asked := r.stop(messages.ByClient, grace)
	f := r.gone(messages.ByClient)
	_, at := await[messages.ProcessExited](r.factRecorder)
	if took := at.Sub(asked); took < grace || took > 10*grace+patience/2 {
		b.Errorf("killed after %s, the grace is %s", took, grace)
	}
	if f.Status.Signal != "KILL" || f.Cause.Signal != "KILL" {
		b.Errorf("ended with %+v by %+v", f.Status, f.Cause)
	}
}

// stopWaitsForTree checks that the result of a stopped job comes after the end of its
// tree.
func stopWaitsForTree(b *bench) {
	const grace = time.Second
	r := b.start("bad child").ready()
	asked := r.stop(messages.ByClient, grace)
	f := r.gone(messages.ByClient)
	_, at := await[messages.ProcessExited](r.factRecorder)
	if at.Sub(asked) < grace || f.Status.Code != 5 || f.Children != 0 || f.OutputOpen {
		b.Errorf("after %s: %+v", at.Sub(asked), f)
	}
}

func stopAtOnce(b *bench) {
	r := b.start("obey").ready()
	r.stop(messages.ByScope, 0)
	if f := r.gone(messages.ByScope); f.Status.Signal != "KILL" || f.Cause.Signal != "KILL" {
		b.Errorf("ended with %+v by %+v", f.Status, f.Cause)
	}
}

func stopTwice(b *bench) {
	r := b.start("ignore").ready()
	r.stop(messages.ByDeadline, 10*time.Minute)
	r.stop(messages.ByClient, time.Hour)
	r.quiet(100*time.Millisecond, func(f messages.ProcessFact) bool { return true })
	asked := r.stop(messages.ByClient, 500*time.Millisecond)
	r.gone(messages.ByDeadline)
	if _, at := await[messages.ProcessExited](r.factRecorder); at.Sub(asked) < 500*time.Millisecond {
		b.Errorf("killed after %s", at.Sub(asked))
	}
}

func stopAfterEnd(b *bench) {
	r := b.start("hello")
	r.over()
	n := len(r.all())
	for range 3 {
		r.stop(messages.ByClient, 0)
		r.stop(messages.ByScope, time.Second)
	}
	r.process.Do(backends.Signal{Name: "TERM"})
	r.quiet(100*time.Millisecond, func(messages.ProcessFact) bool { return true })
	if len(r.all()) != n {
		b.Errorf("facts after the last one: %s", show(r.all()[n:]))
	}
}

// stopEarly checks that a job stopped before its start has one end too.
func stopEarly(b *bench) {
	for range 20 {
		r := b.start("sleep")
		r.stop(messages.ByClient, 0)
		if r.hasBegun() {
			r.gone(messages.ByClient)
		}
	}
}

// hasBegun waits for the start, and returns false if a stop prevented it.
func (r *run) hasBegun() bool {
	r.Helper()
	r.until("a start or its failure", func(heard []messages.ProcessFact) bool {
		return count[messages.ProcessFailed](heard)+count[messages.ProcessStarted](heard) > 0
	})
	return count[messages.ProcessFailed](r.all()) == 0
}

// stopStopped checks that a job in SIGSTOP can be stopped (F20).
func stopStopped(b *bench) {
	r := b.start("stopped").ready()
	r.stop(messages.ByClient, 10*time.Second)
	if f := r.gone(messages.ByClient); f.Status.Signal != "TERM" && f.Status.Signal != "KILL" {
		b.Errorf("ended with %+v", f.Status)
	}
}

func deadline(b *bench) {
	before := time.Now()
	r := b.start("sleep", func(c *backends.Command) { c.Deadline, c.Grace = 500*time.Millisecond, time.Minute })
	f := r.over()
	if f.Cause.By != messages.ByDeadline || f.Cause.Signal != "TERM" || time.Since(before) < 500*time.Millisecond {
		b.Errorf("after %s: %+v", time.Since(before), f.Cause)
	}
}

func deadlineMoved(b *bench) {
	r := b.start("slow", func(c *backends.Command) { c.Deadline, c.Grace = 2*time.Second, time.Minute })
	r.process.Do(backends.Deadline{})
	if f := r.over(); f.Cause.By != messages.ByNone || f.Status.Code != 0 {
		b.Errorf("a removed deadline ended it: %+v", f)
	}
	r = b.start("sleep", func(c *backends.Command) { c.Deadline, c.Grace = time.Hour, time.Minute }).ready()
	r.process.Do(backends.Deadline{After: 100 * time.Millisecond})
	if f := r.over(); f.Cause.By != messages.ByDeadline {
		b.Errorf("the new deadline: %+v", f.Cause)
	}
}

// stopRaces lets a stop, a deadline and the exit meet: one outcome, one cause (F47).
func stopRaces(b *bench) {
	for i := range 10 {
		r := b.start("slow", func(c *backends.Command) { c.Deadline = time.Duration(20*i) * time.Millisecond })
		timer := time.AfterFunc(time.Duration(100+20*i)*time.Millisecond, func() { r.stop(messages.ByClient, 10*time.Second) })
		if !r.hasBegun() { // after a slow start the stop comes first
			continue
		}
		f := r.over()
		timer.Stop()
		if f.Cause.By == messages.ByNone && f.Status != (messages.ExitStatus{}) {
			b.Errorf("without a cause it ended with %+v", f.Status)
		}
	}
}
