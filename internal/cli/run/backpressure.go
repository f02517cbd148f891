package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// Limits for backpressure: pause the command at behindMost unread bytes, resume at a
// quarter of it. A paused command blocks on its full pipe, as if it wrote to the reader
// itself.
const (
	behindMost  = 8 << 20
	behindAgain = 4 // divisor
)

// behindFor returns how many unread bytes a quota allows; 0: no limit. If the log drops
// stored bytes, it is at most half of what the log keeps. With other policies a slow
// reader loses nothing.
func behindFor(q messages.Quota) int64 {
	switch {
	case q.Bytes == 0:
		return behindMost
	case q.Policy == "" || q.Policy == string(spill.Elide):
		return min(behindMost, q.Bytes/2)
	}
	return 0
}

// backpressure pauses the command while the reader of one stream lags.
type backpressure struct {
	stream messages.Stream
	hold   *outputPauser
	most   int64 // unread bytes at which the command is paused; 0: no limit
	shown  atomic.Int64
	moved  chan struct{} // shown has changed
}

// reached records the offset up to which the reader has read.
func (p *backpressure) reached(offset int64) {
	p.shown.Store(offset)
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// keep pauses and resumes the command until ctx ends or the stream ends. It sleeps
// until the log is too far ahead, so a fast reader costs nothing.
func (p *backpressure) keep(ctx context.Context) {
	for p.most > 0 {
		size, ok := p.ahead(ctx)
		if !ok {
			return
		}
		if size-p.shown.Load() <= p.most {
			continue
		}
		p.hold.press(ctx)
		caught := p.caughtUp(ctx, size)
		p.hold.release(ctx)
		if !caught {
			return
		}
	}
}

// ahead waits until the log is more than most bytes ahead of the reader, and returns
// its size.
func (p *backpressure) ahead(ctx context.Context) (int64, bool) {
	reply, err := p.hold.node.AskAgain(ctx, func() messages.Refusable {
		return messages.FollowOutput{Job: p.hold.job, Stream: p.stream, From: p.shown.Load() + p.most}
	})
	grew, ok := reply.(messages.OutputGrew)
	return grew.Size, err == nil && ok
}

// caughtUp waits until the reader is near enough to size.
func (p *backpressure) caughtUp(ctx context.Context, size int64) bool {
	for size-p.shown.Load() > p.most/behindAgain {
		select {
		case <-p.moved:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// asker sends requests to a node. It retries while an actor restarts: without
// backpressure a slow reader would lose output.
type asker interface {
	AskAgain(ctx context.Context, request func() messages.Refusable) (any, error)
}

// outputPauser pauses the command while any of its streams asks for it.
type outputPauser struct {
	node asker
	job  messages.JobID

	mu      sync.Mutex
	pressed int
}

func (b *outputPauser) press(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pressed++
	if b.pressed == 1 {
		b.ask(ctx, true)
	}
}

// releasedFor bounds the request that resumes the command, including its retries.
const releasedFor = time.Minute

// release resumes the command even when ctx has ended. A stream that has ended must not
// leave the whole command paused.
func (b *outputPauser) release(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pressed--
	if b.pressed > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasedFor)
	defer cancel()
	b.ask(ctx, false)
}

// ask ignores the reply: a command that has ended needs no pause.
func (b *outputPauser) ask(ctx context.Context, hold bool) {
	_, _ = b.node.AskAgain(ctx, func() messages.Refusable { return messages.PauseOutput{Job: b.job, Hold: hold} })
}
