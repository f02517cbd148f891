package codelia

import (
	"context"
	"errors"
	"sync"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// watchSize stops a job whose streams together exceed the capture limit. The
// quota of each log covers a single stream. Both together cannot exceed the limit before
// one of them has grown by half of the remaining bytes. Waiting for that keeps the number
// of checks small.
func (s *Session) watchSize(ctx context.Context, id messages.JobID, streams []messages.Stream) {
	at := map[messages.Stream]int64{} // sizes of the streams that may still grow
	for _, stream := range streams {
		at[stream] = 0
	}
	for len(at) > 0 && ctx.Err() == nil {
		left, err := s.left(ctx, id, at)
		switch {
		case err != nil:
			return
		case left < 0:
			_, err := host.Ask(ctx, s.o.Host, messages.StopCommand{Job: id, Grace: grace, By: messages.ByQuota, Reason: textCaptured})
			if err != nil && ctx.Err() == nil {
				s.o.Log.Warn("a command over the capture limit could not be ended", "job", string(id), "error", err)
			}
			return
		}
		for _, stream := range s.firstBeyond(ctx, id, at, left/2) {
			delete(at, stream)
		}
	}
}

// left returns how many bytes the streams of a job may still grow, and stores their sizes
// in at.
func (s *Session) left(ctx context.Context, id messages.JobID, at map[messages.Stream]int64) (int64, error) {
	job, err := dialect.Job(ctx, s.o.Host, id)
	if err != nil {
		return 0, err
	}
	left := int64(captureLimit)
	for _, o := range job.Output {
		left -= o.Bytes
		if _, grows := at[o.Stream]; grows {
			at[o.Stream] = o.Bytes
		}
	}
	return left, nil
}

// firstBeyond waits until one of the streams has grown by more than more bytes, or has
// ended. It returns the streams that have ended.
func (s *Session) firstBeyond(ctx context.Context, id messages.JobID, at map[messages.Stream]int64, more int64) []messages.Stream {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var ended []messages.Stream
	var all sync.WaitGroup
	for stream, size := range at {
		all.Add(1)
		s.o.Beside.Go(func() {
			defer all.Done()
			b, err := s.o.Host.Bytes(ctx, id, stream, size+more, 1, true)
			cancel()
			if over := err == nil && b.Next <= size+more; over || err != nil && !isOver(err) {
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, stream)
			}
		})
	}
	all.Wait()
	return ended
}

// isOver reports whether a wait was cancelled because another one has returned.
func isOver(err error) bool { return errors.Is(err, context.Canceled) }
