package node_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// A failure of an actor is told to who counts them, and the job does not notice.
func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var failed []string
	once := false
	crash := func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, message *actor.MessageEnvelope) {
			_, asks := message.Message.(messages.FollowOutput)
			mu.Lock()
			now := asks && !once && strings.Contains(ctx.Self().Id, "/sink-")
			once = once || now
			mu.Unlock()
			if now {
				panic("broken on purpose")
			}
			next(ctx, message)
		}
	}
	count := node.CountFailures(func(kind string) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, kind)
	})
	node, err := node.Open(context.Background(), node.Options{Dir: filepath.Join(t.TempDir(), "out"), Middleware: []actor.ReceiverMiddleware{count, crash}})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{})) }()
	job, err := node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: "echo begun; exec sleep 600"}, Mode: messages.ModeAsync})
	require.NoError(t, err)
	out, err := node.Output(context.Background(), job.ID, messages.Merged, 0)
	require.NoError(t, err)
	defer out.Close()
	b := make([]byte, 16)
	n, err := out.Read(b)
	require.NoError(t, err)
	require.Equal(t, "begun\n", string(b[:n]))
	_, err = node.Ask(context.Background(), messages.FollowOutput{Job: job.ID, From: 0})
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"sink"}, failed)
}
