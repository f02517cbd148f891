package troupe

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"troupe/actors"
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Run runs one command and returns its record: finished, or, if it was promoted
// or asked for in the background, running. A command that could not even be
// tried is an error with a code (*messages.Error) and there is no job; one that
// fails is a job with an outcome and no error.
//
// When ctx ends first, Run returns at once with its error and a record that has
// only the UID: the job is stopped behind it, unless others wait for it under
// its Key or it is in the background. A ctx that has ended before runs nothing.
func (n *Node) Run(ctx context.Context, r messages.RunCommand) (messages.Job, error) {
	if err := ctx.Err(); err != nil {
		return messages.Job{}, err
	}
	return n.Submit(r).Wait(ctx)
}

// Submitted is a run that was asked for.
type Submitted struct {
	// UID names its job to Job, Output and Ask, from now on, unless the request
	// joins another's job by its Key: the record that Wait returns tells.
	UID    messages.UID
	given  messages.AbandonRun // what is said to give it up
	node   *Node
	reply  *pendingReply
	waited atomic.Bool
}

// Submit asks for a run and does not wait for it. Wait must follow, once: whoever calls
// it again is refused.
func (n *Node) Submit(r messages.RunCommand) *Submitted {
	if r.UID == "" {
		r.UID = newUID()
	}
	given := messages.AbandonRun{UID: r.UID, Key: r.Key, Principal: r.Principal}
	s := &Submitted{UID: r.UID, given: given, node: n, reply: n.expectReply()}
	if n.Err() == nil { // else Wait says why not
		n.parts.workers.Join()
		defer n.parts.workers.Leave()
		n.system.Root.RequestWithCustomSender(n.supervisor, cloneRun(r), s.reply.pid)
	}
	return s
}

// Wait returns what Run does, to the first who calls it.
func (s *Submitted) Wait(ctx context.Context) (messages.Job, error) {
	if s.waited.Swap(true) { // the reply was taken
		err := messages.Invalid("waited", "this run was waited for before, and its result is told once")
		err.Hint = "find the job by its UID, and wait for it by messages.AwaitJobs"
		return messages.Job{UID: s.UID}, err
	}
	n, p := s.node, s.reply
	defer n.forgetReply(p)
	var cause func() error
	select {
	case reply := <-p.reply:
		return s.result(reply)
	case <-ctx.Done():
		cause = ctx.Err
	case <-n.over:
		cause = n.cause
	}
	select { // the reply may have come with the end
	case reply := <-p.reply:
		return s.result(reply)
	default:
	}
	if n.Err() == nil {
		n.system.Root.RequestWithCustomSender(n.supervisor, s.given, p.pid)
	}
	return messages.Job{UID: s.UID}, cause()
}

func (s *Submitted) result(reply any) (messages.Job, error) {
	if reply == (undelivered{}) {
		return messages.Job{UID: s.UID}, s.node.cause()
	}
	return s.node.result(reply)
}

// result is the record in the reply to a run, or why there is none.
func (n *Node) result(reply any) (messages.Job, error) {
	switch m := reply.(type) {
	case messages.CommandFinished:
		return n.measured(m.Job), nil
	case messages.CommandPromoted:
		return n.measured(m.Job), nil
	}
	return messages.Job{}, messages.Refusal(reply)
}

// tell sends a request whose answer nobody waits for, if anybody hears it.
func (n *Node) tell(request any) {
	if n.Err() == nil {
		n.system.Root.Send(n.supervisor, request)
	}
}

// Job finds a job by its id, its ULID or its name: an id before a name, and of several
// jobs of one name the youngest.
func (n *Node) Job(ctx context.Context, id messages.JobID) (messages.Job, error) {
	reply, err := n.Ask(ctx, messages.FindJob{Job: id})
	if err != nil {
		return messages.Job{}, err
	}
	found, ok := reply.(messages.JobFound)
	if !ok {
		return messages.Job{}, messages.Refusal(reply)
	}
	return n.measured(found.Job), nil
}

// Jobs lists the jobs at and below a scope ("": all), the finished ones too if
// asked, oldest first.
func (n *Node) Jobs(ctx context.Context, scope messages.ScopePath, finished bool) ([]messages.Job, error) {
	reply, err := n.Ask(ctx, messages.ListJobs{Scope: scope, Finished: finished})
	if err != nil {
		return nil, err
	}
	list, ok := reply.(messages.JobList)
	if !ok {
		return nil, messages.Refusal(reply)
	}
	n.measureAll(list.Jobs)
	return list.Jobs, nil
}

// Stop ends a job's whole tree of processes and returns when nothing of it is
// left, or with what is; the record of the job says so by then, unless there is
// an error beside it. grace 0 is the job's own, negative is none.
func (n *Node) Stop(ctx context.Context, id messages.JobID, grace time.Duration) ([]messages.Survivor, error) {
	reply, err := n.Ask(ctx, messages.StopCommand{Job: id, Grace: grace})
	if err != nil {
		return nil, err
	}
	stopped, ok := reply.(messages.CommandStopped)
	if !ok {
		return nil, messages.Refusal(reply)
	}
	// The answer comes straight from the job's actor and may overtake the news.
	reply, err = n.Ask(ctx, messages.WaitJobs{Jobs: stopped.Jobs})
	if err == nil {
		err = messages.Refusal(reply)
	}
	if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		err = nil // it is over, and forgotten
	}
	return stopped.Survivors, err
}

// measured puts into a record what its logs say now: sizes are not sent by
// message, the log itself is their one truth.
func (n *Node) measured(job messages.Job) messages.Job {
	out := make([]messages.StreamOutput, len(job.Output))
	copy(out, job.Output)
	for i := range out {
		log, err := n.logs.Open(string(job.UID), uint8(out[i].Stream))
		if err != nil { // nothing was written, or it is gone
			gone(&out[i])
			continue
		}
		measure(&out[i], log.State())
		_ = log.Close()
	}
	job.Output = out
	return job
}

// Measure puts into records what their logs say now: the sizes and files of outputs, and
// what was not kept of them. What Job, Jobs and Run return is measured; records in the
// replies of Ask have what the tree knows, which of a job that runs is no size.
func (n *Node) Measure(jobs []messages.Job) { n.measureAll(jobs) }

// measureAll measures many, by one question if their logs are in another process.
func (n *Node) measureAll(jobs []messages.Job) {
	many, ok := n.logs.(actors.BatchLogs)
	if !ok {
		for i := range jobs {
			jobs[i] = n.measured(jobs[i])
		}
		return
	}
	ids := make([]string, len(jobs))
	for i := range jobs {
		ids[i] = string(jobs[i].UID)
	}
	states := many.States(ids)
	for i := range jobs {
		jobs[i].Output = slices.Clone(jobs[i].Output)
		for k := range jobs[i].Output {
			o := &jobs[i].Output[k]
			if st, told := states[spill.Name{ID: ids[i], Stream: uint8(o.Stream)}]; told {
				measure(o, st)
			} else {
				gone(o)
			}
		}
	}
}

func measure(o *messages.StreamOutput, st spill.State) {
	o.Bytes, o.File, o.Elided = max(o.Bytes, st.Size), st.File, backends.Elided(st)
}

// gone leaves of an output without a log what was told at its end, but for where it was.
func gone(o *messages.StreamOutput) { o.File = "" }
