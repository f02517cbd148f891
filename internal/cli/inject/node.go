package inject

import (
	"context"
	nethttp "net/http"
	"time"

	"troupe/faults"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// node lets what clients ask and get meet faults.
type node struct {
	http.Node
	in *Injector
}

// Node returns a node whose clients meet the faults of the plan. Run tells its jobs.
func (i *Injector) Node(of http.Node) http.Node { return &node{Node: of, in: i} }

// submitted is a run whose reply may be lost.
type submitted struct {
	http.Submitted
	in *Injector
}

// Submit implements http.Node.
func (n *node) Submit(r messages.RunCommand) http.Submitted {
	return submitted{Submitted: n.Node.Submit(r), in: n.in}
}

// Wait implements http.Submitted. A reply that is lost ends the connection.
func (s submitted) Wait(ctx context.Context) (messages.Record, error) {
	job, err := s.Submitted.Wait(ctx)
	if err != nil {
		return job, err
	}
	for _, f := range s.in.at(faults.Reply, job.UID, identityOf(job)) {
		if f.Do == faults.Drop {
			panic(nethttp.ErrAbortHandler)
		}
		pause(ctx, f.For)
	}
	return job, nil
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}

// at returns the faults of an event of a job that a client names.
func (n *node) at(ctx context.Context, p faults.Point, id messages.JobID) []faults.Fault {
	job, err := n.Node.Job(ctx, id)
	if err != nil {
		return nil // the request says so
	}
	return n.in.at(p, job.UID, identityOf(job))
}

// Ask implements http.Node.
func (n *node) Ask(ctx context.Context, request messages.Refusable) (any, error) {
	r, is := request.(messages.WriteInput)
	if !is {
		return n.Node.Ask(ctx, request)
	}
	times := 1
	for _, f := range n.at(ctx, faults.Input, r.Job) {
		switch f.Do {
		case faults.Drop:
			r.Data, r.Keys, r.Paste = nil, "", ""
		case faults.ShortWrite:
			r.Data = r.Data[:min(len(r.Data), f.Bytes)]
		case faults.Duplicate:
			times++
		case faults.Delay:
			pause(ctx, f.For)
		case faults.Errno:
			return nil, &messages.Error{Code: messages.Internal, Reason: f.Errno, Message: "the input cannot be written: " + f.Errno}
		}
	}
	var reply any
	var err error
	for range times {
		if reply, err = n.Node.Ask(ctx, r); err != nil {
			break
		}
	}
	return reply, err
}

// Read implements http.Node.
func (n *node) Read(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	due := n.at(ctx, faults.Read, r.Job)
	if err := readError(due); err != nil {
		return messages.OutputPage{}, err
	}
	for _, f := range due {
		if f.Do == faults.Delay || f.Do == faults.SlowReader {
			pause(ctx, f.For)
		}
	}
	page, err := n.Node.Read(ctx, r)
	for _, f := range due {
		page.Text, page.Data = string(changed([]byte(page.Text), f)), changed(page.Data, f)
	}
	return page, err
}

// Output implements http.Node.
func (n *node) Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (http.Output, error) {
	due := n.at(ctx, faults.Read, id)
	if err := readError(due); err != nil {
		return nil, err
	}
	o, err := n.Node.Output(ctx, id, stream, from)
	if err != nil || len(due) == 0 {
		return o, err
	}
	return &output{Output: o, ctx: ctx, due: due}, nil
}
