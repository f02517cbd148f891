package troupe_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe"
	"troupe/messages"
	"troupe/spill"
)

// The output of a job that is over and had to make room is told as what it was: a
// gap of its size, to who follows, reads a page, and looks at the end.
func TestAnOutputThatWasLetGoIsAGap(t *testing.T) {
	t.Parallel()
	node, err := troupe.Open(t.Context(), troupe.Options{Dir: t.TempDir() + "/root", Storage: spill.Limits{Finished: 1}})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{})) }()
	first, err := node.Run(t.Context(), messages.RunCommand{Text: "echo hello"})
	require.NoError(t, err)
	_, err = node.Run(t.Context(), messages.RunCommand{Text: "echo other"})
	require.NoError(t, err)
	f, err := node.Output(t.Context(), first.ID, messages.Merged, 0)
	require.NoError(t, err)
	defer f.Close()
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Empty(t, text)
	require.Equal(t, []messages.OutputGap{{From: 0, To: 6}}, f.Gaps())
	page, err := node.Read(t.Context(), messages.ReadOutput{Job: first.ID, View: messages.View{Kind: messages.ViewRange}})
	require.NoError(t, err)
	require.Equal(t, []messages.OutputGap{{From: 0, To: 6}}, page.Gaps)
	require.True(t, page.Closed)
	require.EqualValues(t, 6, page.Bytes)
	tail, err := node.Read(t.Context(), messages.ReadOutput{Job: first.ID, View: messages.View{Kind: messages.ViewTail}})
	require.NoError(t, err)
	require.Equal(t, []messages.OutputGap{{From: 0, To: 6}}, tail.Gaps)
}
