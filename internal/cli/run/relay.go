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

// relay copies one stream of the command unchanged to our stdout or stderr as it grows.
// It ends with the stream, or at the size given to finish.
type relay struct {
	host   *jobHost
	stream messages.Stream
	to     *terminal.Stream
	pace   backpressure
	waits  time.Duration // how long writes may still block, in all, before pace starts; 0: at once
	once   sync.Once     // starts pace

	live context.Context    // ends with the command
	stop context.CancelFunc // ends live
	size chan int64         // argument of finish
	lost atomic.Int64       // bytes that the quota dropped before they were shown
}

func newRelay(ctx context.Context, host *jobHost, stream messages.Stream, to *terminal.Stream, hold *outputPauser, most int64, waits time.Duration) *relay {
	r := &relay{host: host, stream: stream, to: to, waits: waits, size: make(chan int64, 1)}
	r.pace = backpressure{stream: stream, hold: hold, most: most, moved: make(chan struct{}, 1)}
	r.live, r.stop = context.WithCancel(ctx)
	return r
}

// show copies until the end of the stream, or until ctx ends.
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

// write writes to the reader. A reader that has blocked us for too long starts
// backpressure.
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

// finish reports that the command has ended and has written size bytes.
func (r *relay) finish(size int64) {
	r.size <- size
	r.stop()
}

// copy copies the bytes from one offset to another (negative: to the end of the stream)
// and returns the offset it reached.
func (r *relay) copy(ctx context.Context, from, to int64) (int64, error) {
	output, err := r.host.output(ctx, r.stream, from, to)
	if err != nil {
		return from, err
	}
	defer func() { _ = output.Close() }()
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := output.Read(buf)
		if n > 0 {
			if err := r.write(buf[:n]); err != nil {
				return from, &out.OutputError{Err: err}
			}
			from = output.Offset()
			r.pace.reached(from)
		}
		if err != nil {
			for _, gap := range output.Gaps() {
				r.lost.Add(gap.To - gap.From)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return max(from, output.Offset()), err
		}
	}
}
