package node_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// A node is shut down by Shutdown alone: asked to by Ask, keeping jobs that cannot
// be kept, it would refuse everything and not have ended.
func TestANodeIsNotShutDownByAsk(t *testing.T) {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{})
	require.NoError(t, err)
	for _, keep := range []bool{false, true} {
		_, err = node.Ask(ctx, messages.ShutdownNode{KeepJobs: keep})
		require.ErrorIs(t, err, &messages.Error{Code: messages.Refused})
	}
	job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "exit 3"}})
	require.NoError(t, err)
	require.Equal(t, 3, job.End.Shell())
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
}

// Jobs live in the process of their node: one that is asked to leave them behind
// says that it cannot, goes on, and ends them when it is shut down.
func TestANodeDoesNotLeaveJobsBehind(t *testing.T) {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{})
	require.NoError(t, err)
	run := node.Submit(messages.RunCommand{Program: messages.Program{Text: "sleep 600"}})

	require.ErrorIs(t, node.Shutdown(ctx, messages.ShutdownNode{KeepJobs: true}), &messages.Error{Code: messages.Unsupported})
	job, err := node.Job(ctx, messages.JobID(run.UID))
	require.NoError(t, err)
	require.Empty(t, job.End.Outcome)

	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{Grace: -1}))
	job, err = run.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, job.End.Outcome)
}
