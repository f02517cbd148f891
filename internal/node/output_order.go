package node

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// segmentSpan is how long after its time the last byte of a segment may have arrived.
const segmentSpan = time.Second

// OutputOrder returns the order in which the streams of a job arrived, and when, to a
// second. It covers what was recorded at the call. It yields nothing if the order is
// unknown, and ends early if the rest is. An error is the last value.
func (n *Node) OutputOrder(job messages.Record) iter.Seq2[messages.OutputSegment, error] {
	return func(yield func(messages.OutputSegment, error) bool) {
		order, err := n.order(job.UID)
		if closed := n.Err(); closed != nil { // the store was closed with the node
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

// Since returns the offset of a stream's first byte written at or after moment, moved back to
// the beginning of its line. Output after the offset may be up to a second older than moment.
// If the times of the output are unknown, the error has the code output_unavailable.
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
		if a.At.Add(segmentSpan).After(moment) {
			return n.lineAt(job, stream, a.From)
		}
		from = a.To
	}
	if !known && size > 0 && moment.After(job.Created) {
		return 0, &messages.Error{
			Code: messages.OutputUnavailable, Reason: "since", Message: "job " + string(job.ID) + ": the times of its output are not stored any more",
			Hint: "read the last lines, or lines from a number on",
		}
	}
	return from, nil
}

// longLine bounds the search for the beginning of a line, in bytes.
const longLine = 64 << 10

// lineAt returns the beginning of the line of a byte, or the byte itself in a long line.
func (n *Node) lineAt(job messages.Record, stream messages.Stream, at int64) (int64, error) {
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
