package troupe_test

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

	"troupe"
	"troupe/messages"
)

// Whatever a reader has is written to a job, in pieces that it takes, and the end with
// it; a job that does not read, or no more, holds nobody for ever.
func TestInputIsWritten(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := troupe.Open(ctx, troupe.Options{Dir: filepath.Join(t.TempDir(), "out")})
	require.NoError(t, err)
	start := func(session messages.SessionID, text string) *troupe.Job {
		command := troupe.Sh(text)
		command.Session, command.Stdin = session, messages.StdinPipe
		job, err := n.Start(ctx, command)
		require.NoError(t, err)
		return job
	}
	much := bytes.Repeat([]byte("x"), 3*messages.MaxInput+1)

	counts := start("counts", "wc -c")
	in := counts.Stdin(ctx)
	failed := errors.New("the source is gone")
	taken, err := io.Copy(in, io.MultiReader(bytes.NewReader(much), iotest.ErrReader(failed)))
	require.ErrorIs(t, err, failed)
	require.EqualValues(t, len(much), taken)
	taken, err = io.Copy(in, bytes.NewReader(much))
	require.NoError(t, err)
	require.EqualValues(t, len(much), taken)
	require.NoError(t, in.Close())
	out := counts.Stdout(ctx)
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Equal(t, "1572866\n", string(text))
	require.NoError(t, in.Close())

	_, err = start("closed", "exec <&-; sleep 600").Stdin(ctx).Write(much)
	require.ErrorIs(t, err, &messages.Error{Code: messages.NoInput})

	soon, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	in = start("asleep", "sleep 600").Stdin(soon)
	_, err = in.Write(much)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, n.Close())
	_, err = counts.Stdin(ctx).Write(much)
	require.ErrorIs(t, err, troupe.ErrClosed)
}
