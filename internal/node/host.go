package node

import (
	"context"
	"errors"
	"iter"
	"slices"

	"troupe/host"
	"troupe/messages"
)

// Host returns the node as the interface that a daemon has, too.
func (n *Node) Host() host.Host { return nodeHost{n} }

// nodeHost implements host.Host.
type nodeHost struct{ node *Node }

// Do implements host.Host. The records in replies have the sizes of their outputs, and the live
// states of jobs if the request asks for them.
func (h nodeHost) Do(ctx context.Context, request messages.Refusable) (any, error) {
	n := h.node
	switch r := request.(type) {
	case messages.RunCommand:
		job, err := n.Run(ctx, r)
		return messages.JobFound{Job: job}, err
	case messages.ShutdownNode:
		err := n.Shutdown(ctx, r)
		var left *SurvivorsError
		if errors.As(err, &left) {
			return messages.ShutdownDone{Survivors: left.Survivors}, nil
		}
		return messages.ShutdownDone{}, err
	case messages.ReadOutput:
		if r.Stream == messages.Both {
			return host.Reply(n.readBoth(ctx, r))
		}
		if r.View.Kind == messages.ViewMatches {
			return host.Reply(n.search(ctx, r))
		}
		return granted(askRepeatedly(ctx, n.Ask, 0, func() messages.Refusable { return r }))
	case messages.ReadScreen:
		return granted(askRepeatedly(ctx, n.Ask, 0, func() messages.Refusable { return r }))
	case messages.StopCommand:
		return h.stop(ctx, r)
	}
	reply, err := granted(n.Ask(ctx, request))
	switch m := reply.(type) {
	case messages.JobFound:
		one := []messages.Record{n.onScreen(n.measured(m.Job))}
		if r, is := request.(messages.FindJob); is && r.Live {
			n.ReadLive(ctx, one)
		}
		m.Job = one[0]
		reply = m
	case messages.CommandPromoted:
		m.Job = n.measured(m.Job)
		reply = m
	case messages.JobList:
		n.measureAll(m.Jobs)
		if r, is := request.(messages.ListJobs); is && r.Live {
			n.ReadLive(ctx, m.Jobs)
		}
	case messages.WaitEnded:
		n.measureAll(m.Jobs)
	}
	return reply, err
}

// granted turns a refusal into an error.
func granted(reply any, err error) (any, error) {
	if err == nil {
		err = messages.Refusal(reply)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// stop stops jobs. The reply comes directly from a job's actor and may overtake its record,
// which is awaited.
func (h nodeHost) stop(ctx context.Context, r messages.StopCommand) (any, error) {
	reply, err := granted(h.node.Ask(ctx, r))
	stopped, _ := reply.(messages.CommandStopped)
	for some := range slices.Chunk(stopped.Jobs, messages.MaxAwaited) {
		_, late := granted(h.node.Ask(ctx, messages.WaitJobs{Jobs: some}))
		if late != nil && !errors.Is(late, &messages.Error{Code: messages.NotFound}) { // a removed job has ended too
			return reply, late
		}
	}
	return reply, err
}

// Output implements host.Host.
func (h nodeHost) Output(ctx context.Context, job messages.JobID, stream messages.Stream, from int64) (host.Reader, error) {
	f, err := h.node.Output(ctx, job, stream, from)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Events implements host.Host.
func (h nodeHost) Events(ctx context.Context, r messages.Subscribe) iter.Seq2[messages.Notification, error] {
	return h.node.events(ctx, r, nil)
}

// events yields facts as host.Host says. begun, if not nil, is called once no later fact can be
// missed.
func (n *Node) events(ctx context.Context, r messages.Subscribe, begun func()) iter.Seq2[messages.Notification, error] {
	return func(yield func(messages.Notification, error) bool) {
		s, err := n.Subscribe(ctx, r)
		if err != nil {
			yield(messages.Notification{}, err)
			return
		}
		defer s.Close()
		if begun != nil {
			begun()
		}
		for {
			next, err := s.Next(ctx)
			if err != nil {
				yield(messages.Notification{}, err)
				return
			}
			one, is := next.(messages.Notification)
			if dropped, gap := next.(messages.FactsDropped); gap {
				one, is = messages.Notification{Seq: dropped.To, Fact: dropped}, true
			}
			if one.Origin = s.Origin(); is && !yield(one, nil) {
				return
			}
		}
	}
}
