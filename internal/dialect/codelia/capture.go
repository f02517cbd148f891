package codelia

import (
	"context"
	"fmt"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// captureTime bounds how long a result waits for a host that may be gone.
const captureTime = 30 * time.Second

// capture returns the excerpt of what a job has written to a stream so far. A long stream
// is cached whole.
func (s *Session) capture(t *task, job messages.Record, stream messages.Stream) captured {
	ctx, stop := context.WithTimeout(context.WithoutCancel(s.ctx), captureTime) // the output is shown at the end of the session, too
	defer stop()
	var size int64
	if now, err := dialect.Job(ctx, s.o.Host, messages.JobID(t.id)); err == nil {
		job = now
	}
	for _, o := range job.Output {
		if o.Stream == stream {
			size = min(o.Bytes, captureLimit)
		}
	}
	if size == 0 {
		return captured{}
	}
	l := dialect.Log{Ctx: ctx, Host: s.o.Host, Job: messages.JobID(t.id), Stream: stream}
	text, cut, err := excerpt(ctx, l, size)
	if err != nil {
		s.o.Log.Warn("an output could not be read", "task", t.id, "stream", stream.String(), "error", err)
		return captured{text: fmt.Sprintf(textUnread, stream, err), cut: true}
	}
	c := captured{text: text, cut: cut}
	if cut {
		c.ref = s.cache(l, t.id+"_"+stream.String(), size)
	}
	return c
}

// cache copies a stream unchanged to the cache and returns its reference, "" without a
// cache.
func (s *Session) cache(l dialect.Log, ref string, size int64) string {
	if s.o.Files == nil {
		return ""
	}
	f, err := s.o.Files.Create(artifact.CacheName(ref))
	if err == nil {
		if err = l.CopyTo(f, size); err == nil {
			err = f.Close()
		}
		if err != nil {
			f.Discard()
		}
	}
	if err != nil {
		s.o.Log.Warn("an output could not be cached", "ref_id", ref, "error", err)
		return ""
	}
	return ref
}
