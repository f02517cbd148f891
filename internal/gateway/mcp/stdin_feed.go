package mcp

import (
	"context"
	"errors"

	"troupe/messages"
)

// feed gives a job its standard input, and closes it. It goes on when the call has its
// result: the job may not have read all of it then.
func (c *call) feed(ctx context.Context, f *activeRun) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	select {
	case <-f.known:
	case <-f.done: // it is over, or was not heard of before its result
	}
	id := messages.JobID(f.uid)
	input := messages.WriteInput{Job: id, Data: []byte(f.in.Stdin)}
	err := c.options.Host.Input(ctx, input)
	if notStarted(err) {
		if err = c.starts(ctx, id); err == nil {
			err = c.options.Host.Input(ctx, input)
		}
	}
	if err == nil {
		err = c.options.Host.CloseInput(ctx, id)
	}
	for _, over := range []messages.Code{messages.JobFinished, messages.NoInput, messages.NotFound} { // it need not read all of it, nor be there
		if isCode(err, over) {
			return
		}
	}
	if err != nil {
		c.log.Warn("a job did not get its standard input", "job", id, "error", err)
		f.unfed.Store(&err)
	}
}

func notStarted(err error) bool {
	var e *messages.Error
	return errors.As(err, &e) && e.Reason == "not_started"
}

// starts waits until a job has left the queue.
func (c *call) starts(ctx context.Context, id messages.JobID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := false
	look := func() { // it may have, before it was listened to
		job, err := c.options.Host.Job(ctx, id)
		if left = err == nil && job.State != messages.Queued; left {
			cancel()
		}
	}
	for fact, err := range c.options.Host.Events(ctx, messages.Filter{Job: id}, look) {
		if err != nil && !left {
			return err
		}
		if f, ok := fact.(messages.CommandFact); left || ok && f.Record().State != messages.Queued {
			return nil
		}
	}
	return nil
}
