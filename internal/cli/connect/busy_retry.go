package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/messages"
)

// A daemon bounds its connections. Who finds them all taken waits for one and
// tries again: nothing was begun for him.
const (
	crowdFirst = 20 * time.Millisecond
	crowdMost  = time.Second // between two tries
)

var crowded = &messages.Error{Code: messages.ResourceExhausted, Reason: "connections"}

// IsBusy is the refusal of a daemon that has no connection left.
func IsBusy(err error) bool { return errors.Is(err, crowded) }

// WasRejected is that, or a connection that was closed at once, as those are
// that cannot even be told. What changes nothing may be asked again after it; a
// daemon that has died is then found to be none.
func WasRejected(err error) bool {
	return wasClosed(err) || IsBusy(err)
}

// wasClosed says that the other end of a connection has closed it, or died.
func wasClosed(err error) bool {
	for _, closed := range []error{unix.ECONNRESET, unix.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// RetryBusy asks until there is a connection for it, or ctx ends.
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

// answerPatience is how long a daemon may take for its first answer: one that
// begins may have the jobs of before to find, one that was stopped never answers.
const answerPatience = 30 * time.Second

// Dial is a client of the daemon at a socket.
func Dial(ctx context.Context, socket string) (*client.Client, error) {
	return RetryBusy(ctx, WasRejected, func() (*client.Client, error) {
		asked, cancel := context.WithTimeout(ctx, answerPatience)
		defer cancel()
		c, err := client.Dial(asked, socket)
		if err != nil && asked.Err() != nil && ctx.Err() == nil {
			err = &messages.Error{
				Code: messages.Busy, Reason: "daemon", Message: fmt.Sprintf("the daemon at %s has not answered for %v", socket, answerPatience),
				Hint: "see whether its process runs (its log is in the state directory), end it, and try again: its jobs go on",
			}
		}
		return c, err
	})
}
