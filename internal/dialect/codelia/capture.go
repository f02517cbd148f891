package codelia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// captureTime bounds how long a result waits for a host that may be gone.
const captureTime = 30 * time.Second

// capture returns the excerpt of what a job has written to a stream so far. A long stream
// is cached whole.
func (s *Session) capture(t *task, job messages.Record, stream messages.Stream) excerpted {
	ctx, stop := context.WithTimeout(context.WithoutCancel(s.ctx), captureTime) // the output is shown at the end of the session, too
	defer stop()
	if now, err := dialect.Job(ctx, s.o.Host, messages.JobID(t.id)); err == nil {
		job = now
	}
	size := t.captured(job, stream)
	if size == 0 {
		return excerpted{}
	}
	l := s.logOf(ctx, t, stream)
	text, cut, err := excerpt(ctx, l, size)
	if err != nil {
		s.o.Log.Warn("an output could not be read", "task", t.id, "stream", stream.String(), "error", err)
		return excerpted{text: fmt.Sprintf(textUnread, stream, err), cut: true}
	}
	e := excerpted{text: text, cut: cut}
	if cut {
		e.ref = s.cache(l, t.id+"_"+stream.String(), size)
	}
	return e
}

// captured returns how many bytes of a stream of a task are captured.
func (t *task) captured(job messages.Record, stream messages.Stream) int64 {
	for _, o := range job.Output {
		if o.Stream == t.source(stream) {
			return min(o.Bytes, captureLimit)
		}
	}
	return 0
}

func (s *Session) logOf(ctx context.Context, t *task, stream messages.Stream) dialect.Log {
	return dialect.Log{Ctx: ctx, Host: s.o.Host, Job: messages.JobID(t.id), Stream: t.source(stream)}
}

// cached returns the reference of an output of a task that has ended, and caches the output if
// that was not needed before. "" without a cache.
func (s *Session) cached(ctx context.Context, t *task, stream messages.Stream) string {
	if ref := s.ref(t, stream); ref != "" {
		return ref
	}
	job, err := dialect.Job(ctx, s.o.Host, messages.JobID(t.id))
	if err != nil {
		return ""
	}
	ref := s.cache(s.logOf(ctx, t, stream), t.id+"_"+stream.String(), t.captured(job, stream))
	s.mu.Lock()
	defer s.mu.Unlock()
	t.excerpt(stream).ref = ref
	return ref
}

// cache copies a stream unchanged to the cache and returns its reference, "" without a
// cache.
func (s *Session) cache(l dialect.Log, ref string, size int64) string {
	if s.o.Files == nil {
		return ""
	}
	f, err := s.o.Files.Create(artifact.CacheName(ref))
	if errors.Is(err, fs.ErrExist) {
		return ref // by another call, which may still copy
	}
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
