package node_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// An output that outgrows memory needs its directory. One in which nothing could be
// kept is refused when the node is opened: its jobs would wait for it for ever.
func TestANodeNeedsItsDirectory(t *testing.T) {
	ctx := context.Background()
	at := func(mode os.FileMode, name ...string) string {
		dir := filepath.Join(t.TempDir(), "d")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chmod(dir, mode))
		return filepath.Join(append([]string{dir}, name...)...)
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(at(0o700), link))
	plain := at(0o700, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for name, dir := range map[string]string{
		"others may read it": at(0o755), "others may write it": at(0o777), "a link": link, "a file": plain, "without a parent": at(0o700, "no", "where"),
	} {
		node, err := node.Open(ctx, node.Options{Dir: dir})
		require.ErrorIs(t, err, &messages.Error{Code: messages.Refused, Reason: "directory"}, name)
		require.Nil(t, node, name)
	}
	for name, dir := range map[string]string{"ours": at(0o700), "not there yet": at(0o755, "new")} {
		node, err := node.Open(ctx, node.Options{Dir: dir})
		require.NoError(t, err, name)
		job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "head -c 4194304 /dev/zero; exit 3"}})
		require.NoError(t, err, name)
		require.Equal(t, 3, job.End.Shell(), name)
		require.Equal(t, int64(4<<20), job.Output[0].Bytes, name)
		require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
	}
}
