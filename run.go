package troupe

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/host"
	"troupe/messages"
)

// Run runs a command and waits for its end, or until it goes to the background
// (Record.Background). Any end but exit 0 is an *ExitError. If ctx ends first, Run stops the
// job and all its processes, and returns the error of ctx when they have ended: 30 s after the
// grace at the latest, should the host not answer. A command with a Key is stopped by its host,
// unless another client waits for it.
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
	late, cancel := afterEnd(ctx, c)
	defer cancel()
	job, stopped := n.stopped(late, c.UID)
	return job, errors.Join(ctx.Err(), stopped)
}

// hostPatience bounds what is asked of a host after the end of a context.
const hostPatience = 30 * time.Second

// afterEnd returns a context for what a command needs after the end of its own.
func afterEnd(ctx context.Context, c Command) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), max(c.Grace, messages.DefaultGrace)+hostPatience)
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
	if ctx.Err() != nil {
		late, cancel := afterEnd(ctx, c)
		defer cancel()
		ctx = late
	}
	text, failed := n.text(ctx, job)
	return text, errors.Join(err, failed)
}

// maxOutput bounds the text that Output returns, in bytes.
const maxOutput = 16 << 20

// text reads what a job that Run has returned has written to its first stream by now. A
// process that it left may still write.
func (n *Node) text(ctx context.Context, job Record) (string, error) {
	if len(job.Output) == 0 || job.Output[0].Bytes == 0 {
		return "", nil
	}
	out := job.Output[0]
	if out.Bytes > maxOutput {
		return "", &Error{
			Code: messages.TooLarge, Reason: "output", Message: "the job has written more than 16 MiB", Hint: "read it as a stream, with Start and Job.Stdout",
		}
	}
	r, err := n.host.Output(ctx, messages.JobID(job.UID), out.Stream, 0)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(r, out.Bytes))
	if gaps := r.Gaps(); err == nil && len(gaps) > 0 {
		err = &Error{Code: messages.OutputUnavailable, Reason: "gap", Message: "a part of the output was not kept", Hint: "raise Command.Quota, or read it as a stream while the job runs"}
	}
	return string(b), errors.Join(err, r.Close())
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
