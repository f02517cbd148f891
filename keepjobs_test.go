package troupe_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe"
	"troupe/messages"
)

// Jobs live in the process of their node: one that is asked to leave them behind
// says that it cannot, goes on, and ends them when it is shut down.
func TestANodeDoesNotLeaveJobsBehind(t *testing.T) {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	require.NoError(t, err)
	job, err := node.Run(ctx, messages.RunCommand{Text: "sleep 600", Background: true})
	require.NoError(t, err)

	require.ErrorIs(t, node.Shutdown(ctx, messages.ShutDown{KeepJobs: true}), &messages.Error{Code: messages.Unsupported})
	require.NoError(t, node.Err())
	job, err = node.Job(ctx, messages.JobID(job.UID))
	require.NoError(t, err)
	require.Equal(t, messages.Running, job.State)

	notices, err := node.Subscribe(ctx, messages.Subscribe{Filter: messages.Filter{Ends: true}})
	require.NoError(t, err)
	require.NoError(t, node.Shutdown(ctx, messages.ShutDown{Grace: -1}))
	told, err := notices.Next(ctx)
	require.NoError(t, err)
	require.IsType(t, messages.CommandFinished{}, told.(messages.Notification).Fact)
	require.Equal(t, messages.Cancelled, told.(messages.Notification).Fact.(messages.CommandFinished).Job.Outcome)
}
