package http

import (
	"context"
	"io"
	"iter"
	"time"

	"troupe/messages"
	"troupe/spill/view"
)

// Node is what the gateway needs of a node. AdaptNode makes one of a *node.Node.
type Node interface {
	node
	Submit(r messages.RunCommand) Submitted
	Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (Output, error)
	Subscribe(ctx context.Context, r messages.Subscribe) (Subscription, error)
}

// node contains the methods whose types all packages share.
type node interface {
	Ask(ctx context.Context, request messages.Refusable) (any, error)
	AskAgain(ctx context.Context, request func() messages.Refusable) (any, error)
	Job(ctx context.Context, id messages.JobID) (messages.Record, error)
	Measure(jobs []messages.Record)
	ReadLive(ctx context.Context, jobs []messages.Record)
	Read(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error)
	Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error)
	OutputOrder(job messages.Record) iter.Seq2[messages.OutputSegment, error]
	Arrivals(job messages.Record, stream messages.Stream) func(off int64) (at time.Time, to int64, err error)
	Since(ctx context.Context, id messages.JobID, stream messages.Stream, moment time.Time) (int64, error)
	View(job messages.Record, o view.Options) (view.View, error)
	Err() error
}

// Submitted is a submitted run. Wait must follow, once.
type Submitted interface {
	Wait(ctx context.Context) (messages.Record, error)
}

// Output follows one stream of a job.
type Output interface {
	io.ReadCloser
	Offset() int64
	Gaps() []messages.OutputGap
	// Removed reports whether the whole output was removed.
	Removed() bool
	// End makes the reader end at a byte, even if more output follows.
	End(at int64)
}

// Subscription receives the facts of a node.
type Subscription interface {
	After() messages.Seq
	Newest() messages.Seq
	Origin() string
	Next(ctx context.Context) (any, error)
	Close() error
}

// concrete is a node whose methods return types of its own package. Gateways do not
// import it.
type concrete[S Submitted, F Output, U Subscription] interface {
	node
	Submit(r messages.RunCommand) S
	Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (F, error)
	Subscribe(ctx context.Context, r messages.Subscribe) (U, error)
}

// AdaptNode returns the Node for a *node.Node.
func AdaptNode[S Submitted, F Output, U Subscription](n concrete[S, F, U]) Node {
	return nodeAdapter[S, F, U]{n, n}
}

type nodeAdapter[S Submitted, F Output, U Subscription] struct {
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
	return f, nil
}

// Subscribe implements Node.
func (o nodeAdapter[S, F, U]) Subscribe(ctx context.Context, r messages.Subscribe) (Subscription, error) {
	s, err := o.of.Subscribe(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, nil
}
