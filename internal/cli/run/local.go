package run

import (
	"context"
	"time"

	"troupe/host"
	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill/view"
)

// localPlace runs the command in a node of this process.
type localPlace struct {
	node     *node.Node
	keepJobs bool // they outlive the node
}

// newLocal returns the node as the host of the command. With keepJobs the job runs in a keeper
// of its own.
func newLocal(n *node.Node, keepJobs bool) *jobHost {
	h := newJobHost(n.Host(), localPlace{n, keepJobs})
	h.ours, h.waits, h.counts = !keepJobs, true, messages.View{Kind: messages.ViewSize}
	return h
}

func (l localPlace) submit(_ context.Context, r messages.RunCommand, known func()) func() (messages.Record, error) {
	s := l.node.Submit(r)
	known()
	return func() (messages.Record, error) { return s.Wait(context.Background()) }
}

func (l localPlace) follow(ctx context.Context, h *jobHost, stream messages.Stream, from, to int64) (host.Reader, error) {
	f, err := l.node.Output(ctx, h.id, stream, from)
	switch {
	case err != nil:
		return nil, err
	case to >= 0:
		f.End(to)
	}
	return f, nil
}

func (l localPlace) view(_ context.Context, job messages.Record) (view.View, error) {
	return l.node.View(job, view.Options{Bytes: view.DefaultBytes})
}

func (l localPlace) keep(job messages.Record, out messages.StreamOutput) (string, error) {
	return l.node.KeepOutput(job, out.Stream)
}

func (l localPlace) pacer(*jobHost) (asker, time.Duration) { return l.node, 0 }

func (l localPlace) shutdown(ctx context.Context, r messages.ShutdownNode) error {
	r.KeepJobs = l.keepJobs
	return l.node.Shutdown(ctx, r)
}
