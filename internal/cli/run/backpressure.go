package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// How far the reader of our output may be behind before the command is held
// back, and when it goes on. Held back, it blocks on its own full pipe, as it
// would if it wrote to the reader itself. Below it, the log evens out bursts.
const (
	behindMost  = 8 << 20
	behindAgain = 4 // a quarter of it
)

// behindFor is how far the reader may be behind with a quota: where the log
// drops what it has held, less than it holds; else as far as the quota goes,
// since nothing is lost by it. 0: no bound.
func behindFor(q messages.Quota) int64 {
	switch {
	case q.Bytes == 0:
		return behindMost
	case q.Policy == "" || q.Policy == string(spill.Elide):
		return min(behindMost, q.Bytes/2)
	}
	return 0
}

// backpressure holds the command back while the reader of one stream is far behind.
type backpressure struct {
	stream messages.Stream
	hold   *outputPauser
	most   int64 // how far it may be behind; 0: as far as it likes
	shown  atomic.Int64
	moved  chan struct{} // shown has changed
}

// reached says how far the reader is.
func (p *backpressure) reached(offset int64) {
	p.shown.Store(offset)
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// keep holds and releases until ctx ends or no more is written. It sleeps until
// the log is further ahead than it may be, so it costs nothing while the reader
// keeps up.
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

// ahead waits until the log is further ahead than it may be.
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

// asker is the part of a node that is asked. It asks again past a part that is
// being made anew: without pace a slow reader would lose output.
type asker interface {
	AskAgain(ctx context.Context, request func() messages.Refusable) (any, error)
}

// outputPauser holds the command back while any of its streams asks for it.
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

// releasedFor bounds the question that lets the command go on: it may be lost,
// and asked again.
const releasedFor = time.Minute

// release lets the command go on even when ctx has ended: the stream of whoever
// pressed is over, and what it held is the whole command.
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

// ask needs no answer: a command that has ended cannot be held, nor need it be.
func (b *outputPauser) ask(ctx context.Context, hold bool) {
	_, _ = b.node.AskAgain(ctx, func() messages.Refusable { return messages.PauseOutput{Job: b.job, Hold: hold} })
}
