package conformance

import (
	"slices"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func idleCases() []testCase {
	return []testCase{
		{"a job that writes nothing is stopped", idleStopped, 0},
		{"output keeps a job from being idle", idleAfterOutput, input | pipes},
		{"a paused job is not idle", idlePaused, 0},
		{"a job that a signal has stopped is not idle", idleFrozen, signals | ownProcess | realOnes},
		{"an idle timeout and an exit", idleExited, 0},
	}
}

// idle gives a command an idle timeout and a short grace.
func idle(limit time.Duration) func(*backends.Command) {
	return func(c *backends.Command) { c.Attr.IdleTimeout, c.Grace = limit, time.Second }
}

// wasIdle waits for the end of an idle job, and checks that it was announced, not before a time.
func (r *run) wasIdle(limit time.Duration, from time.Time) {
	r.Helper()
	f := r.over()
	want := messages.IdleCause(limit)
	if f.Cause.By != want.By || f.Cause.Reason != want.Reason || f.Cause.Signal == "" {
		r.Errorf("ended by %+v, want %+v", f.Cause, want)
	}
	said, at := await[messages.ProcessStopping](r.factRecorder)
	if n := count[messages.ProcessStopping](r.all()); said.Cause != want || n != 1 {
		r.Errorf("%d facts of a stop, the first %+v", n, said)
	}
	if at.Sub(from) < limit {
		r.Errorf("stopped after %s, want %s", at.Sub(from), limit)
	}
}

func idleStopped(b *bench) {
	const limit = 300 * time.Millisecond
	from := time.Now()
	b.start("sleep", idle(limit)).wasIdle(limit, from)
}

// announced reports whether a fact announces the stop of an idle job.
func announced(f messages.ProcessFact) bool { _, is := f.(messages.ProcessStopping); return is }

// idleAfterOutput lets a job answer once. If that did not count, it would be stopped too early. On
// a busy machine the answer may come too late, and the timeout is longer then.
func idleAfterOutput(b *bench) {
	for limit := time.Second; ; limit *= 4 {
		r := b.start("cat", withInput, idle(limit))
		r.begun()
		r.process.NotifyGrowth(messages.Merged, 0)
		from := time.Now()
		r.process.Do(backends.Input{Data: []byte("x\n")})
		r.until("an answer, or a stop", func(heard []messages.ProcessFact) bool {
			return count[messages.OutputGrew](heard)+count[messages.ProcessStopping](heard) > 0
		})
		if slices.ContainsFunc(r.all(), announced) {
			r.over()
			continue
		}
		r.wasIdle(limit, from)
		return
	}
}

// idlePaused checks that the time of a pause does not count, and that the whole timeout follows.
func idlePaused(b *bench) {
	const limit = 300 * time.Millisecond
	r := b.start("sleep", idle(limit))
	r.begun()
	r.process.Do(backends.Pause{})
	r.answers(1)
	r.quiet(3*limit, announced)
	from := time.Now()
	r.process.Do(backends.Resume{})
	r.wasIdle(limit, from)
}

// idleFrozen checks that a job has its whole timeout after the CONT that ends its STOP.
func idleFrozen(b *bench) {
	const limit = 300 * time.Millisecond
	r := b.start("sleep", idle(limit)).ready()
	r.process.Do(backends.Signal{Name: "STOP", Tree: true})
	r.answers(1)
	r.quiet(3*limit, announced)
	from := time.Now()
	r.process.Do(backends.Signal{Name: "CONT", Tree: true})
	r.wasIdle(limit, from)
}

// idleExited lets the time of idle jobs meet their exit: one end, of one kind.
func idleExited(b *bench) {
	for i := range 10 {
		r := b.start("slow", idle(time.Duration(1+6*i)*time.Millisecond))
		if !r.hasBegun() {
			continue
		}
		f := r.over()
		if stopped := count[messages.ProcessStopping](r.all()) == 1; f.Cause.By != messages.ByNone && f.Cause.By != messages.ByIdle || f.Cause.By == messages.ByIdle && !stopped {
			b.Errorf("%+v, announced: %t", f.Cause, stopped)
		}
	}
}
