package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages"
)

// judge watches a machine and says what no sequence of events may bring about.
type judge struct {
	t     *rapid.T
	now   time.Time
	c     Command
	armed map[Timer]int // the generation that is running
	next  ReplyID

	open    map[ReplyID]string // asked and not answered
	process bool               // the engine has one
	told    []messages.CommandFact
	outcome messages.Outcome // as it was told
	retired bool             // was told
	kept    bool             // the journal holds what was told of the end
	history []string
}

func newJudge(t *rapid.T, c Command) *judge {
	j := &judge{t: t, now: noon, c: c, armed: map[Timer]int{}, open: map[ReplyID]string{}}
	j.take(Placed{}) // as its actor does before anything else
	return j
}

func (j *judge) fail(format string, args ...any) {
	j.t.Fatalf("%s\nhistory: %q", fmt.Sprintf(format, args...), j.history)
}

// take gives the machine an event and looks at what it says.
func (j *judge) take(event any) []Effect {
	j.history = append(j.history, fmt.Sprintf("%T%+v", event, event))
	j.now = j.now.Add(time.Second)
	before, record := j.c, *j.c.Job
	if ask, ok := event.(Asked); ok && ask.By != 0 {
		j.open[ask.By] = fmt.Sprintf("%T", ask.Request)
	}
	switch event.(type) {
	case messages.ProcessStarted, messages.MainExited, messages.ProcessExited:
		j.process = true
	}
	var todo []Effect
	j.c, todo = before.Step(j.now, event)
	if again, same := before.Step(j.now, event); !reflect.DeepEqual(again, j.c) || !reflect.DeepEqual(same, todo) {
		j.fail("the same state, event and time gave another answer")
	}
	if !reflect.DeepEqual(*before.Job, record) {
		j.fail("a record that others have was changed to %+v", *before.Job)
	}
	if r, recorded := event.(Recorded); recorded && before.Job.State.Ended() && (r.Retired || before.Job.State != messages.Retired) {
		j.kept = true
	}
	for _, e := range todo {
		j.weigh(e)
	}
	j.constant(*before.Job, event)
	return todo
}

// ask is a request of a new client.
func (j *judge) ask(request any) []Effect {
	j.next++
	return j.take(Asked{By: j.next, Request: request})
}

// expire lets a timer run out that is armed, or one that was.
func (j *judge) expire(t Timer, old bool) {
	gen, runs := j.armed[t]
	if old || !runs {
		gen, runs = int(j.c.gens[t])-1, false
	}
	if todo := j.take(Expired{Timer: t, Gen: gen}); !runs && len(todo) > 0 {
		j.fail("a stale timer did %v", todo)
	}
	if runs {
		delete(j.armed, t)
	}
}

// weigh looks at one effect.
func (j *judge) weigh(effect Effect) {
	switch e := effect.(type) {
	case Tell:
		for _, fact := range facts(e) {
			j.heard(fact)
		}
	case Reply:
		if e.To != 0 && j.open[e.To] == "" {
			j.fail("client %d was answered %T unasked or twice", e.To, e.Reply)
		}
		delete(j.open, e.To)
	case Arm:
		if j.outcome != "" || e.After < 0 {
			j.fail("%s behind the end, or in the past", short(e))
		}
		j.armed[e.Timer] = e.Gen
	case Disarm:
		delete(j.armed, e.Timer)
	case Start:
		j.process = true
	case Stop, Do:
		if !j.process || j.retired {
			j.fail("%s of a job of which there is nothing", short(e))
		}
	case Settle:
		if !j.kept {
			j.fail("settled what is not recorded")
		}
	case Retire:
		if !j.retired || !j.kept {
			j.fail("the actor went before all was said and recorded")
		}
	}
}

// heard looks at one fact on its way up.
func (j *judge) heard(fact messages.CommandFact) {
	if j.retired {
		j.fail("%T was told behind the last word", fact)
	}
	_, changed := fact.(messages.CommandChanged)
	twice := slices.ContainsFunc(j.told, func(f messages.CommandFact) bool { return reflect.TypeOf(f) == reflect.TypeOf(fact) })
	if twice && !changed {
		j.fail("%T was told twice", fact)
	}
	job := fact.Record()
	switch fact.(type) {
	case messages.CommandFinished:
		if job.End.Outcome == "" || job.End.At.IsZero() || job.State != messages.Finished {
			j.fail("an end without outcome, time or state: %+v", job)
		}
		j.outcome, j.kept = job.End.Outcome, false
	case messages.CommandRetired:
		if j.outcome == "" {
			j.fail("it retired before it had finished")
		}
		j.retired, j.kept = true, false
	default:
		if j.outcome != "" {
			j.fail("%T was told behind the end", fact)
		}
	}
	j.told = append(j.told, fact)
}

// constant checks what must stay as it was.
func (j *judge) constant(was messages.Record, event any) {
	now := *j.c.Job
	if was.State.Ended() {
		if now.End.Outcome != was.End.Outcome || now.End.Cause != was.End.Cause || now.End.Signal != was.End.Signal || now.End.At != was.End.At || now.End.Shell() != was.End.Shell() {
			j.fail("the end was changed by %T", event)
		}
		if len(j.armed) > 0 {
			j.fail("a timer outlived the end")
		}
	}
	if was.State == messages.Stopping && now.State == messages.Stopping && now.End.Cause != was.End.Cause {
		j.fail("the cause changed from %+v to %+v", was.End.Cause, now.End.Cause)
	}
	if now.State.Ended() != (now.End.Outcome != "") || (j.outcome != "") != now.State.Ended() || j.retired != (now.State == messages.Retired) {
		j.fail("state %s, outcome %q; told %q, retired %v", now.State, now.End.Outcome, j.outcome, j.retired)
	}
	if order(now.State) < order(was.State) {
		j.fail("%s after %s", now.State, was.State)
	}
}

func order(s messages.State) int {
	return slices.Index([]messages.State{
		"", messages.Queued, messages.Starting, messages.Running, messages.Draining, messages.Stopping, messages.Finished, messages.Retired,
	}, s)
}

// over expects the end: told once, and everybody answered.
func (j *judge) over() {
	switch {
	case j.outcome == "":
		j.fail("the end was not told")
	case !j.retired:
		j.fail("the last word was not told")
	case len(j.open) > 0:
		j.fail("nobody answered %v", j.open)
	}
}

func drawCommand(t *rapid.T) Command {
	c := subject()
	c.Limits = Limits{
		Background:   rapid.Bool().Draw(t, "background"),
		PromoteAfter: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "budget"),
		Timeout:      rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "timeout"),
		Grace:        rapid.SampledFrom([]time.Duration{0, -1, time.Second}).Draw(t, "grace"),
	}
	return c
}

func drawRequest(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		messages.StopCommand{},
		messages.StopCommand{By: messages.ByScope, Grace: -1},
		messages.StopCommand{By: messages.ByShutdown, Grace: time.Second},
		messages.PromoteCommand{},
		messages.PromoteCommand{Keep: true},
		messages.ChangeDeadline{After: time.Minute},
		messages.ChangeDeadline{Extend: time.Minute},
		messages.ChangeDeadline{None: true},
		messages.ChangeDeadline{},
		messages.ChangeDeadline{After: -1},
		messages.WriteInput{Job: "j1"},
		messages.CloseInput{},
		messages.CheckInput{For: time.Second},
		messages.SignalCommand{Signal: "INT"},
		messages.ResizeTerminal{},
		messages.PauseOutput{Hold: true},
	}).Draw(t, "request")
}

// anything is one event of any kind, whether it makes sense or not.
func (j *judge) anything() (ended bool) {
	switch pick := rapid.IntRange(-3, len(events)-1).Draw(j.t, "event"); pick {
	case -3, -2:
		j.ask(drawRequest(j.t))
	case -1:
		j.expire(rapid.SampledFrom([]Timer{Budget, Deadline}).Draw(j.t, "timer"), rapid.Bool().Draw(j.t, "old"))
	default:
		switch e := events[pick].event.(type) {
		case Timer:
			j.expire(e, false)
		case Asked:
			j.ask(e.Request)
		case messages.ProcessFailed, messages.ProcessExited, Forgotten:
			j.take(e)
			return true
		default:
			j.take(e)
		}
	}
	return false
}

// Whatever a command is told, in any order and how often: it ends at most once,
// for good, and when the engine says so.
func TestCommandOfAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newJudge(t, drawCommand(t))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if ended := j.anything(); ended && j.outcome == "" {
				j.fail("the engine told of the end, and nobody else was told")
			}
		}
		j.take(exited(messages.ExitStatus{}, messages.Cause{}))
		j.take(messages.OutputClosed{})
		j.take(messages.TreeEnded{})
		j.over()
		j.ask(messages.StopCommand{})
		j.over()
	})
}

// An actor that goes leaves nobody waiting, whenever it goes.
func TestCommandAbandoned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newJudge(t, drawCommand(t))
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			j.anything()
		}
		for _, e := range j.c.Abandon(&messages.Error{Code: messages.Internal}) {
			j.weigh(e)
		}
		if len(j.open) > 0 {
			j.fail("nobody answered %v", j.open)
		}
	})
}
