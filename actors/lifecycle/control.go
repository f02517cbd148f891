package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"troupe/messages"
)

// control is a request that waits for the answer of the process.
type control struct {
	nth        uint64  // its number, see Do
	to         ReplyID // 0: no client
	inputCheck bool    // it is a CheckInput
}

// asked answers a control request once: now, or after the answer of the process.
func (c Command) asked(now time.Time, e Asked) (Command, []Effect) {
	switch r := e.Request.(type) {
	case messages.StopCommand:
		return c.askedToStop(now, e.By, r)
	case messages.PromoteCommand:
		return c.askedToPromote(e.By, r)
	case messages.ChangeDeadline:
		return c.askedForDeadline(now, e.By, r)
	}
	switch {
	case c.Job.State.Ended():
		return c, []Effect{refuse(e.By, JobFinished(c.Job.ID))}
	case c.Job.State == messages.Queued:
		return c, []Effect{refuse(e.By, &messages.Error{
			Code: messages.Refused, Reason: "not_started",
			Message: fmt.Sprintf("job %s has not started yet", c.Job.ID), Hint: "wait until it runs",
		})}
	}
	if len(c.controls) >= messages.MaxWaiting {
		return c, []Effect{refuse(e.By, &messages.Error{
			Code: messages.Busy, Reason: "waiting",
			Message: fmt.Sprintf("job %s: limit of %d unanswered requests reached", c.Job.ID, messages.MaxWaiting),
			Hint:    "retry when the job has read its input",
		})}
	}
	// A pause takes effect at once. A keeper of an older build answers it after the input
	// before it, which a paused job does not read.
	if _, pause := e.Request.(messages.PauseOutput); pause {
		c, do := c.ask(control{}, e.Request)
		return c, []Effect{do, Reply{e.By, messages.Acknowledged{}}}
	}
	_, check := e.Request.(messages.CheckInput)
	c, do := c.ask(control{to: e.By, inputCheck: check}, e.Request)
	was := c.Job.Terminal
	if r, is := e.Request.(messages.ResizeTerminal); is && was != (messages.Terminal{}) && was != r.Size && r.Size.Rows > 0 && r.Size.Cols > 0 {
		c.edit().Terminal = r.Size
		return c, []Effect{do, c.tell(messages.CommandChanged{})}
	}
	return c, []Effect{do}
}

// ask sends a request to the process and keeps it until the answer.
func (c Command) ask(by control, request any) (Command, Do) {
	c.asks++
	by.nth = c.asks
	c.controls = append(slices.Clip(c.controls), by)
	return c, Do{request, by.nth}
}

func (c Command) askedToStop(now time.Time, by ReplyID, r messages.StopCommand) (Command, []Effect) {
	cause := messages.Cause{By: r.By, Reason: r.Reason}
	if cause.By == messages.ByNone {
		cause.By = messages.ByClient
	}
	grace := c.Limits.grace(r.Grace)
	if c.Job.State == messages.Retired && len(c.stoppers) == 0 {
		return c, []Effect{Reply{by, messages.CommandStopped{
			Jobs: []messages.JobID{c.Job.ID}, Survivors: c.Job.End.Survivors, Already: true,
		}}}
	}
	if len(c.stoppers) >= messages.MaxWaiting { // its shorter grace counts nevertheless
		return c, []Effect{Stop{cause, grace}, refuse(by, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "waiting",
			Message: fmt.Sprintf("job %s: limit of %d clients that wait for its end reached", c.Job.ID, messages.MaxWaiting),
			Hint:    "the job is being stopped; read its record",
		})}
	}
	if by != 0 {
		c.stoppers = append(slices.Clip(c.stoppers), by)
	}
	if state := c.Job.State; r.Gone && (state == messages.Queued || state == messages.Starting || state == messages.Running) {
		c.edit().Flags = union(c.Job.Flags, []messages.Flag{messages.FlagClientGone})
	}
	switch c.Job.State {
	case messages.Queued:
		c.closed, c.ended = true, true
		j := c.edit()
		j.End.Cause, j.End.At = cause, now
		return c.finish(cause.OutcomeOf())
	case messages.Starting, messages.Running:
		return c.stop(cause, grace)
	}
	if c.Job.State.Ended() && c.ended { // an escapee holds its output open, or the end is not recorded
		return c.answerStoppers(nil)
	}
	return c, []Effect{Stop{cause, grace}} // may shorten the grace; the first cause stays
}

// askedToPromote moves the job to the background. A new flag Kept of a background job is
// reported as a change.
func (c Command) askedToPromote(by ReplyID, r messages.PromoteCommand) (Command, []Effect) {
	if c.Job.State.Ended() {
		return c, []Effect{refuse(by, JobFinished(c.Job.ID))}
	}
	var todo []Effect
	newlyKept := r.Keep && !c.Job.HasFlag(messages.FlagKept)
	if newlyKept {
		c.edit().Flags = union(c.Job.Flags, []messages.Flag{messages.FlagKept})
	}
	switch {
	case !c.Job.Background:
		c, todo = c.promote(nil)
	case newlyKept:
		todo = []Effect{c.tell(messages.CommandChanged{})}
	}
	return c, append(todo, Reply{by, messages.CommandPromoted{Job: *c.Job}})
}

// askedForDeadline moves the deadline here and in the engine, which enforces it as well.
func (c Command) askedForDeadline(now time.Time, by ReplyID, r messages.ChangeDeadline) (Command, []Effect) {
	switch {
	case c.Job.State.Ended():
		return c, []Effect{refuse(by, JobFinished(c.Job.ID))}
	case c.Job.State == messages.Stopping:
		return c, []Effect{refuse(by, &messages.Error{
			Code: messages.Refused, Reason: "stopping", Message: fmt.Sprintf("job %s is already being stopped", c.Job.ID),
		})}
	}
	if err := checkDeadline(now, c, r); err != nil {
		return c, []Effect{refuse(by, err)}
	}
	if c.Job.State == messages.Queued { // its deadline starts when it leaves the queue
		c.Limits.Timeout = after(r, c.Limits.Timeout)
		c.edit().Timeout = c.Limits.Timeout
		return c, []Effect{c.tell(messages.CommandChanged{}), Reply{by, messages.Acknowledged{}}}
	}
	left := after(r, c.Job.Deadline.Sub(now))
	var timer Effect
	j := c.edit()
	if r.None {
		j.Deadline, j.Timeout = time.Time{}, 0
		timer = c.disarm(Deadline)
	} else {
		j.Deadline = now.Add(left)
		j.Timeout = j.Deadline.Sub(c.begun(now))
		timer = c.arm(Deadline, left)
	}
	c.Limits.Timeout = c.Job.Timeout
	c, do := c.ask(control{}, messages.ChangeDeadline{Job: c.Job.ID, None: r.None, After: left}) // no client waits for its answer
	return c, []Effect{
		timer,
		do,
		c.tell(messages.CommandChanged{}),
		Reply{by, messages.Acknowledged{}},
	}
}

// begun returns the start of the job, or now if it has not started.
func (c Command) begun(now time.Time) time.Time {
	if c.Job.Started.IsZero() {
		return now
	}
	return c.Job.Started
}

func checkDeadline(now time.Time, c Command, r messages.ChangeDeadline) *messages.Error {
	left := c.Limits.Timeout
	if c.Job.State != messages.Queued {
		left = max(c.Job.Deadline.Sub(now), 0)
	}
	none := c.Job.Deadline.IsZero() && (c.Job.State != messages.Queued || c.Limits.Timeout == 0)
	switch {
	case r.None && (r.Extend != 0 || r.After != 0):
		return messages.Invalid("deadline", "give either an extension, a time from now, or none")
	case r.None:
		return nil
	case r.Extend < 0 || r.After < 0 || r.Extend > messages.MaxDuration || r.After > messages.MaxDuration:
		return messages.Invalid("deadline", "a deadline must be positive and at most ten years away")
	case (r.Extend == 0) == (r.After == 0):
		return messages.Invalid("deadline", "give either an extension, a time from now, or none")
	case r.Extend > 0 && !none && left > messages.MaxDuration-r.Extend:
		return messages.Invalid("deadline", "with what is left of it the deadline would be more than ten years away")
	case r.Extend > 0 && none:
		return messages.Invalid("deadline", "the job has no deadline that could be extended; give a time from now")
	}
	return nil
}

// after returns the time to the new deadline. left is what remains of the old one.
func after(r messages.ChangeDeadline, left time.Duration) time.Duration {
	switch {
	case r.None:
		return 0
	case r.Extend > 0:
		return max(left, 0) + r.Extend
	}
	return r.After
}

// answered passes the answer of the process to its client. An answer without a number
// belongs to the oldest request.
func (c Command) answered(fact messages.ControlAnswer) (Command, []Effect) {
	nth := fact.Answers()
	i := slices.IndexFunc(c.controls, func(w control) bool { return nth == 0 || w.nth == nth })
	if i < 0 {
		return c, nil // a request of a former actor, whose clients have got an error
	}
	by := c.controls[i]
	c.controls = slices.Delete(slices.Clone(c.controls), i, i+1)
	if by.to == 0 {
		return c, nil
	}
	switch f := fact.(type) {
	case messages.InputWritten:
		return c, []Effect{Reply{by.to, messages.InputWritten{Through: f.Through}}}
	case messages.ControlRefused:
		return c, []Effect{Reply{by.to, messages.CommandRejected{Err: f.Err}}}
	}
	if by.inputCheck {
		return c, []Effect{Reply{by.to, messages.InputChecked{Waiting: c.Job.WaitingForInput, Secret: c.Job.WaitingForSecret}}}
	}
	return c, []Effect{Reply{by.to, messages.Acknowledged{}}}
}

// noticed records that the job waits for input, blocks on its log, or was flagged.
func (c Command) noticed(fact any) (Command, []Effect) {
	was := c.Job
	j := c.edit()
	switch f := fact.(type) {
	case messages.InputWaiting:
		j.WaitingForInput = f.Waiting && !j.State.Ended()
		j.WaitingForSecret = f.Secret && j.WaitingForInput
	case messages.LogBlocked:
		if f.Blocked {
			j.Flags = union(j.Flags, []messages.Flag{messages.FlagLogBlocked})
		}
	case messages.LogFlagged:
		j.Flags = union(j.Flags, []messages.Flag{f.Flag})
	}
	same := len(j.Flags) == len(was.Flags) && j.WaitingForInput == was.WaitingForInput && j.WaitingForSecret == was.WaitingForSecret
	if same || j.State.Ended() {
		return c, nil // after the outcome only the retirement follows, which carries the record
	}
	return c, []Effect{c.tell(messages.CommandChanged{})}
}

// Abandon refuses all waiting requests: the actor stops, the job goes on.
func (c Command) Abandon(err *messages.Error) []Effect {
	var todo []Effect
	for _, t := range c.stoppers {
		todo = append(todo, refuse(t, err))
	}
	for _, waits := range c.controls {
		if waits.to != 0 {
			todo = append(todo, refuse(waits.to, err))
		}
	}
	return todo
}

func refuse(to ReplyID, err *messages.Error) Effect {
	return Reply{to, messages.CommandRejected{Err: *err}}
}

// JobFinished returns the error of a request that needs an unfinished job.
func JobFinished(id messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.JobFinished, Message: fmt.Sprintf("job %s has finished", id),
		Hint: "its record and output can still be read",
	}
}
