package lifecycle

import (
	"slices"
	"time"

	"troupe/messages"
)

// Command is the state of one command. Job is its record, which every fact carries;
// Job.State is its phase. A record is replaced, never changed, so that all actors share it.
type Command struct {
	Job    *messages.Record
	Limits Limits

	stoppers []ReplyID // clients that wait for the end of the process tree
	controls []control // requests that the process has not answered
	asks     uint64    // requests sent to the process
	result   uint64    // the engine's number of the result
	seq      uint64    // the engine's number of its last fact
	gens     [timers]int32
	own      bool // Job was copied in this step and not reported yet
	closed   bool // OutputClosed has come
	ended    bool // TreeEnded has come
	kept     bool // the journal has the reported facts, or is not waited for
	unsaved  bool // kept although the journal does not have them
}

// Rebuild returns the machine of a job after a crash of its actor or a restart of the node.
// It takes the facts that the engine replays and reports none of them twice.
func Rebuild(job *messages.Record, limits Limits) Command {
	return Command{Job: job, Limits: limits}
}

// Step returns the next state and the effects of an event.
func (c Command) Step(now time.Time, event any) (Command, []Effect) {
	c.own = false
	switch e := event.(type) {
	case Placed:
		return c.placed(now)
	case Asked:
		return c.asked(now, e)
	case Recorded:
		return c.recorded(e)
	case messages.ControlAnswer:
		return c.answered(e)
	case messages.InputWaiting, messages.LogBlocked, messages.LogFlagged:
		return c.noticed(e)
	case messages.OutputClosed, messages.TreeEnded:
		return c.over(e)
	case Forgotten:
		return c.forgotten(now, e)
	}
	if c.Job.State.Ended() {
		return c.again(event)
	}
	switch e := event.(type) {
	case Granted:
		return c.granted(now)
	case NeverStarts:
		return c.neverStarts(now, e)
	case Expired:
		return c.expired(e)
	case messages.ProcessStarted:
		return c.started(e)
	case messages.ProcessFailed:
		return c.failed(e)
	case messages.ProcessLost:
		return c.lost(e)
	case messages.ProcessStopping:
		return c.stopping(e.Cause)
	case messages.MainExited:
		return c.draining()
	case messages.ProcessExited:
		return c.exited(e)
	}
	return c, nil
}

// placed arms the timers with the time that is left of them.
func (c Command) placed(now time.Time) (Command, []Effect) {
	if c.Job.State == "" {
		c.edit().State = messages.Queued
	}
	var todo []Effect
	if c.Job.State.Ended() {
		return c, nil
	}
	if c.Limits.PromoteAfter > 0 && !c.Job.Background && !c.Limits.Background {
		todo = append(todo, c.arm(Budget, c.Job.Created.Add(c.Limits.PromoteAfter).Sub(now)))
	}
	if !c.Job.Deadline.IsZero() {
		todo = append(todo, c.arm(Deadline, c.Job.Deadline.Sub(now)))
	}
	return c, todo
}

// tell returns the effect that reports a fact with the current record.
func (c *Command) tell(fact messages.CommandFact) Tell {
	c.own = false
	return Tell{Fact: fact, Job: c.Job}
}

// edit returns the record for changes. It copies a record that other actors may have.
func (c *Command) edit() *messages.Record {
	if !c.own {
		job := *c.Job
		c.Job, c.own = &job, true
	}
	return c.Job
}

// In returns the machine of a job that starts in dir.
func (c Command) In(dir string) Command {
	if dir != c.Job.Dir {
		c.own = false
		c.edit().Dir = dir
	}
	return c
}

func (c *Command) arm(t Timer, after time.Duration) Effect {
	c.gens[t]++
	return Arm{Timer: t, After: max(after, 0), Gen: int(c.gens[t])}
}

func (c *Command) disarm(t Timer) Effect {
	c.gens[t]++
	return Disarm{t}
}

// granted starts the job. Its deadline runs from here: time in the queue does not count.
func (c Command) granted(now time.Time) (Command, []Effect) {
	if c.Job.State != messages.Queued && c.Job.State != messages.Starting {
		return c, nil
	}
	c.edit().State = messages.Starting
	todo := []Effect{Start{}}
	if c.Limits.Timeout > 0 && c.Job.Deadline.IsZero() {
		c.edit().Deadline = now.Add(c.Limits.Timeout)
		todo = []Effect{c.arm(Deadline, c.Limits.Timeout), Start{Deadline: c.Limits.Timeout}}
	} else if !c.Job.Deadline.IsZero() {
		todo = []Effect{Start{Deadline: max(c.Job.Deadline.Sub(now), time.Nanosecond)}}
	}
	return c, todo
}

// neverStarts ends a queued job whose conditions cannot come true.
func (c Command) neverStarts(now time.Time, e NeverStarts) (Command, []Effect) {
	if c.Job.State != messages.Queued {
		return c, nil
	}
	c.closed, c.ended = true, true
	j := c.edit()
	j.End.Err, j.End.At = e.Err, now
	return c.finish(messages.FailedToStart)
}

// started takes a start. The engine repeats it at each adoption.
func (c Command) started(e messages.ProcessStarted) (Command, []Effect) {
	j := c.edit()
	j.PID, j.StartTime, j.Isolation = e.PID, e.StartTime, e.Isolation
	first := j.Started.IsZero()
	j.Started = e.At
	if j.State == messages.Queued || j.State == messages.Starting {
		j.State = messages.Running
	}
	if !first { // the former actor may have reported the start and not the promotion
		if c.Limits.Background && !c.Job.Background && c.Job.State == messages.Running {
			return c.promote(nil)
		}
		return c, nil
	}
	todo := []Effect{c.tell(messages.CommandStarted{})}
	if c.Limits.Background && !c.Job.Background {
		c, todo = c.promote(todo)
	}
	return c, todo
}

func (c Command) promote(todo []Effect) (Command, []Effect) {
	c.edit().Background = true
	return c, append(todo, c.disarm(Budget), c.tell(messages.CommandPromoted{}))
}

func (c Command) expired(e Expired) (Command, []Effect) {
	if e.Gen != int(c.gens[e.Timer]) {
		return c, nil
	}
	switch {
	case e.Timer == Budget && !c.Job.Background && c.Job.State != messages.Stopping:
		return c.promote(nil)
	case e.Timer == Deadline && (c.Job.State == messages.Starting || c.Job.State == messages.Running):
		cause := messages.Cause{By: messages.ByDeadline, Reason: "it ran longer than its timeout"}
		return c.stop(cause, c.Limits.grace(0))
	}
	return c, nil
}

// stop sets the cause, once, and stops the process tree.
func (c Command) stop(cause messages.Cause, grace time.Duration) (Command, []Effect) {
	j := c.edit()
	j.State, j.End.Cause = messages.Stopping, cause
	return c, []Effect{Stop{cause, grace}, c.tell(messages.CommandStopping{})}
}

// stopping takes that the engine stops the job by itself.
func (c Command) stopping(cause messages.Cause) (Command, []Effect) {
	if c.Job.State != messages.Starting && c.Job.State != messages.Running {
		return c, nil
	}
	j := c.edit()
	j.State, j.End.Cause = messages.Stopping, cause
	return c, []Effect{c.tell(messages.CommandStopping{})}
}

func (c Command) draining() (Command, []Effect) {
	if c.Job.State == messages.Draining || c.Job.State == messages.Stopping {
		return c, nil // a stopping job stays Stopping until it ends
	}
	c.edit().State = messages.Draining
	return c, []Effect{c.tell(messages.CommandDraining{})}
}

// failed ends a job that has no process.
func (c Command) failed(e messages.ProcessFailed) (Command, []Effect) {
	c.result, c.seq, c.closed, c.ended = e.Seq, e.Seq, true, true
	j := c.edit()
	j.End.At, j.End.Err = e.At, e.Err
	if j.End.Cause.By != messages.ByNone { // stopped before it could start
		j.End.Err = messages.Error{}
		return c.finish(j.End.Cause.OutcomeOf())
	}
	return c.finish(messages.FailedToStart)
}

// lost ends a job whose result cannot be known.
func (c Command) lost(e messages.ProcessLost) (Command, []Effect) {
	c.result, c.seq, c.closed, c.ended = e.Seq, max(c.seq, e.Seq), true, true
	j := c.edit()
	j.End.At, j.End.Err, j.End.Survivors = e.At, e.Err, e.Survivors
	j.Flags = union(j.Flags, e.Flags)
	c.outputs(e.Sizes, e.Outputs)
	return c.finish(messages.Lost)
}

// exited takes the result. The cause is the engine's: a job that exits by itself before a
// stop reaches it was not stopped.
func (c Command) exited(e messages.ProcessExited) (Command, []Effect) {
	j := c.edit()
	c.result, c.seq = e.Seq, max(c.seq, e.Seq, e.Last)
	if e.Last > 0 { // includes the end of the output and of the tree
		c.closed, c.ended = true, true
	}
	j.End.At = e.At
	j.End.SetStatus(e.Status)
	j.End.Cause, j.End.OOM, j.End.Rusage = e.Cause, e.OOM, e.Rusage
	j.End.Pipe = e.Pipe
	j.OutputOpen, j.End.Children, j.End.Survivors = e.OutputOpen, int32(e.Children), e.Survivors //nolint:gosec // processes of a machine
	j.Flags = union(j.Flags, e.Flags)
	c.outputs(e.Sizes, e.Outputs)
	switch {
	case e.Cause.By != messages.ByNone:
		return c.finish(e.Cause.OutcomeOf())
	case e.Status.Signal != "":
		return c.finish(messages.Signaled)
	}
	return c.finish(messages.Exited)
}

// again takes a result that was reported before. The engine replays it after a crash, and
// it still has to be settled.
func (c Command) again(event any) (Command, []Effect) {
	switch e := event.(type) {
	case messages.ProcessExited:
		c.result, c.seq = e.Seq, max(c.seq, e.Seq, e.Last)
		if e.Last > 0 { // no separate OutputClosed and TreeEnded follow
			c.closed, c.edit().OutputOpen = true, false
			c.outputs(e.Sizes, e.Outputs)
			return c.over(messages.TreeEnded{Seq: e.Last, Survivors: e.Survivors})
		}
	case messages.ProcessFailed:
		if c.Job.Started.IsZero() {
			c.result, c.seq, c.closed, c.ended = e.Seq, max(c.seq, e.Seq), true, true
			c, todo := c.answerStoppers(nil)
			return c.retire(todo)
		}
	case messages.ProcessLost: // also of a job with a result that was not settled
		c.result, c.seq, c.closed, c.ended = e.Seq, max(c.seq, e.Seq), true, true
		c, todo := c.answerStoppers(nil)
		return c.retire(todo)
	}
	return c, nil
}

// forgotten ends a job that the engine does not know. Without a result it is lost; with one
// it is retired.
func (c Command) forgotten(now time.Time, e Forgotten) (Command, []Effect) {
	c.closed, c.ended = true, true
	if c.Job.State.Ended() {
		c, todo := c.answerStoppers(nil)
		return c.retire(todo)
	}
	j := c.edit()
	j.End.At, j.End.Err = now, e.Err
	j.Flags = union(j.Flags, []messages.Flag{messages.FlagOutputLost})
	return c.finish(messages.Lost)
}

// finish sets the outcome, once, and answers the clients that wait for the process.
func (c Command) finish(why messages.Outcome) (Command, []Effect) {
	j := c.edit()
	j.State, j.End.Outcome = messages.Finished, why
	j.WaitingForInput, j.WaitingForSecret = false, false
	j.Deadline = time.Time{}
	todo := []Effect{c.disarm(Budget), c.disarm(Deadline), c.tell(messages.CommandFinished{})}
	for _, waits := range c.controls {
		todo = append(todo, refuse(waits.to, JobFinished(c.Job.ID)))
	}
	c.controls = nil
	c, todo = c.answerStoppers(todo)
	return c.retire(todo)
}

// over takes the end of the output or of the tree. A retired job receives it again after a
// crash of its actor.
func (c Command) over(event any) (Command, []Effect) {
	switch e := event.(type) {
	case messages.OutputClosed:
		c.seq, c.closed, c.edit().OutputOpen = max(c.seq, e.Seq), true, false
		c.outputs(e.Sizes, e.Outputs)
	case messages.TreeEnded:
		c.seq, c.ended = max(c.seq, e.Seq), true
		j := c.edit()
		j.End.Children, j.End.Survivors = 0, e.Survivors
	}
	if !c.Job.State.Ended() {
		return c, nil
	}
	c, todo := c.answerStoppers(nil)
	return c.retire(todo)
}

// answerStoppers answers the clients of a stop when the tree has ended or the engine has
// named the survivors. An end that the engine does not know counts when the journal has it:
// the next node starts the job otherwise.
func (c Command) answerStoppers(todo []Effect) (Command, []Effect) {
	stopped := c.Job.End.Cause.By != messages.ByNone
	if !c.ended && !stopped || c.result == 0 && !c.kept {
		return c, todo
	}
	for _, t := range c.stoppers {
		todo = append(todo, Reply{t, messages.CommandStopped{Jobs: []messages.JobID{c.Job.ID}, Survivors: c.Job.End.Survivors}})
	}
	c.stoppers = nil
	return c, todo
}

// outputs sets the sizes of the job's streams, their files and how much was not kept.
func (c *Command) outputs(sizes messages.Sizes, more []messages.OutputState) {
	j := c.edit()
	j.Output = slices.Clone(j.Output)
	for i := range j.Output {
		out := &j.Output[i]
		out.Bytes = max(out.Bytes, sizes[out.Stream])
		for _, m := range more {
			if m.Stream == out.Stream {
				out.File, out.Elided = m.File, m.Elided
			}
		}
	}
}

func union(have, more []messages.Flag) []messages.Flag {
	for _, f := range more {
		if !slices.Contains(have, f) {
			have = append(slices.Clip(have), f)
		}
	}
	return have
}
