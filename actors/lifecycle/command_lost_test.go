package lifecycle

import (
	"testing"

	"troupe/messages"
)

// A job whose keeper died is lost in whatever phase it is, once; one that has a
// result keeps it. Either is settled when it is recorded.
func TestLostProcess(t *testing.T) {
	lost := messages.ProcessLost{Seq: 9, Err: messages.Error{Code: messages.Internal, Reason: "keeper"}, At: noon}
	for _, phase := range phases {
		if phase.name == "queued" || phase.name == "retired" {
			continue // nobody has asked an engine, or nothing is left to lose
		}
		c := Rebuild(&messages.Record{ID: "j1", Created: noon}, Limits{})
		told := 0
		step := func(event any) (todo []Effect) {
			c, todo = c.Step(noon, event)
			for _, e := range todo {
				if tell, is := e.(Tell); is {
					if _, finished := tell.Fact.(messages.CommandFinished); finished {
						told++
					}
				}
			}
			return todo
		}
		for _, event := range phase.road {
			step(event)
		}
		before := c.Job.End.Outcome
		step(lost)
		want := messages.Lost
		if before != "" {
			want = before
		}
		if c.Job.End.Outcome != want || told != 1 || c.Job.State != messages.Retired {
			t.Errorf("%s: %s, told %d times, %s", phase.name, c.Job.End.Outcome, told, c.Job.State)
		}
		settled := false
		for _, e := range step(Recorded{Retired: true}) {
			if s, is := e.(Settle); is && s.Seq == 9 {
				settled = true
			}
		}
		if !settled {
			t.Errorf("%s: it is not settled", phase.name)
		}
	}
}

// The record of a lost job has what is left of its output, and says what is not.
func TestLostProcessKeepsItsOutput(t *testing.T) {
	job := messages.Record{ID: "j1", Created: noon, Started: noon, State: messages.Running, Output: []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}}
	lost := messages.ProcessLost{
		Seq: 9, At: noon, Sizes: messages.Sizes{messages.Stdout: 70_000}, Flags: []messages.Flag{messages.FlagOutputLost},
		Outputs: []messages.OutputState{{Stream: messages.Stdout, File: "/log", Elided: []messages.OutputGap{{From: 1, To: 2}}}},
	}
	c, _ := Rebuild(&job, Limits{}).Step(noon, lost)
	out := c.Job.Output[0]
	if out.Bytes != 70_000 || out.File != "/log" || len(out.Elided) != 1 || c.Job.Output[1].Bytes != 0 || !c.Job.HasFlag(messages.FlagOutputLost) {
		t.Errorf("%+v", c.Job)
	}
	lost.Flags = nil
	if c, _ = Rebuild(&job, Limits{}).Step(noon, lost); c.Job.HasFlag(messages.FlagOutputLost) {
		t.Errorf("all of it is stored: %+v", c.Job)
	}
	if c, _ = Rebuild(&job, Limits{}).Step(noon, Forgotten{}); !c.Job.HasFlag(messages.FlagOutputLost) {
		t.Errorf("nothing is known of it: %+v", c.Job)
	}
	if job.Output[0].Bytes != 0 {
		t.Error("the former record was changed")
	}
}
