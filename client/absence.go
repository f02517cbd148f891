package client

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"troupe/messages"
)

// A request that reads, waits or can be repeated comes back to the next daemon: it is sent
// again until one answers. The jobs are the same there, and so are their ULIDs and outputs.

// Bounds of an absence.
const (
	returnTime = 15 * time.Second       // a job in the foreground lives as long without its client
	returnMost = 500 * time.Millisecond // longest wait between two tries
)

// Absence is the time without a daemon that one request has met. The zero value is none.
type Absence struct {
	first error // why it began; nil: it has not
	until time.Time
	wait  time.Duration
	back  time.Time // of the last connection to the next daemon
}

// Next waits before the next try of a request that has failed with err. It returns the error
// of a request that is not tried again.
func (a *Absence) Next(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !DaemonLeft(err) && !(a.first != nil && errors.Is(err, crowded)): // all clients come back at once
		return err
	}
	a.begin(err)
	return a.pause(ctx)
}

// begin begins an absence, or continues one whose last connection broke at once.
func (a *Absence) begin(err error) {
	if a.first == nil || !a.back.IsZero() && time.Since(a.back) > returnMost {
		*a = Absence{first: err, until: time.Now().Add(returnTime), wait: retryFirst}
	}
	a.back = time.Time{}
}

// pause waits before the next try. After the absence it returns the error with which that began.
func (a *Absence) pause(ctx context.Context) error {
	left := time.Until(a.until)
	if left <= 0 {
		return a.first
	}
	select {
	case <-time.After(min(a.wait, left)):
		a.wait = min(2*a.wait, returnMost)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// crowded is the refusal of a daemon whose connections are all in use.
var crowded = &messages.Error{Code: messages.ResourceExhausted, Reason: "connections"}

// DaemonLeft reports whether an error means that the daemon has ended or is about to.
func DaemonLeft(err error) bool {
	var coded *messages.Error
	if errors.As(err, &coded) {
		return coded.Code == messages.ShuttingDown
	}
	var line *net.OpError
	if errors.As(err, &line) {
		return true
	}
	for _, end := range []error{ErrNoDaemon, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// EndWithDaemon makes every request fail when its daemon ends, for a caller that finds or
// starts the next one itself. Call it before the first request. Events that have begun come back
// all the same.
func (c *Client) EndWithDaemon() { c.single = true }

// returning sends a request until a daemon answers it.
func returning[T any](ctx context.Context, c *Client, send func() (T, error)) (T, error) {
	var away Absence
	for {
		v, err := send()
		if err == nil || c.single {
			return v, err
		}
		if err = away.Next(ctx, err); err != nil {
			return v, err
		}
	}
}
