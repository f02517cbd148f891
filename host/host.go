package host

import (
	"context"
	"io"
	"iter"

	"troupe/messages"
)

// Doer takes requests. Errors are *messages.Error, those of ctx, and those of a node or a
// connection that has ended.
type Doer interface {
	// Do sends a request and returns its one reply; a refusal is the error. If ctx ends first, a
	// run in the foreground is stopped, and any other request may have taken effect.
	Do(ctx context.Context, r messages.Refusable) (any, error)
}

// Host runs jobs. It is safe for concurrent use.
type Host interface {
	Doer
	// Output reads one stream of a job from the byte from, until no process can write to it. It
	// waits for what is not written yet.
	Output(ctx context.Context, job messages.JobID, stream messages.Stream, from int64) (Reader, error)
	// Events yields the facts that r asks for, with their numbers, each once and in order, until
	// ctx ends. messages.FactsDropped stands for facts that are not held any more.
	Events(ctx context.Context, r messages.Subscribe) iter.Seq2[messages.Notification, error]
	// Attach connects to a live job: Read returns what it writes from now on, until no process can
	// write to it, and Write types into its terminal or pipe. With a size, the job's terminal gets
	// that size first. An input that the job does not take is the error of that Write, or of a later
	// Read. Close, the end of ctx and the end of the output close the attachment and leave the job
	// as it is. Write then returns os.ErrClosed, or the error of ctx.
	Attach(ctx context.Context, job messages.JobID, size messages.Terminal) (io.ReadWriteCloser, error)
}

// Reader is one stream of a job. Close it.
type Reader interface {
	io.ReadCloser
	// Offset returns the byte at which the next Read begins.
	Offset() int64
	// Gaps returns the ranges skipped so far, whose bytes were not kept.
	Gaps() []messages.OutputGap
}

// Ask sends a request and returns the reply that belongs to it.
//
//	stopped, err := host.Ask(ctx, h, messages.StopCommand{Job: id})
func Ask[R any](ctx context.Context, h Doer, r messages.For[R]) (R, error) {
	reply, err := h.Do(ctx, r)
	granted, _ := reply.(R)
	return granted, err
}

// Attachable returns the ULID of a job and its first stream, to attach to it, after its terminal
// got a size, unless that is zero.
func Attachable(ctx context.Context, h Doer, id messages.JobID, size messages.Terminal) (messages.JobID, messages.StreamOutput, error) {
	found, err := Ask(ctx, h, messages.FindJob{Job: id})
	if err != nil {
		return "", messages.StreamOutput{}, err
	}
	job := messages.JobID(found.Job.UID)
	if len(found.Job.Output) == 0 {
		return job, messages.StreamOutput{}, messages.NoSuchStream(found.Job.ID, messages.Merged)
	}
	if size != (messages.Terminal{}) {
		_, err = Ask(ctx, h, messages.ResizeTerminal{Job: job, Size: size})
	}
	return job, found.Job.Output[0], err
}

// Reply returns a reply as Do does.
func Reply[R any](reply R, err error) (any, error) { return reply, err }
