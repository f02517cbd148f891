package node_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
	"troupe/spill/view"
)

// The live shells of a library's node know their user if it says so. That there is no
// snapshot is told once in a session, and of the session until a shell has one.
func TestLiveShellsKnowTheirUser(t *testing.T) {
	ctx := context.Background()
	root := filepath.Join(t.TempDir(), "troupe")
	node, err := node.Open(ctx, node.Options{Dir: root, Snapshot: true})
	require.NoError(t, err)
	say := func(session messages.SessionID, home, text string) (string, messages.Record) {
		t.Helper()
		job, err := node.Run(ctx, messages.RunCommand{Session: session, Program: messages.Program{Text: text}, Open: &messages.SessionPlan{Env: messages.Env{Set: []string{"HOME=" + home}}}})
		require.NoError(t, err)
		require.Equal(t, messages.Exited, job.End.Outcome)
		v, err := node.View(job, view.Options{Bytes: 1000})
		require.NoError(t, err)
		return strings.TrimSuffix(v.Text, "\n"), job
	}
	info := func(session messages.SessionID) messages.SessionInfo {
		t.Helper()
		reply, err := node.Ask(ctx, messages.ListSessions{})
		require.NoError(t, err)
		for _, s := range reply.(messages.SessionList).Sessions {
			if s.Session == session {
				return s
			}
		}
		t.Fatalf("there is no session %s", session)
		return messages.SessionInfo{}
	}
	home := func(rc string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".bashrc"), []byte(rc), 0o600))
		return dir
	}

	out, job := say("knows", home("greet() { echo hello; }\nPATH=$PATH:/theirs\n"), "greet; echo ${PATH##*:}")
	require.Equal(t, "hello\n/theirs", out)
	require.False(t, job.HasFlag(messages.FlagNoSnapshot))
	require.Equal(t, messages.SnapshotUsed, info("knows").Snapshot)

	ends := home("exit 3\n")
	out, job = say("fails", ends, "echo here")
	require.Equal(t, "here", out)
	require.True(t, job.HasFlag(messages.FlagNoSnapshot))
	require.Equal(t, messages.SnapshotFailed, info("fails").Snapshot)
	require.Contains(t, info("fails").SnapshotError, ".bashrc ended or replaced the shell")
	_, job = say("fails", ends, "exit 4")
	require.False(t, job.HasFlag(messages.FlagNoSnapshot))
	_, job = say("fails", ends, "true") // its next shell begins without for the same reason
	require.True(t, job.HasFlag(messages.FlagReplaced))
	require.False(t, job.HasFlag(messages.FlagNoSnapshot))
	require.NoError(t, os.WriteFile(filepath.Join(ends, ".bashrc"), []byte("greet() { echo mended; }\n"), 0o600))
	_, _ = say("fails", ends, "exit 4")
	out, _ = say("fails", ends, "greet")
	require.Equal(t, "mended", out)
	require.Equal(t, messages.SnapshotUsed, info("fails").Snapshot)
	require.Empty(t, info("fails").SnapshotError)

	out, _ = say("nothing", t.TempDir(), "echo here")
	require.Equal(t, "here", out)
	require.Equal(t, messages.SnapshotNone, info("nothing").Snapshot)

	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
	left, _ := filepath.Glob(root + "/*/snapshots")
	require.Empty(t, left)
}

// A node whose engine is elsewhere needs a place for the files.
func TestBadInputSnapshotWithoutADirectory(t *testing.T) {
	e, logs := fake.New(fake.Options{}), fake.NewStore()
	_, err := node.Open(context.Background(), node.Options{Engine: e, Logs: logs, Snapshot: true})
	require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "snapshot"})
}
