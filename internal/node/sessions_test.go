package node_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill/view"
)

// A library's node has live shells as a daemon's has: a run opens one, and the next
// finds it as the one before left it.
func TestLiveShellsOfALibrary(t *testing.T) {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{})
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	say := func(text string, code int) (string, messages.Record) {
		t.Helper()
		job, err := node.Run(ctx, messages.RunCommand{Session: "s", Program: messages.Program{Text: text}, Open: &messages.SessionPlan{Dir: dir, Umask: "0027", Env: messages.Env{Set: []string{"GIVEN=yes"}}}})
		require.NoError(t, err)
		require.Equal(t, messages.Exited, job.End.Outcome)
		require.Equal(t, code, job.End.Shell())
		v, err := node.View(job, view.Options{Bytes: 1000})
		require.NoError(t, err)
		return strings.TrimSuffix(v.Text, "\n"), job
	}
	out, _ := say("X=1; export Y=2; umask; echo $GIVEN $TROUPE_SESSION_ID; pwd; mkdir sub; cd sub; false", 1)
	require.Equal(t, "0027\nyes s\n"+dir, out)
	out, job := say("echo $X $Y; pwd", 0)
	require.Equal(t, "1 2\n"+dir+"/sub", out)
	require.Equal(t, dir+"/sub", job.Dir)
	require.False(t, job.HasFlag(messages.FlagReplaced))

	_, job = say("exit 5", 5)
	require.True(t, job.HasFlag(messages.FlagSessionEnded))
	out, job = say("echo $X $Y; pwd", 0)
	require.Equal(t, "2\n"+dir+"/sub", strings.TrimSpace(out))
	require.True(t, job.HasFlag(messages.FlagReplaced))

	reply, err := node.Ask(ctx, messages.ListSessions{Recent: true})
	require.NoError(t, err)
	list := reply.(messages.SessionList)
	require.Len(t, list.Sessions, 1)
	require.Equal(t, dir+"/sub", list.Sessions[0].Dir)
	require.Equal(t, "bash", list.Sessions[0].Shell)
	require.Len(t, list.Recent, 1)
	require.Equal(t, messages.EndError, list.Recent[0].Reason)
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{}))
}
