package mcp

import (
	"context"
	"errors"

	"troupe/internal/dialect"
	"troupe/messages"
)

// feedStdin writes the standard input of a job and closes it. It continues after the
// call's result, when the job may not have read all of it.
func (c *call) feedStdin(ctx context.Context, f *activeRun) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	select {
	case <-f.known:
	case <-f.done: // the run is over, or its result came before the notice of its start
	}
	id := messages.JobID(f.uid)
	input := messages.WriteInput{Job: id, Data: []byte(f.in.Stdin)}
	err := dialect.Input(ctx, c.options.Host, input)
	if notStarted(err) {
		if err = c.starts(ctx, id); err == nil {
			err = dialect.Input(ctx, c.options.Host, input)
		}
	}
	if err == nil {
		err = dialect.CloseInput(ctx, c.options.Host, id)
	}
	for _, over := range []messages.Code{messages.JobFinished, messages.NoInput, messages.NotFound} { // the job need not read everything, or exist any more
		if isCode(err, over) {
			return
		}
	}
	if err != nil {
		c.log.Warn("cannot write the standard input of a job", "job", id, "error", err)
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
	look := func() { // the job may have left before the subscription
		job, err := dialect.Job(ctx, c.options.Host, id)
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
