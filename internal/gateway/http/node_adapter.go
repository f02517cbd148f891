package http

import (
	"context"
	"io"
	"iter"
	"time"

	"troupe/messages"
	"troupe/spill/view"
)

// Node is what the gateway needs of a node. Over makes one of a *troupe.Node.
type Node interface {
	node
	Submit(r messages.RunCommand) Submitted
	Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (Output, error)
	Subscribe(ctx context.Context, r messages.Subscribe) (Subscription, error)
}

// node are the methods whose types every package knows.
type node interface {
	Ask(ctx context.Context, request messages.Refusable) (any, error)
	AskAgain(ctx context.Context, request func() messages.Refusable) (any, error)
	Job(ctx context.Context, id messages.JobID) (messages.Job, error)
	Jobs(ctx context.Context, scope messages.ScopePath, finished bool) ([]messages.Job, error)
	Measure(jobs []messages.Job)
	Read(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error)
	Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error)
	EncodeKeys(ctx context.Context, id messages.JobID, keys string) ([]byte, error)
	EncodePaste(ctx context.Context, id messages.JobID, text string) ([]byte, error)
	OutputOrder(job messages.Job) iter.Seq2[messages.OutputSegment, error]
	Since(ctx context.Context, id messages.JobID, stream messages.Stream, moment time.Time) (int64, error)
	View(job messages.Job, o view.Options) (view.View, error)
	ViewAfter(job messages.Job, behind [2]int64, o view.Options) (view.View, error)
	Err() error
}

// Submitted is a run that was asked for; Wait must follow, once.
type Submitted interface {
	Wait(ctx context.Context) (messages.Job, error)
}

// Output follows one stream of a job.
type Output interface {
	io.ReadCloser
	Offset() int64
	Gaps() []messages.OutputGap
	// Removed is true when nothing of the output is kept any more.
	Removed() bool
	// End makes the reader end at a byte, although more may come.
	End(at int64)
}

// Subscription hears the facts of a node.
type Subscription interface {
	After() messages.Seq
	Newest() messages.Seq
	Next(ctx context.Context) (any, error)
	Close() error
}

// follower is a reader that names itself in its own method.
type follower[F any] interface {
	io.ReadCloser
	Offset() int64
	Gaps() []messages.OutputGap
	Removed() bool
	Until(at int64) F
}

// concrete is a node whose methods return types of its own package, which no
// gateway imports.
type concrete[S Submitted, F follower[F], U Subscription] interface {
	node
	Submit(r messages.RunCommand) S
	Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (F, error)
	Subscribe(ctx context.Context, r messages.Subscribe) (U, error)
}

// AdaptNode is a node for the gateway: Over(node) of a *troupe.Node.
func AdaptNode[S Submitted, F follower[F], U Subscription](n concrete[S, F, U]) Node {
	return nodeAdapter[S, F, U]{n, n}
}

type nodeAdapter[S Submitted, F follower[F], U Subscription] struct {
	node
	of concrete[S, F, U]
}

// Submit implements Node.
func (o nodeAdapter[S, F, U]) Submit(r messages.RunCommand) Submitted { return o.of.Submit(r) }

// Output implements Node.
func (o nodeAdapter[S, F, U]) Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (Output, error) {
	f, err := o.of.Output(ctx, id, stream, from)
	if err != nil {
		return nil, err
	}
	return outputAdapter[F]{f}, nil
}

// Subscribe implements Node.
func (o nodeAdapter[S, F, U]) Subscribe(ctx context.Context, r messages.Subscribe) (Subscription, error) {
	s, err := o.of.Subscribe(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, nil
}

type outputAdapter[F follower[F]] struct{ follower[F] }

// End implements Output.
func (r outputAdapter[F]) End(at int64) { r.Until(at) }
