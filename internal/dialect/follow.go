package dialect

import (
	"context"
	"errors"
	"io"
	"time"

	"troupe/messages"
)

// piece is how much of an output is in memory at a time.
const piece = 1 << 20

// Live shows the end of a stream while its job writes: at most window bytes of text
// without control sequences, at most once every every, and a last time when nothing can
// be written any more. What comes in between is in the next one: each replaces the one
// before, and none is lost. It returns when the stream or ctx ends.
func Live(ctx context.Context, h Host, job messages.JobID, stream messages.Stream, window int, every time.Duration, show func(messages.OutputPage)) error {
	return Follow(ctx, h, job, stream, every, func(from int64, over bool) (int64, error) {
		page, err := h.View(ctx, messages.ReadOutput{Job: job, Stream: stream, View: messages.View{Kind: messages.ViewTail, Bytes: window}, Plain: true})
		if err == nil && (!over || page.Bytes > from) {
			show(page)
		}
		return page.Bytes, err
	})
}

// Follow calls look whenever a stream has more than byte from, at most once every every,
// and a last time when nothing can be written any more: then over is true. look returns
// how much of the stream it has seen. Follow returns when the stream or ctx ends, or with look's error.
func Follow(ctx context.Context, h Host, job messages.JobID, stream messages.Stream, every time.Duration, look func(from int64, over bool) (int64, error)) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	<-tick.C
	for from := int64(0); ; {
		b, err := h.Bytes(ctx, job, stream, from, 1, true) // until there is more
		if err != nil {
			return err
		}
		over := b.Next <= from
		seen, err := look(from, over)
		if err != nil || over {
			return err
		}
		from = max(b.Next, seen)
		tick.Reset(every)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Copy writes the bytes [from, to) of a stream as they are, less where it ends before; to
// < 0 is all there is when it is called. What was not kept is left out, and told to gap,
// if that is not nil. It returns the byte to go on from.
func Copy(ctx context.Context, h Host, job messages.JobID, stream messages.Stream, from, to int64, w io.Writer, gap func(messages.OutputGap)) (int64, error) {
	for to < 0 || from < to {
		most := int64(piece)
		if to >= 0 {
			most = min(most, to-from)
		}
		b, err := h.Bytes(ctx, job, stream, from, int(most), false)
		if err != nil {
			return from, err
		}
		if err := b.writeTo(w, from, gap); err != nil {
			return from, errors.Join(ErrWrite, err)
		}
		if to < 0 {
			to = b.Size
		}
		if b.Next <= from {
			break
		}
		from = b.Next
	}
	return from, nil
}

// writeTo writes bytes that begin with the byte from. Gaps are told where they are: what
// stands before one is written before.
func (b Bytes) writeTo(w io.Writer, from int64, gap func(messages.OutputGap)) error {
	data := b.Data
	for _, g := range b.Gaps {
		before := max(0, min(g.From-from, int64(len(data))))
		if before > 0 {
			if _, err := w.Write(data[:before]); err != nil {
				return err
			}
		}
		data, from = data[before:], g.To
		if gap != nil {
			gap(g)
		}
	}
	if len(data) == 0 {
		return nil
	}
	_, err := w.Write(data)
	return err
}

// ErrWrite says of a copy that who was written to failed, and not the host.
var ErrWrite = errors.New("it could not be written")
