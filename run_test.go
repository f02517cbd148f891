package troupe

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

// silent is a host that never answers.
type silent struct{ host.Host }

func (silent) Do(ctx context.Context, _ messages.Refusable) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Output(ctx context.Context, _ messages.JobID, _ messages.Stream, _ int64) (host.Reader, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Events(context.Context, messages.Subscribe) iter.Seq2[messages.Notification, error] {
	return func(func(messages.Notification, error) bool) {}
}

// A Run whose context has ended does not wait for ever for a host that does not answer.
func TestRunLeavesASilentHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := (&Node{host: silent{}}).Output(ctx, Sh("true"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(began), 3*time.Minute)
	})
}
