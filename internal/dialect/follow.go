package dialect

import (
	"context"
	"errors"
	"io"
	"time"

	"troupe/messages"
)

// piece bounds the output that is in memory at a time, in bytes.
const piece = 1 << 20

// Live shows the end of a stream, which view reads, while its job writes. It shows at most one
// page per interval every, and a last one when the stream is complete. Each page replaces the
// one before, and the last one has the final output. Live returns when the
// stream or ctx ends.
func Live(ctx context.Context, h Host, job messages.JobID, stream messages.Stream, view func(context.Context) (messages.OutputPage, error), every time.Duration, show func(messages.OutputPage)) error {
	return Follow(ctx, h, job, stream, every, func(from int64, over bool) (int64, error) {
		page, err := view(ctx)
		if err == nil && (!over || page.Bytes > from) {
			show(page)
		}
		return page.Bytes, err
	})
}

// Follow calls look when a stream has grown past byte from, at most once per interval
// every. The last call has over set: the stream is complete. look returns how many bytes of
// the stream it has seen. Follow returns when the stream or ctx ends, or with look's error.
func Follow(ctx context.Context, h Host, job messages.JobID, stream messages.Stream, every time.Duration, look func(from int64, over bool) (int64, error)) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	<-tick.C
	for from := int64(0); ; {
		b, err := h.Bytes(ctx, job, stream, from, 1, true) // returns when there is more
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

// Copy writes the kept bytes in [from, to) of a stream, or up to the stream's end if that
// is lower. to < 0 stands for the size at the first read. Ranges that were not kept are
// skipped and reported to gap, unless gap is nil. Copy returns the offset to continue from.
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

// writeTo writes bytes that start at offset from. It reports each gap after it has written
// the bytes before the gap.
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

// ErrWrite marks an error of Copy that comes from the writer, not from the host.
var ErrWrite = errors.New("cannot write the output")
