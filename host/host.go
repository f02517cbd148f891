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

// Reply returns a reply as Do does.
func Reply[R any](reply R, err error) (any, error) { return reply, err }
