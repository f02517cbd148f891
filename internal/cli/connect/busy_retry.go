package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/internal/cli/config"
	"troupe/messages"
)

// A daemon limits its connections. While all are in use a verb waits and tries again,
// which is safe: the daemon has not read the request.
const (
	crowdFirst = 20 * time.Millisecond
	crowdMost  = time.Second // longest time between two tries
)

var crowded = &messages.Error{Code: messages.ResourceExhausted, Reason: "connections"}

// IsBusy reports whether the daemon has refused because all connections are in use.
func IsBusy(err error) bool { return errors.Is(err, crowded) }

// WasRejected reports whether IsBusy holds or the connection was closed at once, as a
// daemon does if it cannot even refuse. A request that changes nothing may be repeated
// then. After the death of a daemon the repeat finds none.
func WasRejected(err error) bool {
	return wasClosed(err) || IsBusy(err)
}

// wasClosed reports whether the other end has closed a connection, or died.
func wasClosed(err error) bool {
	for _, closed := range []error{unix.ECONNRESET, unix.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// RetryBusy repeats ask, with growing pauses, while away accepts its error and ctx
// lasts.
func RetryBusy[T any](ctx context.Context, away func(error) bool, ask func() (T, error)) (T, error) {
	for wait := crowdFirst; ; wait = min(2*wait, crowdMost) {
		answer, err := ask()
		if err == nil || !away(err) {
			return answer, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
}

// answerPatience bounds the wait for the first answer of a daemon. A starting one may
// have to restore jobs; a stopped one (SIGSTOP) never answers.
const answerPatience = 30 * time.Second

// DialDaemon connects to the daemon of the settings: at its socket or, if it cannot be
// reached there, at the one in its state directory. The first may be removed, or be that
// of another login; the default may be planted by another user.
func DialDaemon(ctx context.Context, at *config.Settings) (*client.Client, error) {
	c, err := Dial(ctx, at.Socket)
	path := at.StateSocket()
	if err == nil || path == "" || path == at.Socket || !isUnreachable(err) {
		return c, err
	}
	c, serr := Dial(ctx, path)
	if serr == nil || errors.Is(serr, client.ErrNoDaemon) && !at.Named() { // one can be started
		return c, serr
	}
	return nil, err
}

// isUnreachable reports whether no daemon of this user can be reached at a socket.
func isUnreachable(err error) bool {
	for _, of := range []error{
		client.ErrNoDaemon, &messages.Error{Code: messages.Refused, Reason: "socket"}, &messages.Error{Code: messages.Refused, Reason: "peer"},
		&messages.Error{Code: messages.InvalidParams, Reason: "socket"},
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// Dial connects to the daemon at a socket.
func Dial(ctx context.Context, socket string) (*client.Client, error) {
	return RetryBusy(ctx, WasRejected, func() (*client.Client, error) {
		dialCtx, cancel := context.WithTimeout(ctx, answerPatience)
		defer cancel()
		c, err := client.Dial(dialCtx, socket)
		if err != nil && dialCtx.Err() != nil && ctx.Err() == nil {
			err = &messages.Error{
				Code: messages.Busy, Reason: "daemon", Message: fmt.Sprintf("the daemon at %s did not answer within %v", socket, answerPatience),
				Hint: "check its process and its log in the state directory, kill it, and retry: its jobs keep running",
			}
		}
		return c, err
	})
}
