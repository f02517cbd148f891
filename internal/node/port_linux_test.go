package node_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/internal/test/need"
	"troupe/messages"
)

// listener is a program that listens on a port that it is given and says so.
const listener = `import socket,sys
s=socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); print("bound", flush=True)
sys.stdin.readline(); s.listen(); sys.stdin.readline()`

// A job listens when it, or what it has started, does: not when it has only taken
// the port, and not when somebody else listens there.
func TestAwaitAPort(t *testing.T) {
	python := need.Program(t, "python3")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	node, err := node.Open(ctx, node.Options{Dir: filepath.Join(t.TempDir(), "node")})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{})) }()
	await := func(job messages.JobID, c messages.Condition, most time.Duration) messages.WaitEnded {
		reply, err := node.Ask(ctx, messages.WaitJobs{Jobs: []messages.JobID{job}, Condition: c, Timeout: most})
		require.NoError(t, err)
		end, ok := reply.(messages.WaitEnded)
		require.True(t, ok, "%+v", reply)
		return end
	}
	others, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer others.Close()
	taken := others.Addr().(*net.TCPAddr).Port
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())

	job, err := node.Run(ctx, messages.RunCommand{
		Program: messages.Program{Text: fmt.Sprintf("%s -c '%s' %d; exit 3", python, listener, port)}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync,
	})
	require.NoError(t, err)
	require.True(t, await(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "bound"}, 0).Satisfied)
	const short = 300 * time.Millisecond
	require.True(t, await(job.ID, messages.Condition{Kind: messages.UntilPort, Port: port}, short).TimedOut)
	require.True(t, await(job.ID, messages.Condition{Kind: messages.UntilPort, Port: taken}, short).TimedOut)
	require.True(t, await(job.ID, messages.Condition{Kind: messages.UntilPort, Port: taken, Host: "localhost"}, 0).Satisfied)
	met := make(chan messages.WaitEnded, 1)
	go func() { met <- await(job.ID, messages.Condition{Kind: messages.UntilPort, Port: port}, 0) }()
	input := func() {
		_, err := node.Ask(ctx, messages.WriteInput{Job: job.ID, Data: []byte("\n")})
		require.NoError(t, err)
	}
	input()
	end := <-met
	require.True(t, end.Satisfied)
	require.Equal(t, []messages.JobID{job.ID}, end.Met)
	require.True(t, await(job.ID, messages.Condition{Kind: messages.UntilPort, Port: port}, 0).Satisfied) // at once, too
	go func() { met <- await(job.ID, messages.Condition{Kind: messages.UntilPort, Port: taken}, 0) }()
	input()
	require.True(t, (<-met).Impossible) // its end ends the hope
}
