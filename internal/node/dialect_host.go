package node

import (
	"context"
	"errors"
	"io"
	"iter"

	"troupe/internal/dialect"
	"troupe/messages"
	"troupe/spill/view"
)

// DialectHost returns the node as the interface that dialects use.
func (n *Node) DialectHost() dialect.Host { return dialectHost{n} }

// dialectHost implements dialect.Host.
type dialectHost struct{ *Node }

// Run implements dialect.Host.
func (h dialectHost) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if err := ctx.Err(); err != nil {
		return messages.Record{}, dialect.Text{}, err
	}
	run := h.Submit(r)
	if known != nil {
		if _, err := h.Node.Job(ctx, messages.JobID(run.UID)); err == nil { // else it was refused, or joins another request's job
			known(messages.JobID(run.UID))
		}
	}
	job, err := run.Wait(ctx)
	if err != nil || most <= 0 {
		return job, dialect.Text{}, err
	}
	v, err := h.Node.View(job, view.Options{Bytes: most, Style: view.Plain})
	if err != nil { // the job never started, or its output was removed: the sizes in the record tell which
		return job, dialect.Text{Truncated: wrote(job)}, nil
	}
	return job, dialect.Text{Text: v.Text, Truncated: v.Truncated, Redrawn: v.Redrawn}, nil
}

func wrote(job messages.Record) bool {
	for _, o := range job.Output {
		if o.Bytes > 0 {
			return true
		}
	}
	return false
}

// Do implements dialect.Host.
func (h dialectHost) Do(ctx context.Context, r messages.Refusable) (any, error) {
	return h.Host().Do(ctx, r)
}

// Bytes implements dialect.Host.
func (h dialectHost) Bytes(ctx context.Context, id messages.JobID, stream messages.Stream, from int64, most int, wait bool) (dialect.Bytes, error) {
	f, err := h.Output(ctx, id, stream, from)
	if err != nil {
		return dialect.Bytes{}, err
	}
	defer f.Close()
	b := dialect.Bytes{Next: from}
	if b.Size, err = h.size(ctx, id, stream); err != nil {
		return b, err
	}
	if wait && from >= b.Size {
		one := make([]byte, 1)
		f.End(from + int64(most))
		n, err := f.Read(one)
		if err != nil && !errors.Is(err, io.EOF) {
			return b, err
		}
		b.Data = one[:n]
		if b.Size, err = h.size(ctx, id, stream); err != nil {
			return b, err
		}
	}
	end := min(from+int64(most), b.Size)
	f.End(end)
	if rest := end - f.Offset(); rest > 0 {
		data := make([]byte, int64(len(b.Data))+rest)
		n := copy(data, b.Data)
		got, err := io.ReadFull(f, data[n:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return b, err
		}
		b.Data = data[:n+got]
	}
	b.Next, b.Gaps = f.Offset(), f.Gaps()
	return b, nil
}

func (h dialectHost) size(ctx context.Context, id messages.JobID, stream messages.Stream) (int64, error) {
	job, err := h.Node.Job(ctx, id)
	for _, o := range job.Output {
		if o.Stream == stream {
			return o.Bytes, err
		}
	}
	return 0, err
}

// Events implements dialect.Host.
func (h dialectHost) Events(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) {
		for n, err := range h.events(ctx, messages.Subscribe{Now: true, Filter: filter}, begun) {
			if !yield(n.Fact, err) {
				return
			}
		}
	}
}
