package node

import (
	"context"
	"fmt"

	"troupe/messages"
	"troupe/spill/view"
)

// readBoth returns the end of stdout and stderr of a job that keeps them apart, in the order of
// their arrival. A page of both has no place in either.
func (n *Node) readBoth(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	for what, from := range map[string]int64{"offset_stdout": r.After[0], "offset_stderr": r.After[1], "bytes": int64(r.View.Bytes)} {
		if from < 0 {
			return messages.OutputPage{}, messages.Invalid(what, fmt.Sprintf("%s is negative (%d); give a number of bytes from 0", what, from))
		}
	}
	job, err := n.Job(ctx, r.Job)
	switch {
	case err != nil:
		return messages.OutputPage{}, err
	case len(job.Output) != 2:
		return messages.OutputPage{}, messages.NoSuchStream(job.ID, messages.Both)
	case r.View.Kind != messages.ViewTail:
		return messages.OutputPage{}, messages.OnlyEndOfBoth()
	}
	o := view.Options{Bytes: r.View.Bytes, Style: view.Verbatim}
	switch {
	case r.Final:
		o.Style = view.Final
	case r.Plain:
		o.Style = view.Plain
	}
	seen, err := n.viewAfter(job, r.After, o)
	if err != nil {
		return messages.OutputPage{}, err
	}
	wrote, lost := job.Output[0].Bytes+job.Output[1].Bytes, int64(0)
	for _, g := range seen.Gaps() {
		lost += g.To - g.From
	}
	if seen.Bytes < wrote || wrote > 0 && lost == seen.Bytes {
		return messages.OutputPage{}, messages.OutputForgotten()
	}
	return messages.OutputPage{
		Job: job.ID, Stream: messages.Both, Text: seen.Text, To: seen.Bytes, Bytes: seen.Bytes, Truncated: seen.Truncated, Closed: seen.Closed,
	}, nil
}
