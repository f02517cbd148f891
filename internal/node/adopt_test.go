package node_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
)

// A node with a journal on a disk goes on where the one before it stopped: with its
// ids, its numbers, its records and its keys. What it had not ended is lost, since
// its engine was in its process.
func TestANodeGoesOnWhereItsJournalStopped(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "state", "journal")
	open := func() (*node.Node, *journal.Bolt) {
		j, err := journal.OpenBolt(path, journal.BoltOptions{})
		require.NoError(t, err)
		node, err := node.Open(ctx, node.Options{Journal: j})
		require.NoError(t, err)
		return node, j
	}
	node, j := open()
	keyed := messages.RunCommand{Program: messages.Program{Text: "exit 3"}, Key: "k", Labels: messages.Labels{Name: "keyed"}}
	first, err := node.Run(ctx, keyed)
	require.NoError(t, err)
	require.Equal(t, messages.JobID("j1"), first.ID)
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
	require.NoError(t, j.Close())

	node, j = open()
	last, err := j.Last()
	require.NoError(t, err)
	again, err := node.Run(ctx, keyed)
	require.NoError(t, err)
	require.Equal(t, first.UID, again.UID)
	require.Equal(t, 3, again.End.Shell())
	other := keyed
	other.Text = "exit 4"
	_, err = node.Run(ctx, other)
	require.ErrorIs(t, err, &messages.Error{Code: messages.Conflict})
	second, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "exit 0"}})
	require.NoError(t, err)
	require.Equal(t, messages.JobID("j2"), second.ID)
	require.Greater(t, second.Seq, last)
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))

	live := second
	live.ID, live.UID, live.State, live.End.Outcome, live.End.Code = "j3", "01ARZ3NDEKTSV4RRFFQ69G5FAV", messages.Running, "", nil
	last, err = j.Last()
	require.NoError(t, err)
	live.Seq = last + 1
	require.NoError(t, j.Append([]messages.FactRecorded{{Seq: last + 1, Fact: messages.CommandStarted{Job: live}}}))
	require.NoError(t, j.Close())
	node, j = open()
	lost, err := node.Job(ctx, "j3")
	require.NoError(t, err)
	require.Equal(t, messages.Lost, lost.End.Outcome)
	require.Nil(t, lost.End.Code)
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
	require.NoError(t, j.Close())
}
