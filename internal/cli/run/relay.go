package run

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// relay copies one stream of the command to one of ours while it grows, byte by
// byte as it is. It ends when no process can write any more, or at the size that
// finish names.
type relay struct {
	host   host
	job    messages.JobID
	stream messages.Stream
	to     *terminal.Stream
	pace   backpressure
	waits  time.Duration // how long to may still keep us waiting, in all, until pace is kept
	once   sync.Once     // pace is kept

	live context.Context    // until the command has ended
	stop context.CancelFunc // of live
	size chan int64         // what finish said
	lost atomic.Int64       // bytes that a quota took before they were shown
}

func newRelay(ctx context.Context, host host, stream messages.Stream, to *terminal.Stream, hold *outputPauser, most int64, waits time.Duration) *relay {
	r := &relay{host: host, job: hold.job, stream: stream, to: to, waits: waits, size: make(chan int64, 1)}
	r.pace = backpressure{stream: stream, hold: hold, most: most, moved: make(chan struct{}, 1)}
	r.live, r.stop = context.WithCancel(ctx)
	return r
}

// show copies until the end. ctx ends it early.
func (r *relay) show(ctx context.Context) error {
	defer r.stop()
	if r.waits == 0 {
		r.keepPace()
	}
	at, err := r.copy(r.live, 0, -1)
	if err == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	select {
	case end := <-r.size:
		_, err = r.copy(ctx, at, end)
		return err
	case <-ctx.Done():
		return nil
	}
}

// write shows bytes. A reader that has kept us waiting for long is one for whom
// the command is held back.
func (r *relay) write(b []byte) error {
	if r.waits > 0 {
		began := time.Now()
		patience := time.AfterFunc(r.waits, r.keepPace)
		defer func() {
			patience.Stop()
			if r.waits -= time.Since(began); r.waits <= 0 {
				r.keepPace()
			}
		}()
	}
	_, err := r.to.Write(b)
	return err
}

func (r *relay) keepPace() { r.once.Do(func() { go r.pace.keep(r.live) }) }

// finish says that the command has ended and has written so many bytes.
func (r *relay) finish(size int64) {
	r.size <- size
	r.stop()
}

// copy copies the bytes from one offset to another (negative: to the end of the
// stream) and says how far it came.
func (r *relay) copy(ctx context.Context, from, to int64) (int64, error) {
	follower, err := r.host.output(ctx, r.job, r.stream, from, to)
	if err != nil {
		return from, err
	}
	defer func() { _ = follower.Close() }()
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := follower.Read(buf)
		if n > 0 {
			if err := r.write(buf[:n]); err != nil {
				return from, &out.OutputError{Err: err}
			}
			from = follower.Offset()
			r.pace.reached(from)
		}
		if err != nil {
			for _, gap := range follower.Gaps() {
				r.lost.Add(gap.To - gap.From)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return max(from, follower.Offset()), err
		}
	}
}
