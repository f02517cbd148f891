package node_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// A variable named node hides the package in most tests.
var errClosed = node.ErrClosed

// Whatever a reader has is written to a job, in pieces that it takes, and the end with
// it; a job that does not read, or no more, holds nobody for ever.
func TestInputIsWritten(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := node.Open(ctx, node.Options{Dir: filepath.Join(t.TempDir(), "out")})
	require.NoError(t, err)
	start := func(session messages.SessionID, text string) messages.JobID {
		job, err := node.Run(ctx, messages.RunCommand{Session: session, Program: messages.Program{Text: text}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync})
		require.NoError(t, err)
		return job.ID
	}
	much := bytes.Repeat([]byte("x"), 3*messages.MaxInput+1)

	counts := start("counts", "wc -c")
	in := node.Input(ctx, counts)
	failed := errors.New("the source is gone")
	n, err := io.Copy(in, io.MultiReader(bytes.NewReader(much), iotest.ErrReader(failed)))
	require.ErrorIs(t, err, failed)
	require.EqualValues(t, len(much), n)
	n, err = io.Copy(in, bytes.NewReader(much))
	require.NoError(t, err)
	require.EqualValues(t, len(much), n)
	require.NoError(t, in.Close())
	out, err := node.Output(ctx, counts, messages.Merged, 0)
	require.NoError(t, err)
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Equal(t, "1572866\n", string(text))
	require.NoError(t, in.Close())

	_, err = node.Input(ctx, start("closed", "exec <&-; sleep 600")).Write(much)
	require.ErrorIs(t, err, &messages.Error{Code: messages.NoInput})

	soon, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	in = node.Input(soon, start("asleep", "sleep 600"))
	_, err = in.Write(much)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{Grace: -1}))
	_, err = node.Input(ctx, counts).Write(much)
	require.ErrorIs(t, err, errClosed)
}
