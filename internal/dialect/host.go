package dialect

import (
	"context"
	"iter"

	"troupe/host"
	"troupe/messages"
)

// Host is what a dialect needs of a node, in this process or in a daemon. Its errors are
// *messages.Error, or those of ctx. It is safe for concurrent use.
type Host interface {
	host.Doer
	// Run runs one command and returns when it has ended or is in the background. If ctx
	// ends first, the job is stopped. known, if not nil, receives the job's ULID as soon as
	// the node knows the job. The Text is the end of its output, at most most bytes.
	Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, Text, error)
	// Bytes returns the raw bytes of a stream from an offset, at most most of them. It
	// returns fewer only at the current end of the stream. With wait it waits for the first
	// byte.
	Bytes(ctx context.Context, id messages.JobID, stream messages.Stream, from int64, most int, wait bool) (Bytes, error)
	// Events yields the facts from now on that match a filter, in order. It ends with ctx,
	// or when the host stays unreachable. begun is called once no further fact can be
	// missed.
	Events(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[messages.Fact, error]
}

// Text is the end of a job's output.
type Text struct {
	Text      string
	Truncated bool
	Redrawn   bool // a final text of the output may differ
}

// Bytes is a part of a stream.
type Bytes struct {
	Data []byte
	Next int64 // offset to continue from; skips a trailing gap
	Size int64 // of the stream at the time of the call
	Gaps []messages.OutputGap
}

// FactPage is a page of recorded facts.
type FactPage struct {
	Facts  []messages.Notification
	Next   messages.Seq // the number after which the next page begins
	More   bool         // more facts were recorded when the page was read
	Origin string       // of the journal, for the request of the next page
}

// TaskGroup runs a session's background work. The front end supplies it and waits for all
// of it at its own end. A *sync.WaitGroup implements it.
type TaskGroup interface {
	Go(f func())
}
