package out

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// A pipe and a socket have no reader when the other end is closed, and not before: not
// while it is only slow. Whoever looks at one is let go when the verb is over.
func TestReadersThatLeave(t *testing.T) {
	t.Parallel()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	for name, ends := range map[string][2]*os.File{
		"pipe": {w, r}, "socket": {os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")},
	} {
		ours, reader := ends[0], ends[1]
		defer ours.Close()
		over, wake, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, wake.Close())
		require.False(t, waitReaderGone(ours, over), name)
		require.NoError(t, over.Close())

		m := &cli.Main{Out: ours}
		ctx, done := WithStdoutReader(t.Context(), m)
		_, err = ours.WriteString("it is not read")
		require.NoError(t, err)
		require.NoError(t, ctx.Err(), name)
		require.NoError(t, reader.Close())
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrSIGPIPE, name)
		done()
	}
}
