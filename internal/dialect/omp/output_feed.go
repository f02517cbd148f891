package omp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// outputFeed passes on the whole output of a command as clean text while it grows. A slow
// reader delays it and costs no memory: unread output stays in the log. It keeps the end of
// the text for the result.
type outputFeed struct {
	clean *artifact.TextCleaner
	tail  *artifact.TailBuffer

	mu   sync.Mutex
	job  messages.JobID // of the log that it reads
	next int64          // offset of the first byte that it has not passed on
}

// newOutputFeed returns a feed to a writer. The whole text becomes an artifact if the result
// has only its end.
func (s *Session) newOutputFeed(to io.Writer) *outputFeed {
	tail := s.window()
	return &outputFeed{clean: artifact.NewTextCleaner(io.MultiWriter(tail, to), artifact.CleanOptions{}), tail: tail}
}

// follow passes on the output of a running job until ctx ends. An error loses nothing: finish
// passes on the rest.
func (o *outputFeed) follow(ctx context.Context, h dialect.Host, id messages.JobID) {
	o.at(id, 0)
	_ = dialect.Follow(ctx, h, id, messages.Merged, updateEvery, func(from int64, _ bool) (int64, error) {
		next, err := dialect.Copy(ctx, h, id, messages.Merged, from, -1, o, o.gap)
		o.at(id, next)
		return next, err
	})
}

// at records how far the log of a job has been passed on.
func (o *outputFeed) at(id messages.JobID, next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if next == 0 {
		o.job = id
	}
	if o.job == id { // else a second run has taken the place of this one
		o.next = next
	}
}

// Write passes on a part of the output. As in pi, each CR is removed.
func (o *outputFeed) Write(p []byte) (int, error) {
	text := p
	if bytes.IndexByte(p, '\r') >= 0 {
		text = bytes.ReplaceAll(p, []byte{'\r'}, nil)
	}
	if _, err := o.clean.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// gap passes on the line for a range that was not kept.
func (o *outputFeed) gap(g messages.OutputGap) {
	_, _ = o.Write([]byte(artifact.NotKept(g.To - g.From))) // the next write reports an error
}

// finish passes on the rest of the output of a job that has ended, and returns the end of the
// text. A line says so if the rest cannot be read. follow has returned by then.
func (o *outputFeed) finish(ctx context.Context, h dialect.Host, job messages.Record) (Captured, error) {
	var err error
	if len(job.Output) > 0 {
		id, from := messages.JobID(job.UID), int64(0)
		if o.job == id {
			from = o.next
		}
		_, err = dialect.Copy(ctx, h, id, job.Output[0].Stream, from, job.Output[0].Bytes, o, o.gap)
	}
	if err != nil {
		_, _ = fmt.Fprintf(o, "["+textUnread+"]\n", err)
	}
	err = errors.Join(err, o.clean.Close()) // it flushes to the tail
	return summary(o.tail.Close("")), err
}

// finishFeed ends the feed of a command that has ended. It waits for a slow reader, and at most
// until the session ends.
func (s *Session) finishFeed(ctx context.Context, f *activeRun, job messages.Record) Captured {
	f.close()
	if f.left.Load() { // its goroutine may still be in a request to the host
		return Captured{}
	}
	ctx, over := dialect.Within(ctx, s.ctx)
	defer over()
	out, err := f.feed.finish(ctx, s.options.Host, job)
	if err != nil {
		s.options.Log.Warn("an output could not be passed on", "job", string(job.UID), "error", err)
	}
	return out
}
