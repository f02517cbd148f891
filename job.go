package troupe

import (
	"context"
	"errors"
	"io"

	"troupe/host"
	"troupe/messages"
)

// Job is a job of a node. Its methods are safe for concurrent use; its streams are not.
type Job struct {
	host host.Host
	was  Record // at the start
}

func (n *Node) job(record Record) *Job { return &Job{host: n.host, was: record} }

func (j *Job) id() messages.JobID { return messages.JobID(j.was.UID) }

// ID returns the ULID of the job, which names it as long as its record is kept.
func (j *Job) ID() messages.UID { return j.was.UID }

// Record returns what is known of the job now.
func (j *Job) Record(ctx context.Context) (Record, error) {
	found, err := host.Ask(ctx, j.host, messages.FindJob{Job: j.id()})
	return found.Job, err
}

// Wait waits for the end of the job. Any end but exit 0 is an *ExitError. The end of ctx stops
// nothing.
func (j *Job) Wait(ctx context.Context) (Record, error) {
	end, err := host.Ask(ctx, j.host, messages.WaitJobs{Jobs: []messages.JobID{j.id()}})
	if err != nil || len(end.Jobs) == 0 {
		return Record{UID: j.was.UID}, err
	}
	return end.Jobs[0], endError(end.Jobs[0])
}

// Stdout reads what the job has written and will write, from its first byte until no process
// can write to it: stdout and stderr in the order in which they arrived, or stdout if the
// command separates them. The end of ctx ends the reader. Each call returns a reader of its own.
func (j *Job) Stdout(ctx context.Context) io.ReadCloser {
	stream := messages.Merged
	if len(j.was.Output) > 0 {
		stream = j.was.Output[0].Stream
	}
	return &output{ctx: ctx, job: j, stream: stream}
}

// Stderr reads the stderr of a command that separates its streams, as Stdout does. Another
// command has none.
func (j *Job) Stderr(ctx context.Context) io.ReadCloser {
	return &output{ctx: ctx, job: j, stream: messages.Stderr}
}

// output opens its stream at the first Read.
type output struct {
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	job    *Job
	stream messages.Stream
	from   host.Reader
}

// Read implements io.Reader.
func (o *output) Read(p []byte) (n int, err error) {
	if o.from == nil {
		if o.from, err = o.job.host.Output(o.ctx, o.job.id(), o.stream, 0); err != nil {
			return 0, err
		}
	}
	return o.from.Read(p)
}

// Close implements io.Closer.
func (o *output) Close() error {
	if o.from == nil {
		return nil
	}
	return o.from.Close()
}

// Stdin writes to a job whose command has the stdin messages.StdinPipe, or a terminal. A Write
// returns when the kernel has taken all of it. Close ends the input.
func (j *Job) Stdin(ctx context.Context) io.WriteCloser { return &input{ctx, j} }

type input struct {
	ctx context.Context //nolint:containedctx // a writer's Write takes none
	job *Job
}

// Write implements io.Writer.
func (in *input) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), messages.MaxInput)]
		if _, err := host.Ask(in.ctx, in.job.host, messages.WriteInput{Job: in.job.id(), Data: piece}); err != nil {
			return written, err
		}
		written, p = written+len(piece), p[len(piece):]
	}
	return written, nil
}

// Close implements io.Closer. A job that has finished is no error.
func (in *input) Close() error {
	_, err := host.Ask(in.ctx, in.job.host, messages.CloseInput{Job: in.job.id()})
	if errors.Is(err, &Error{Code: messages.JobFinished}) {
		return nil
	}
	return err
}

// Type types keys on the job's terminal, such as "make{enter}" or "{ctrl+c}"
// (docs/commands.md).
func (j *Job) Type(ctx context.Context, keys string) error {
	_, err := host.Ask(ctx, j.host, messages.WriteInput{Job: j.id(), Keys: keys})
	return err
}

// Screen returns what the job's terminal shows, one text for each row.
func (j *Job) Screen(ctx context.Context) ([]string, error) {
	s, err := host.Ask(ctx, j.host, messages.ReadScreen{Job: j.id()})
	return s.Lines, err
}

// Promote moves the job to the background; a Run that waits for it returns.
func (j *Job) Promote(ctx context.Context) error {
	_, err := host.Ask(ctx, j.host, messages.PromoteCommand{Job: j.id()})
	return err
}

// Signal sends a signal such as "INT" to the job's main process.
func (j *Job) Signal(ctx context.Context, name string) error {
	_, err := host.Ask(ctx, j.host, messages.SignalCommand{Job: j.id(), Signal: name})
	return err
}

// Stop stops all processes of the job: TERM, and KILL after its grace. It returns when they
// have ended. Those that could not be stopped are a *SurvivorsError. A job that has finished is
// no error.
func (j *Job) Stop(ctx context.Context) error {
	stopped, err := host.Ask(ctx, j.host, messages.StopCommand{Job: j.id()})
	if len(stopped.Survivors) > 0 {
		return errors.Join(&SurvivorsError{Survivors: stopped.Survivors}, err)
	}
	return err
}
