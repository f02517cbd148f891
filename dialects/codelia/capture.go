package codelia

import (
	"context"
	"io"
	"time"

	"troupe/dialects"
	"troupe/messages"
	"troupe/spill/artifact"
)

// captureTime bounds what is asked of a host that may be gone: no result waits for it
// longer.
const captureTime = 30 * time.Second

// capture is what is shown of a stream of a job, as far as it has written by now. What is
// too long is cached.
func (s *Session) capture(t *task, job messages.Job, stream messages.Stream) captured {
	ctx, stop := context.WithTimeout(context.WithoutCancel(s.ctx), captureTime) // what was written is shown at the end of the session, too
	defer stop()
	var size int64
	if now, err := s.o.Host.Job(ctx, messages.JobID(t.id)); err == nil {
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
	l := log{ctx: ctx, host: s.o.Host, job: messages.JobID(t.id), stream: stream}
	text, cut, err := excerpt(ctx, l, size)
	if err != nil {
		s.o.Log.Warn("an output could not be read", "task", t.id, "stream", stream.String(), "error", err)
		return captured{}
	}
	c := captured{text: text, cut: cut}
	if cut {
		c.ref = s.cache(l, t.id+"_"+stream.String(), size)
	}
	return c
}

// cache puts a stream into the cache, as it is, and gives its reference: "" if there is
// no cache.
func (s *Session) cache(l log, ref string, size int64) string {
	if s.o.Files == nil {
		return ""
	}
	f, err := s.o.Files.Create(artifact.CacheName(ref))
	if err == nil {
		if _, err = dialects.Copy(l.ctx, l.host, l.job, l.stream, 0, size, f, nil); err == nil {
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

// log is a stream of a job as a file.
type log struct {
	ctx    context.Context //nolint:containedctx // of one call
	host   dialects.Host
	job    messages.JobID
	stream messages.Stream
}

// ReadAt implements io.ReaderAt for the bytes that were kept from the beginning on.
func (l log) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		b, err := l.host.Bytes(l.ctx, l.job, l.stream, off+int64(n), len(p)-n, false)
		if err != nil {
			return n, err
		}
		if len(b.Data) == 0 {
			return n, io.EOF
		}
		n += copy(p[n:], b.Data)
	}
	return n, nil
}
