package run

import (
	"context"
	"io"
	"time"

	"troupe"
	"troupe/messages"
	"troupe/spill/view"
)

// host is where the command of run runs: a node of this process, or the daemon.
type host interface {
	// submit asks for the run. Its id names it from now on in what follows; end
	// waits for the reply, once.
	submit(r messages.RunCommand) (id messages.JobID, end func() (messages.Job, error))
	job(ctx context.Context, id messages.JobID) (messages.Job, error)
	stop(ctx context.Context, r messages.StopCommand) error
	// output follows a stream from an offset to another (negative: to its end).
	output(ctx context.Context, id messages.JobID, stream messages.Stream, from, to int64) (follower, error)
	// blocked waits until the output of the job is blocked; false: it will not tell.
	blocked(ctx context.Context, id messages.JobID) bool
	// count counts the lines of a stream; view is the end of all as text; keep
	// names a file that outlives us.
	count(ctx context.Context, id messages.JobID, stream messages.Stream) (messages.OutputPage, error)
	view(ctx context.Context, job messages.Job) (view.View, error)
	keep(job messages.Job, out messages.StreamOutput) (string, error)
	// pacer holds a job back whose reader is slow. It is asked when our reader has
	// kept us waiting for so long in all.
	pacer() (asker, time.Duration)
	// shutdown ends what is ours alone, and what is left in it.
	shutdown(ctx context.Context, r messages.ShutdownNode) error
	// ours says whether all that the command left behind ends with us.
	ours() bool
}

// follower reads an output that grows.
type follower interface {
	io.ReadCloser
	Offset() int64
	Gaps() []messages.OutputGap
}

// localHost is a node of this process.
type localHost struct{ node *troupe.Node }

func (l localHost) submit(r messages.RunCommand) (messages.JobID, func() (messages.Job, error)) {
	s := l.node.Submit(r)
	return messages.JobID(s.UID), func() (messages.Job, error) { return s.Wait(context.Background()) }
}

func (l localHost) job(ctx context.Context, id messages.JobID) (messages.Job, error) {
	return l.node.Job(ctx, id)
}

func (l localHost) stop(ctx context.Context, r messages.StopCommand) error {
	_, err := l.node.Ask(ctx, r)
	return err
}

func (l localHost) output(ctx context.Context, id messages.JobID, stream messages.Stream, from, to int64) (follower, error) {
	f, err := l.node.Output(ctx, id, stream, from)
	if err == nil && to >= 0 {
		f.Until(to)
	}
	return f, err
}

func (l localHost) blocked(ctx context.Context, id messages.JobID) bool {
	facts, err := l.node.Subscribe(context.Background(), messages.Subscribe{Filter: messages.Filter{Job: id}})
	if err != nil {
		return false // the node has ended, and says so itself
	}
	defer func() { _ = facts.Close() }() // an open one would delay the end of the node
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

func (l localHost) view(_ context.Context, job messages.Job) (view.View, error) {
	return l.node.View(job, view.Options{Bytes: view.DefaultBytes})
}

func (l localHost) keep(job messages.Job, out messages.StreamOutput) (string, error) {
	return l.node.KeepOutput(job, out.Stream)
}

func (l localHost) pacer() (asker, time.Duration) { return l.node, 0 }

func (l localHost) shutdown(ctx context.Context, r messages.ShutdownNode) error {
	return l.node.Shutdown(ctx, r)
}

func (l localHost) ours() bool { return true }
