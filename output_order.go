package troupe

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// arrivalGrain is how long what is told as one arrival may have taken: it began
// with the moment that is told.
const arrivalGrain = time.Second

// OutputOrder tells in which order the streams of a job arrived, and when, to a second:
// what was recorded when it begins. It tells nothing where that is not known, and
// ends early where not all of it is. An error is the last that it tells.
func (n *Node) OutputOrder(job messages.Job) iter.Seq2[messages.OutputSegment, error] {
	return func(yield func(messages.OutputSegment, error) bool) {
		order, err := n.order(job.UID)
		if closed := n.Err(); closed != nil { // its store is gone, and knows nothing
			err = closed
		}
		if err != nil {
			yield(messages.OutputSegment{}, err)
			return
		}
		defer func() { _ = order.Close() }()
		for p := range order.Pieces() {
			a := messages.OutputSegment{Stream: messages.Stream(p.Stream), From: p.Offset, To: p.Offset + p.Length, At: p.At}
			if len(job.Output) == 1 {
				a.Stream = job.Output[0].Stream
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}

// Since is the byte of a stream from which on everything was written at or after a
// moment, and maybe something up to a second before; a line that was begun before
// is whole. It is an error where that is not known any more.
func (n *Node) Since(ctx context.Context, id messages.JobID, stream messages.Stream, moment time.Time) (int64, error) {
	job, err := n.Job(ctx, id)
	if err != nil {
		return 0, err
	}
	if err := hasStream(job, stream); err != nil {
		return 0, err
	}
	size := int64(0)
	for _, out := range job.Output {
		if out.Stream == stream {
			size = out.Bytes
		}
	}
	known, from := false, int64(0)
	for a, err := range n.OutputOrder(job) {
		if err != nil {
			return 0, err
		}
		known = true
		if a.Stream != stream {
			continue
		}
		if a.At.Add(arrivalGrain).After(moment) {
			return n.lineAt(job, stream, a.From)
		}
		from = a.To
	}
	if !known && size > 0 && moment.After(job.Created) {
		return 0, &messages.Error{
			Code: messages.OutputUnavailable, Reason: "since", Message: "it is not known any more when job " + string(job.ID) + " has written",
			Hint: "use the last lines, or those from a number on",
		}
	}
	return from, nil
}

// longLine bounds how far the beginning of a line is looked for.
const longLine = 64 << 10

// lineAt is the beginning of the line that a byte belongs to.
func (n *Node) lineAt(job messages.Job, stream messages.Stream, at int64) (int64, error) {
	log, err := n.logs.Open(string(job.UID), uint8(stream))
	if errors.Is(err, spill.ErrNotFound) {
		return 0, missingOutput(job)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	before := make([]byte, min(at, longLine))
	read, err := log.ReadAt(before, at-int64(len(before)))
	if read < len(before) {
		return at, err
	}
	if end := bytes.LastIndexByte(before, '\n'); end >= 0 {
		return at - int64(len(before)-end-1), nil
	}
	if int64(len(before)) == at {
		return 0, nil
	}
	return at, nil
}
