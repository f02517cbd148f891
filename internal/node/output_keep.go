package node

import (
	"errors"
	"slices"

	"troupe/actors"
	"troupe/messages"
	"troupe/spill"
	"troupe/spill/view"
)

// KeepOutput moves the output of a job to a file that outlives the node, until a day after
// its last use. It returns the path of the file.
func (n *Node) KeepOutput(job messages.Record, stream messages.Stream) (string, error) {
	if n.parts.store == nil {
		return "", &messages.Error{
			Code: messages.OutputUnavailable, Message: "this node does not store its outputs itself", Hint: "read them in Options.Logs",
		}
	}
	if err := hasStream(job, stream); err != nil {
		return "", err
	}
	path, err := n.parts.store.Keep(string(job.UID), uint8(stream))
	if errors.Is(err, spill.ErrNotFound) {
		return "", missingOutput(job)
	}
	return path, closedBy(err)
}

// closedBy maps the error of a store that was closed with its node to ErrClosed.
func closedBy(err error) error {
	if errors.Is(err, spill.ErrClosed) {
		return ErrClosed
	}
	return err
}

// hasStream returns an error if a job does not have a stream.
func hasStream(job messages.Record, stream messages.Stream) error {
	if slices.ContainsFunc(job.Output, func(o messages.StreamOutput) bool { return o.Stream == stream }) {
		return nil
	}
	return messages.NoSuchStream(job.ID, stream)
}

// View returns the end of what a job has written as text of at most o.Bytes bytes. Separate
// streams come in the order in which they arrived.
func (n *Node) View(job messages.Record, o view.Options) (view.View, error) {
	return n.viewAfter(job, [2]int64{}, o)
}

// viewAfter returns the View of the output after a byte of stdout and a byte of stderr, for a job
// with separate streams.
func (n *Node) viewAfter(job messages.Record, behind [2]int64, o view.Options) (view.View, error) {
	logs := make([]spill.Log, 0, len(job.Output))
	defer func() {
		for _, l := range logs {
			_ = l.Close()
		}
	}()
	for _, out := range job.Output {
		l, err := actors.OpenArchived(n.logs, job, out.Stream)
		if errors.Is(err, spill.ErrNotFound) {
			return view.View{}, missingOutput(job)
		}
		if err != nil {
			return view.View{}, closedBy(err)
		}
		logs = append(logs, l)
	}
	o.Cols = job.Terminal.Cols
	switch {
	case len(logs) == 1:
		return view.Tail(logs[0], o)
	case len(logs) != 2:
		return view.View{}, missingOutput(job)
	}
	order, err := n.order(job.UID)
	if err != nil {
		return view.View{}, err
	}
	defer func() { _ = order.Close() }()
	return view.Interleave(order.Pieces(), logs[0], logs[1], behind, o)
}

// order returns the output order of a job. It is empty if unknown; the streams are then
// shown one after the other.
func (n *Node) order(job messages.UID) (*spill.Order, error) {
	orders, ok := n.logs.(interface {
		Order(id string) (*spill.Order, error)
	})
	if !ok {
		return spill.ParseOrder(nil, false), nil
	}
	order, err := orders.Order(string(job))
	if errors.Is(err, spill.ErrNotFound) {
		return spill.ParseOrder(nil, false), nil
	}
	return order, err
}

func missingOutput(job messages.Record) *messages.Error {
	return &messages.Error{
		Code: messages.OutputUnavailable, Message: "the output of job " + string(job.ID) + " does not exist: the job never started, or its output was removed",
	}
}
