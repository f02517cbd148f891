package node_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// Whoever reads the output of a job right behind its end is given it: the
// question may come before the reader has its logs, and while the reader goes.
func TestOutputReadRightBehindTheEnd(t *testing.T) {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{})) }()
	views := []messages.View{{Kind: messages.ViewRange}, {Kind: messages.ViewSize}, {Kind: messages.ViewTail}}
	for i := range 102 {
		job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "echo x"}})
		require.NoError(t, err)
		view := views[i%len(views)]
		reply, err := node.Ask(ctx, messages.ReadOutput{Job: job.ID, View: view})
		require.NoError(t, err)
		page, ok := reply.(messages.OutputPage)
		require.True(t, ok, "job %d, %s: %+v", i, view.Kind, reply)
		require.Equal(t, int64(2), page.Bytes)
		if view.Kind == messages.ViewSize {
			require.Equal(t, int64(1), page.Lines)
			require.True(t, page.LinesExact)
		}
	}
}
