package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// noon is when everything of a table happens.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// asked is a request of client 7.
func asked(r any) Asked { return Asked{By: 7, Request: r} }

// exited is the end of a process; the engine stopped it for cause.
func exited(status messages.ExitStatus, cause messages.Cause) messages.ProcessExited {
	return messages.ProcessExited{Seq: 3, Status: status, Cause: cause, At: noon, Sizes: messages.Sizes{5}}
}

// The phases of a job, as it comes into them: a job with a budget and a timeout.
var phases = []struct {
	name string
	road []any
}{
	{"queued", []any{Placed{}}},
	{"starting", []any{Placed{}, Granted{}}},
	{"running", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}}},
	{"background", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}, asked(messages.PromoteCommand{})}},
	{"stopping", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}, asked(messages.StopCommand{})}},
	{"draining", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}, messages.MainExited{}}},
	{"finished", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}, exited(messages.ExitStatus{}, messages.Cause{})}},
	{"closed", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}, exited(messages.ExitStatus{}, messages.Cause{}), messages.OutputClosed{Seq: 4}}},
	{"ended", []any{Placed{}, Granted{}, messages.ProcessStarted{PID: 42, At: noon}, exited(messages.ExitStatus{}, messages.Cause{}), messages.TreeEnded{Seq: 4}}},
	{"retired", []any{
		Placed{},
		Granted{},
		messages.ProcessStarted{PID: 42, At: noon},
		exited(messages.ExitStatus{}, messages.Cause{}),
		messages.OutputClosed{Seq: 4},
		messages.TreeEnded{Seq: 5},
	}},
}

// The events, each in its most telling form. Timers are of the last generation.
var events = []struct {
	name  string
	event any
}{
	{"placed", Placed{}},
	{"granted", Granted{}},
	{"budget", Budget},
	{"deadline", Deadline},
	{"recorded", Recorded{}},
	{"last word", Recorded{Retired: true}},
	{"forgotten", Forgotten{Err: messages.Error{Code: messages.NotFound}}},
	{"stop", asked(messages.StopCommand{By: messages.ByScope, Grace: time.Second})},
	{"promote", asked(messages.PromoteCommand{})},
	{"promote to stay", asked(messages.PromoteCommand{Keep: true})},
	{"extend", asked(messages.ChangeDeadline{Extend: time.Hour})},
	{"unlimit", asked(messages.ChangeDeadline{None: true})},
	{"input", asked(messages.WriteInput{})},
	{"Started", messages.ProcessStarted{PID: 43, At: noon}},
	{"Failed", messages.ProcessFailed{Seq: 1, Err: messages.Error{Code: messages.SpawnFailed}, Shell: 127, At: noon}},
	{"MainExited", messages.MainExited{}},
	{"exit 3", exited(messages.ExitStatus{Code: 3}, messages.Cause{})},
	{"exit 3, all", messages.ProcessExited{Seq: 3, Last: 5, Status: messages.ExitStatus{Code: 3}, At: noon}},
	{"SIGKILL", exited(messages.ExitStatus{Signal: "KILL", Number: 9}, messages.Cause{})},
	{"stopped", exited(messages.ExitStatus{Signal: "TERM", Number: 15}, messages.Cause{By: messages.ByClient})},
	{"timed out", exited(messages.ExitStatus{Signal: "TERM", Number: 15}, messages.Cause{By: messages.ByDeadline})},
	{"OutputClosed", messages.OutputClosed{Seq: 6, Sizes: messages.Sizes{9}}},
	{"TreeEnded", messages.TreeEnded{Seq: 6}},
	{"InputAwaited", messages.InputWaiting{Waiting: true}},
	{"LogBlocked", messages.LogBlocked{Blocked: true}},
	{"LogFlagged", messages.LogFlagged{Flag: messages.FlagLogUnlinked}},
	{"InputWritten", messages.InputWritten{Through: 1}},
	{"ControlDone", messages.ControlDone{}},
	{"ControlRefused", messages.ControlRefused{}},
}

// subject is a job of ten minutes' budget and an hour's timeout, made at noon.
func subject() Command {
	return Command{
		Job:    &messages.Record{ID: "j1", Created: noon, Output: []messages.StreamOutput{{Stream: messages.Merged}}},
		Limits: Limits{PromoteAfter: 10 * time.Minute, Timeout: time.Hour},
	}
}

// step takes an event, or the expiry of a timer.
func step(c Command, event any) (Command, []Effect) {
	if t, timer := event.(Timer); timer {
		event = Expired{Timer: t, Gen: int(c.gens[t])}
	}
	return c.Step(noon, event)
}

// short is an effect in few words.
func short(e Effect) string {
	switch e := e.(type) {
	case Tell:
		name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e.Fact), "messages.Command"))
		if name == "finished" {
			name += "=" + string(e.Job.End.Outcome)
		}
		if e.Job.HasFlag(messages.FlagKept) {
			name += "+kept"
		}
		if e.Last {
			name += "+retired"
		}
		return name
	case Reply:
		name := strings.TrimPrefix(fmt.Sprintf("%T", e.Reply), "messages.")
		if r, no := e.Reply.(messages.CommandRejected); no {
			name = string(r.Err.Code)
		}
		return fmt.Sprintf("%d:%s", e.To, name)
	case Arm:
		return fmt.Sprintf("arm%d %s", e.Timer, e.After)
	case Disarm:
		return fmt.Sprintf("disarm%d", e.Timer)
	case Stop:
		return fmt.Sprintf("STOP %s %s", e.Cause.By, e.Grace)
	case Start:
		return fmt.Sprintf("START %s", e.Deadline)
	case Do:
		return "DO " + strings.TrimPrefix(fmt.Sprintf("%T", e.Request), "messages.")
	case Settle:
		return fmt.Sprintf("settle %d", e.Seq)
	case Retire:
		return "retire"
	}
	return fmt.Sprintf("%T", e)
}

// answer is the next state and the effects of one event in one phase.
func answer(road []any, event any) string {
	c := subject()
	for _, e := range road {
		c, _ = step(c, e)
	}
	before := c.Job.State
	c, todo := step(c, event)
	var parts []string
	if c.Job.State != before {
		parts = append(parts, "→"+string(c.Job.State))
	}
	for _, e := range todo {
		parts = append(parts, short(e))
	}
	return strings.Join(parts, ", ")
}

func TestCommandTable(t *testing.T) {
	for _, e := range events {
		for _, p := range phases {
			got := answer(p.road, e.event)
			if want, ok := commandTable[e.name][p.name]; got != want || !ok && got != "" {
				t.Errorf("%-14s in %-10s: %q, want %q", e.name, p.name, got, want)
			}
		}
	}
}

// Whoever asked hears the answer of the number that the process was asked with,
// whatever it has answered before.
func TestAnswersAreKnownByTheirNumbers(t *testing.T) {
	c := subject()
	for _, e := range []any{Granted{}, messages.ProcessStarted{PID: 42, At: noon}} {
		c, _ = step(c, e)
	}
	nth := map[ReplyID]uint64{}
	for i, r := range []any{messages.WriteInput{}, messages.ChangeDeadline{None: true}, messages.SignalCommand{}, messages.ResizeTerminal{}} {
		var todo []Effect
		c, todo = step(c, Asked{By: ReplyID(i + 1), Request: r})
		for _, e := range todo {
			if do, is := e.(Do); is {
				nth[ReplyID(i+1)] = do.Nth
			}
		}
	}
	for _, x := range []struct {
		fact messages.ControlAnswer
		want string
	}{
		{messages.ControlDone{Nth: nth[3]}, "3:Acknowledged"},
		{messages.ControlDone{Nth: 99}, ""},
		{messages.ControlDone{Nth: nth[2]}, ""}, // told before
		{messages.ControlRefused{Nth: nth[4], Err: messages.Error{Code: messages.Unsupported}}, "4:unsupported"},
		{messages.InputWritten{Nth: nth[1], Through: 3}, "1:InputWritten"},
	} {
		var todo []Effect
		c, todo = step(c, x.fact)
		got := ""
		for _, e := range todo {
			got += short(e)
			if r := e.(Reply); r.To == 1 && r.Reply != any(messages.InputWritten{Through: 3}) {
				t.Errorf("the client hears %+v", r.Reply)
			}
		}
		if got != x.want {
			t.Errorf("%+v: %q, want %q", x.fact, got, x.want)
		}
	}
}
