package node

import (
	"context"
	"slices"
	"sync/atomic"

	"troupe/actors"
	"troupe/backends"
	"troupe/host"
	"troupe/messages"
	"troupe/spill"
)

// Run runs one command and returns its record: finished, or running if it was promoted or
// is a background job. A request that could not become a job is a *messages.Error. A command
// that fails is a job with an outcome and no error.
//
// When ctx ends first, Run returns its error at once, with a record that has only the UID.
// The job is then stopped, unless it is in the background or another client waits for it by
// its Key. After the end of ctx nothing is run.
func (n *Node) Run(ctx context.Context, r messages.RunCommand) (messages.Record, error) {
	if err := ctx.Err(); err != nil {
		return messages.Record{}, err
	}
	return n.Submit(r).Wait(ctx)
}

// Submitted is a run whose request was sent.
type Submitted struct {
	// UID names the job in Job, Output and Ask. A request that joins another job by its Key
	// has that job's UID instead, which is in the record that Wait returns.
	UID    messages.UID
	given  messages.AbandonRun // gives the run up
	node   *Node
	reply  *pendingReply
	waited atomic.Bool
}

// Submit sends a run without waiting for its result. Call Wait once afterwards.
func (n *Node) Submit(r messages.RunCommand) *Submitted {
	if r.UID == "" {
		r.UID = newUID()
	}
	given := messages.AbandonRun{UID: r.UID, Key: r.Key, Principal: r.Principal}
	s := &Submitted{UID: r.UID, given: given, node: n, reply: n.expectReply()}
	if n.Err() == nil { // else Wait returns the error
		n.parts.workers.Join()
		defer n.parts.workers.Leave()
		n.system.Root.RequestWithCustomSender(n.supervisor, cloneRun(r), s.reply.pid)
	}
	return s
}

// Wait returns what Run does. A second call is refused.
func (s *Submitted) Wait(ctx context.Context) (messages.Record, error) {
	if s.waited.Swap(true) { // the reply was taken
		err := messages.Invalid("waited", "Wait was called before on this run, and returns its result once")
		err.Hint = "find the job by its UID, and wait for it with messages.WaitJobs"
		return messages.Record{UID: s.UID}, err
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
	return messages.Record{UID: s.UID}, cause()
}

func (s *Submitted) result(reply any) (messages.Record, error) {
	if reply == (undelivered{}) {
		return messages.Record{UID: s.UID}, s.node.cause()
	}
	return s.node.result(reply)
}

// result returns the record in the reply to a run, or the error of its refusal.
func (n *Node) result(reply any) (messages.Record, error) {
	switch m := reply.(type) {
	case messages.CommandFinished:
		return n.measured(m.Job), nil
	case messages.CommandPromoted:
		return n.measured(m.Job), nil
	}
	return messages.Record{}, messages.Refusal(reply)
}

// tell sends a message that has no reply.
func (n *Node) tell(request any) {
	if n.Err() == nil {
		n.system.Root.Send(n.supervisor, request)
	}
}

// Job finds a job by its id, its ULID or its name. An id has precedence over a name. A name
// means the live job that has it, else the newest that has ended; "SCOPE/NAME" means one at or
// below a scope. A name that several live jobs have is an error.
func (n *Node) Job(ctx context.Context, id messages.JobID) (messages.Record, error) {
	found, err := host.Ask(ctx, n.Host(), messages.FindJob{Job: id})
	return found.Job, err
}

// measured returns the record with the present sizes of its logs. Messages do not carry
// sizes; the logs alone have them.
func (n *Node) measured(job messages.Record) messages.Record {
	out := make([]messages.StreamOutput, len(job.Output))
	copy(out, job.Output)
	for i := range out {
		log, err := n.logs.Open(string(job.UID), uint8(out[i].Stream))
		if err != nil { // nothing was written, or the log was removed
			gone(&out[i])
			continue
		}
		measure(&out[i], log.State())
		_ = log.Close()
	}
	job.Output = out
	return job
}

// Measure sets the present sizes, files and gaps of outputs in records. Job, Jobs and Run do
// so themselves. The records in replies of Ask lack the sizes of a running job.
func (n *Node) Measure(jobs []messages.Record) { n.measureAll(jobs) }

// measureAll measures all records, with one call if the logs live in another process.
func (n *Node) measureAll(jobs []messages.Record) {
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

// gone clears the file of an output whose log was removed. The final sizes stay.
func gone(o *messages.StreamOutput) { o.File = "" }
