package lifecycle

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"troupe/messages"
)

// world plays everything around a command that makes sense: its session, which
// keeps the record as it was told and puts a new actor around the job when one
// dies; the engine, which tells what is not settled to each new one; and the
// journal.
type world struct {
	*judge
	limits    Limits
	granted   bool
	record    messages.Record  // as it was last told, or first made
	unwritten []messages.State // ends that were told and are not recorded
	words     []messages.State // that these are recorded is on its way
	gone      bool             // the actor has left for good

	engine engine
}

// engine is what owns the process.
type engine struct {
	starts  int
	known   bool
	state   messages.State // "", Starting, Running, Draining, Finished
	cause   messages.Cause // the first
	owed    int            // answers to controls
	kept    []any          // numbered facts that are not settled
	last    uint64
	closed  bool
	ended   bool
	outcome messages.Outcome // that must come of it
}

func newWorld(t *rapid.T) *world {
	c := drawCommand(t)
	w := &world{judge: newJudge(t, c), limits: c.Limits, record: *c.Job}
	w.record.State = messages.Queued
	return w
}

// do gives the machine an event and performs what it says.
func (w *world) do(event any) { w.perform(w.take(event)) }

func (w *world) perform(todo []Effect) {
	for _, e := range todo {
		switch e := e.(type) {
		case Start:
			w.start()
		case Do:
			w.engine.owed++
		case Stop:
			w.stop(e.Cause)
		case Settle:
			w.settle(e.Seq)
		case Retire:
			w.gone = true
		case Tell:
			for _, fact := range facts(e) {
				w.told(fact)
			}
		}
	}
}

// facts are what is told: one, or an end with the last word.
func facts(t Tell) []messages.CommandFact {
	if !t.Last {
		return []messages.CommandFact{t.Fact.With(*t.Job)}
	}
	end := *t.Job
	end.State = messages.Finished
	return []messages.CommandFact{t.Fact.With(end), messages.CommandRetired{Job: *t.Job}}
}

func (w *world) told(fact messages.CommandFact) {
	w.record = fact.Record()
	switch fact.(type) {
	case messages.CommandFinished, messages.CommandRetired:
		w.unwritten = append(w.unwritten, w.record.State)
	}
}

// start starts the job, or joins it.
func (w *world) start() {
	if w.engine.starts > 0 {
		w.replay()
		return
	}
	w.engine.starts++
	w.engine.known, w.engine.state = true, messages.Starting
}

func (w *world) stop(cause messages.Cause) {
	if w.engine.cause.By == messages.ByNone && w.engine.state != messages.Draining && w.engine.state != messages.Finished {
		w.engine.cause = cause
	}
}

// settle forgets facts, and then the job, if it is over.
func (w *world) settle(seq uint64) {
	for len(w.engine.kept) > 0 && numberOf(w.engine.kept[0]) <= seq {
		w.engine.kept = w.engine.kept[1:]
	}
	if w.engine.state == messages.Finished && w.engine.closed && w.engine.ended && len(w.engine.kept) == 0 {
		w.engine.known = false
	}
}

func numberOf(fact any) uint64 {
	switch f := fact.(type) {
	case messages.ProcessFailed:
		return f.Seq
	case messages.ProcessExited:
		return f.Seq
	case messages.OutputClosed:
		return f.Seq
	}
	return fact.(messages.TreeEnded).Seq
}

// replay tells what a new actor must know.
func (w *world) replay() {
	if w.engine.state != messages.Starting && w.engine.outcome != messages.FailedToStart {
		w.do(messages.ProcessStarted{PID: 42, At: noon})
	}
	for _, fact := range w.engine.kept {
		w.do(fact)
	}
}

// say tells a fact that is kept until it is settled.
func (w *world) say(make func(seq uint64) any) {
	w.engine.last++
	fact := make(w.engine.last)
	w.engine.kept = append(w.engine.kept, fact)
	w.do(fact)
}

// crash ends the actor; the session puts a new one around the job.
func (w *world) crash() {
	w.history = append(w.history, "crash")
	for _, e := range w.c.Abandon(&messages.Error{Code: messages.Internal}) {
		w.weigh(e)
	}
	if len(w.open) > 0 {
		w.fail("nobody answered %v", w.open)
	}
	clear(w.armed)
	w.kept, w.words = false, nil // what was on its way to the one that died is lost
	record := w.record
	w.engine.owed = 0 // answers that are due to the one that died are not told
	w.c = Rebuild(&record, w.limits)
	w.do(Placed{})
	switch {
	case w.record.State == messages.Queued || w.record.State == messages.Starting:
		if w.granted {
			w.do(Granted{})
		}
	case w.engine.known:
		w.replay()
	default:
		w.do(Forgotten{Err: messages.Error{Code: messages.NotFound}})
	}
	if len(w.unwritten) == 0 && w.record.State.Ended() {
		w.words = append(w.words, w.record.State) // the session asks for it again
	}
}

// tick lets the engine do one thing.
func (w *world) tick() {
	e := &w.engine
	if e.owed > 0 && rapid.Bool().Draw(w.t, "answer") {
		e.owed--
		w.do(rapid.SampledFrom([]any{messages.ControlDone{}, messages.ControlRefused{}, messages.InputWritten{Through: 1}}).Draw(w.t, "control"))
		return
	}
	switch e.state {
	case messages.Starting:
		w.tickStarting()
	case messages.Running, messages.Draining:
		w.tickRunning()
	case messages.Finished:
		w.tickFinished()
	}
}

func (w *world) tickStarting() {
	e := &w.engine
	if rapid.IntRange(0, 3).Draw(w.t, "fails") > 0 {
		e.state = messages.Running
		w.do(messages.ProcessStarted{PID: 42, At: noon})
		return
	}
	e.state, e.outcome, e.closed, e.ended = messages.Finished, messages.FailedToStart, true, true
	w.say(func(seq uint64) any {
		return messages.ProcessFailed{Seq: seq, Err: messages.Error{Code: messages.SpawnFailed}, Shell: 127, At: noon}
	})
}

func (w *world) tickRunning() {
	e := &w.engine
	switch pick := rapid.IntRange(0, 4).Draw(w.t, "running"); {
	case pick == 0:
		w.do(messages.InputWaiting{Waiting: rapid.Bool().Draw(w.t, "waiting")})
	case pick == 1:
		w.do(messages.LogFlagged{Flag: messages.FlagLogUnlinked})
	case pick == 2 && e.state == messages.Running:
		e.state = messages.Draining
		w.do(messages.MainExited{At: noon})
	case pick > 2:
		e.state = messages.Finished
		status := rapid.SampledFrom([]messages.ExitStatus{{}, {Code: 3}, {Signal: "KILL", Number: 9}}).Draw(w.t, "status")
		switch {
		case e.cause.By != messages.ByNone:
			e.outcome = e.cause.OutcomeOf()
		case status.Signal != "":
			e.outcome = messages.Signaled
		default:
			e.outcome = messages.Exited
		}
		exit := messages.ProcessExited{Status: status, Cause: e.cause, At: noon, Sizes: messages.Sizes{7}}
		if rapid.Bool().Draw(w.t, "all at once") {
			w.sayAll(exit)
			return
		}
		w.say(func(seq uint64) any {
			exit.Seq = seq
			return exit
		})
	}
}

// sayAll says the result of a job of which nothing is left; what is behind it may
// come late.
func (w *world) sayAll(exit messages.ProcessExited) {
	e := &w.engine
	e.closed, e.ended = true, true
	first := e.last + 1
	e.last += 3
	exit.Seq, exit.Last = first, e.last
	facts := []any{exit, messages.OutputClosed{Seq: first + 1, Sizes: messages.Sizes{9}}, messages.TreeEnded{Seq: e.last}}
	e.kept = append(e.kept, facts...)
	for _, fact := range facts {
		w.do(fact)
	}
}

func (w *world) tickFinished() {
	e := &w.engine
	closes := rapid.Bool().Draw(w.t, "closes")
	switch {
	case closes && !e.closed:
		e.closed = true
		w.say(func(seq uint64) any { return messages.OutputClosed{Seq: seq, Sizes: messages.Sizes{9}} })
	case !closes && !e.ended:
		e.ended = true
		w.say(func(seq uint64) any { return messages.TreeEnded{Seq: seq} })
	}
}

func (w *world) act() {
	switch rapid.IntRange(0, 12).Draw(w.t, "act") {
	case 0:
		if !w.granted && w.c.Job.State == messages.Queued {
			w.granted = true
			w.do(Granted{})
		}
	case 1, 2:
		w.next++
		w.do(Asked{By: w.next, Request: drawRequest(w.t)})
	case 3:
		t := rapid.SampledFrom([]Timer{Budget, Deadline}).Draw(w.t, "timer")
		if gen, runs := w.armed[t]; runs {
			delete(w.armed, t)
			w.do(Expired{Timer: t, Gen: gen})
		}
	case 4:
		w.journal()
	case 5:
		w.hear()
	case 6:
		if !w.gone {
			w.crash()
		}
	default:
		w.tick()
	}
}

// journal records the end, or the last word, and says so, unless it knows more
// already. Its word comes some time.
func (w *world) journal() {
	if len(w.unwritten) > 0 {
		end := w.unwritten[0]
		w.unwritten = w.unwritten[1:]
		if end == messages.Retired || w.record.State != messages.Retired {
			w.words = append(w.words, end)
		}
	}
}

func (w *world) hear() {
	if len(w.words) > 0 && !w.gone {
		word := w.words[0]
		w.words = w.words[1:]
		w.do(Recorded{Retired: word == messages.Retired})
	}
}

// A job in a world that makes sense ends once and as its process did, however
// often its actor dies; whoever asked was answered; it was started once; and
// nothing of it stays in the engine.
func TestCommandLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w.act()
		}
		if !w.granted && w.c.Job.State == messages.Queued {
			w.granted = true
			w.do(Granted{})
		}
		for range 1000 {
			w.tick()
			w.journal()
			w.hear()
		}
		w.over()
		if !w.gone {
			w.fail("the actor did not leave")
		}
		if w.engine.known {
			w.fail("the engine still keeps %v", w.engine.kept)
		}
		if w.engine.starts > 1 {
			w.fail("it ran %d times", w.engine.starts)
		}
		w.checkOutcome()
	})
}

func (w *world) checkOutcome() {
	want := w.engine.outcome
	switch {
	case w.engine.starts == 0:
		want = messages.Cancelled
	case want == messages.FailedToStart && w.engine.cause.By != messages.ByNone:
		want = w.engine.cause.OutcomeOf()
	}
	if w.outcome != want {
		w.fail("it ended as %s, want %s", w.outcome, want)
	}
	if w.engine.starts > 0 && want != messages.FailedToStart && !reflect.DeepEqual(w.record.End.Cause, w.engine.cause) {
		w.fail("the cause is %+v, want %+v", w.record.End.Cause, w.engine.cause)
	}
}
