package troupe

import (
	"context"
	"errors"

	"github.com/oklog/ulid/v2"

	"troupe/host"
	"troupe/messages"
)

// Run runs a command and waits for its end, or until it goes to the background
// (Record.Background). Any end but exit 0 is an *ExitError. If ctx ends first, Run stops the
// job and all its processes, and returns the error of ctx when they have ended.
func (n *Node) Run(ctx context.Context, c Command) (Record, error) {
	if c.UID == "" && c.Key == "" {
		c.UID = messages.UID(ulid.Make().String())
	}
	done, err := host.Ask(ctx, n.host, c)
	if err == nil {
		return done.Job, endError(done.Job)
	}
	if ctx.Err() == nil || c.UID == "" {
		return done.Job, err
	}
	job, stopped := n.stopped(context.WithoutCancel(ctx), c.UID)
	return job, errors.Join(ctx.Err(), stopped)
}

// stopped stops a job whose client has given up, and returns its record.
func (n *Node) stopped(ctx context.Context, id messages.UID) (Record, error) {
	j := n.job(Record{UID: id})
	err := j.Stop(ctx)
	if errors.Is(err, &Error{Code: messages.NotFound}) {
		return Record{UID: id}, nil // it never was a job
	}
	found, _ := host.Ask(ctx, n.host, messages.FindJob{Job: messages.JobID(id)})
	return found.Job, err
}

// Output runs a command as Run does, and returns what it has written: its stdout and stderr
// in the order in which they arrived, or its stdout if c separates them. More than 16 MiB are
// an error.
func (n *Node) Output(ctx context.Context, c Command) (string, error) {
	job, err := n.Run(ctx, c)
	if job.UID == "" {
		return "", err
	}
	text, failed := n.text(context.WithoutCancel(ctx), job)
	return text, errors.Join(err, failed)
}

// Start starts a command in the background, and returns when it has started or waits in the
// queue of its session. A command that cannot start is an *ExitError.
func (n *Node) Start(ctx context.Context, c Command) (*Job, error) {
	if !c.Mode.Background() {
		c.Mode = messages.ModeAsync
	}
	placed, err := host.Ask(ctx, n.host, c)
	switch {
	case err != nil:
		return nil, err
	case placed.Job.End.Outcome == messages.FailedToStart:
		return nil, endError(placed.Job)
	}
	return n.job(placed.Job), nil
}
