package run

import (
	"context"
	"io"
	"time"

	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill/view"
)

// host runs the command: a node of this process, or the daemon.
type host interface {
	// submit sends the request. id names the job from now on; end waits for the reply,
	// once.
	submit(r messages.RunCommand) (id messages.JobID, end func() (messages.Record, error))
	job(ctx context.Context, id messages.JobID) (messages.Record, error)
	stop(ctx context.Context, r messages.StopCommand) error
	// output follows a stream from one offset to another (negative: to its end).
	output(ctx context.Context, id messages.JobID, stream messages.Stream, from, to int64) (follower, error)
	// blocked waits until the output of the job is blocked; false: it is not known.
	blocked(ctx context.Context, id messages.JobID) bool
	// count counts the lines of a stream; view returns the end of all streams as text;
	// keep names a file that outlives us.
	count(ctx context.Context, id messages.JobID, stream messages.Stream) (messages.OutputPage, error)
	view(ctx context.Context, job messages.Record) (view.View, error)
	keep(job messages.Record, out messages.StreamOutput) (string, error)
	// pacer returns what pauses the job for a slow reader, and how long the reader may
	// block us before it is used.
	pacer() (asker, time.Duration)
	// shutdown closes the host; a node of this process stops its jobs.
	shutdown(ctx context.Context, r messages.ShutdownNode) error
	// ours reports whether leftover processes end with us.
	ours() bool
}

// follower reads an output that grows.
type follower interface {
	io.ReadCloser
	Offset() int64
	Gaps() []messages.OutputGap
}

// localHost runs the command in a node of this process.
type localHost struct{ node *node.Node }

func (l localHost) submit(r messages.RunCommand) (messages.JobID, func() (messages.Record, error)) {
	s := l.node.Submit(r)
	return messages.JobID(s.UID), func() (messages.Record, error) { return s.Wait(context.Background()) }
}

func (l localHost) job(ctx context.Context, id messages.JobID) (messages.Record, error) {
	return l.node.Job(ctx, id)
}

func (l localHost) stop(ctx context.Context, r messages.StopCommand) error {
	_, err := l.node.Ask(ctx, r)
	return err
}

func (l localHost) output(ctx context.Context, id messages.JobID, stream messages.Stream, from, to int64) (follower, error) {
	f, err := l.node.Output(ctx, id, stream, from)
	if err == nil && to >= 0 {
		f.End(to)
	}
	return f, err
}

func (l localHost) blocked(ctx context.Context, id messages.JobID) bool {
	facts, err := l.node.Subscribe(context.Background(), messages.Subscribe{Filter: messages.Filter{Job: id}})
	if err != nil {
		return false // the node has ended, and the run reports it
	}
	defer func() { _ = facts.Close() }() // an open channel would delay the end of the node
	for {
		m, err := facts.Next(ctx)
		if err != nil {
			return false
		}
		n, _ := m.(messages.Notification)
		if changed, ok := n.Fact.(messages.CommandChanged); ok && changed.Job.HasFlag(messages.FlagLogBlocked) {
			return true
		}
	}
}

func (l localHost) count(ctx context.Context, id messages.JobID, stream messages.Stream) (messages.OutputPage, error) {
	return l.node.Read(ctx, messages.ReadOutput{Job: id, Stream: stream, View: messages.View{Kind: messages.ViewSize}})
}

func (l localHost) view(_ context.Context, job messages.Record) (view.View, error) {
	return l.node.View(job, view.Options{Bytes: view.DefaultBytes})
}

func (l localHost) keep(job messages.Record, out messages.StreamOutput) (string, error) {
	return l.node.KeepOutput(job, out.Stream)
}

func (l localHost) pacer() (asker, time.Duration) { return l.node, 0 }

func (l localHost) shutdown(ctx context.Context, r messages.ShutdownNode) error {
	return l.node.Shutdown(ctx, r)
}

func (l localHost) ours() bool { return true }
