// Package dialect is what the dialects of agent hosts share: what they need of a node,
// the shape of a tool, and the ways to look at a job while it runs and when it has ended.
//
// A dialect is a projection: parameters become a messages.RunCommand or an error, and a
// job with its output becomes that front end's text and details. It never touches a
// process and never alters a record. What it must remember between
// calls is in a session of its own, over a Host.
package dialect

import (
	"context"
	"iter"

	"troupe/messages"
)

// Host is what a dialect needs of a node, here or in a daemon. Its errors are
// *messages.Error, or those of ctx. It is safe for concurrent use.
type Host interface {
	// Run runs one command, and returns when it has ended or goes on in the
	// background. If ctx ends first, the job is stopped. known, if it is not nil, is
	// called with its ULID when the node knows it. The text is the end of what it wrote, at most
	// most bytes.
	Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Job, Text, error)
	Job(ctx context.Context, id messages.JobID) (messages.Job, error)
	Jobs(ctx context.Context, r messages.ListJobs) ([]messages.Job, error)
	Sessions(ctx context.Context, scope messages.ScopePath) ([]messages.SessionInfo, error)
	Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error)
	Stop(ctx context.Context, r messages.StopCommand) (messages.CommandStopped, error)
	CloseSession(ctx context.Context, r messages.CloseSession) (messages.SessionClosed, error)
	Signal(ctx context.Context, r messages.SignalCommand) error
	// Promote lets a job go on in the background. It ends with its client.
	Promote(ctx context.Context, id messages.JobID) (messages.Job, error)
	Input(ctx context.Context, r messages.WriteInput) error
	Type(ctx context.Context, id messages.JobID, keys string) error
	Paste(ctx context.Context, id messages.JobID, text string) error
	CloseInput(ctx context.Context, id messages.JobID) error
	Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error)
	Resize(ctx context.Context, r messages.ResizeTerminal) error
	// View is one view of a stream, as text.
	View(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error)
	// Bytes are those of a stream as they are, from an offset, at most most of them:
	// less only where the stream ends for now. With wait it waits for the first.
	Bytes(ctx context.Context, id messages.JobID, stream messages.Stream, from int64, most int, wait bool) (Bytes, error)
	// Events are the facts that a filter lets through from now on, in order, until ctx ends or the
	// host does not come back. begun is called when none can be missed any more.
	Events(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[messages.Fact, error]
}

// Text is the end of what a job wrote.
type Text struct {
	Text      string
	Truncated bool
}

// Bytes are a part of a stream.
type Bytes struct {
	Data []byte
	Next int64 // the byte to go on from: behind what was not kept, too
	Size int64 // of the stream when it was asked
	Gaps []messages.OutputGap
}

// TaskGroup runs what a session does beside its calls: a front end gives it, and waits for
// all of it at its end. A *sync.WaitGroup is one.
type TaskGroup interface {
	Go(f func())
}
