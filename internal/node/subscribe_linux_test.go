package node_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// closedWhileBusy closes a subscription of a node that does not come to it before: what
// the channel says of its end comes to nobody.
func closedWhileBusy(t *testing.T, ctx context.Context) (*node.Node, *node.Subscription) {
	t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	node, err := node.Open(ctx, node.Options{
		Dir: filepath.Join(t.TempDir(), "out"),
		Middleware: []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, message *actor.MessageEnvelope) {
				if r, is := message.Message.(messages.FindJob); is && r.Job == "hold" {
					close(busy)
					<-free
				}
				next(c, message)
			}
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { shut(t, node) })
	s, err := node.Subscribe(ctx, messages.Subscribe{Channel: "x"})
	require.NoError(t, err)
	var beside sync.WaitGroup
	beside.Go(func() { _, _ = node.Job(ctx, "hold") })
	<-busy
	require.NoError(t, s.Close())
	close(free)
	beside.Wait()
	return node, s
}

// Whoever goes on with a subscription that is closed is told so, and does not wait.
func TestAClosedSubscriptionSaysSo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, s := closedWhileBusy(t, ctx)
	_, err := s.Next(ctx)
	require.ErrorIs(t, err, errClosed)

	waits, err := node.Subscribe(ctx, messages.Subscribe{Now: true})
	require.NoError(t, err)
	var beside sync.WaitGroup
	beside.Go(func() { _, err = waits.Next(ctx) })
	require.NoError(t, waits.Close())
	beside.Wait()
	require.ErrorIs(t, err, errClosed)
}

// Closing twice ends no channel of the same name that was opened meanwhile.
func TestASubscriptionIsClosedOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, first := closedWhileBusy(t, ctx)
	second, err := node.Subscribe(ctx, messages.Subscribe{Channel: "x", Now: true})
	require.NoError(t, err)
	require.NoError(t, first.Close())
	_, err = node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "true"}})
	require.NoError(t, err)
	_, err = second.Next(ctx)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}
