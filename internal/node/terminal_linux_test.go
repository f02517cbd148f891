package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// onTerminals opens a node for the test.
func onTerminals(t *testing.T) *node.Node {
	t.Helper()
	node, err := node.Open(context.Background(), node.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{Grace: -1}))
	})
	return node
}

// In a session of terminals every command is on one, of the size of the session; its
// streams are one, whatever it asks for.
func TestASessionOfTerminals(t *testing.T) {
	node := onTerminals(t)
	reply, err := node.Ask(t.Context(), messages.OpenSession{Session: "seat", SessionPlan: messages.SessionPlan{Backend: "pty", Terminal: messages.Terminal{Rows: 30, Cols: 100}}})
	require.NoError(t, err)
	require.NoError(t, messages.Refusal(reply))
	job, err := node.Run(t.Context(), messages.RunCommand{Session: "seat", Program: messages.Program{Text: "stty size; echo err >&2; exit 3"}, Stdio: messages.Stdio{Streams: messages.SeparateStreams}})
	require.NoError(t, err)
	require.Equal(t, 3, job.End.Shell())
	require.Equal(t, "pty", job.Backend)
	require.Len(t, job.Output, 1)
	require.Equal(t, "30 100\r\nerr\r\n", whole(t, node, job))
}

// whole is all that a job has written.
func whole(t *testing.T, node *node.Node, job messages.Record) string {
	t.Helper()
	out, err := node.Output(t.Context(), job.ID, messages.Merged, 0)
	require.NoError(t, err)
	defer out.Close()
	text := make([]byte, job.Output[0].Bytes)
	_, err = out.Read(text)
	require.NoError(t, err)
	return string(text)
}

// In any other session a command is on a terminal that asks for one: it is typed to,
// waits for that, is given another size, and the key for the end.
func TestACommandOnATerminal(t *testing.T) {
	node := onTerminals(t)
	job, err := node.Run(t.Context(), messages.RunCommand{
		Program: messages.Program{Text: "read x; stty size; read -s y; cat > /dev/null; echo $x $y"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}}, Mode: messages.ModeAsync,
	})
	require.NoError(t, err)
	require.Equal(t, "pipe", job.Backend)
	ask := func(r messages.Refusable) {
		t.Helper()
		reply, err := node.Ask(t.Context(), r)
		require.NoError(t, err)
		require.NoError(t, messages.Refusal(reply))
	}
	waits := func() {
		t.Helper()
		reply, err := node.Ask(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}, Condition: messages.Condition{Kind: messages.UntilInput}, Timeout: time.Minute})
		require.NoError(t, err)
		ended, ok := reply.(messages.WaitEnded)
		require.True(t, ok && ended.Satisfied, "%+v", reply)
	}
	waits()
	ask(messages.ResizeTerminal{Job: job.ID, Size: messages.Terminal{Rows: 11, Cols: 22}})
	ask(messages.WriteInput{Job: job.ID, Data: []byte("one\n")})
	waits()
	ask(messages.WriteInput{Job: job.ID, Data: []byte("two\n")})
	waits()
	ask(messages.CloseInput{Job: job.ID})
	end, err := node.Ask(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}})
	require.NoError(t, err)
	job = end.(messages.WaitEnded).Jobs[0]
	require.Equal(t, 0, job.End.Shell())
	require.Equal(t, "one\r\n11 22\r\none two\r\n", whole(t, node, job))
}
