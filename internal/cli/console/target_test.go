package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/messages"
)

func TestAMessageIsAppendedToAFile(t *testing.T) {
	dir := t.TempDir()
	to, err := newTarget("messages", dir)
	require.NoError(t, err)
	require.NoError(t, to.write(t.Context(), "one"))
	require.NoError(t, to.write(t.Context(), "two\nlines"))
	text, err := os.ReadFile(filepath.Join(dir, "messages"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nlines\n", string(text))
	info, err := os.Stat(filepath.Join(dir, "messages"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestBadInputSend(t *testing.T) {
	dir := t.TempDir()
	for value, want := range map[string]string{"|": "no command", " |  ": "no command", ".": "neither a file nor a named pipe", "no/file": "directory of no/file does not exist"} {
		_, err := newTarget(value, dir)
		var wrong *messages.Error
		require.ErrorAs(t, err, &wrong, value)
		require.Equal(t, messages.InvalidParams, wrong.Code)
		require.Contains(t, wrong.Message, want)
		require.NotEmpty(t, wrong.Hint)
	}
}

// A pipe without a reader refuses at once; one whose reader takes a part, at the end of the time.
func TestFaultPipeWithoutReader(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	to, err := newTarget(path, dir)
	require.NoError(t, err)
	require.ErrorContains(t, to.write(t.Context(), "lost"), "no program reads "+path)

	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, to.write(t.Context(), "taken"))
	b := make([]byte, 64)
	n, err := reader.Read(b)
	require.NoError(t, err)
	require.Equal(t, "taken\n", string(b[:n]))

	holds, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0) // else the reader finds the end before the next message
	require.NoError(t, err)
	defer holds.Close()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- to.write(ctx, strings.Repeat("x", 1<<20)) }()
	_, err = reader.Read(b[:1]) // it has begun
	require.NoError(t, err)
	cancel()
	require.ErrorContains(t, <-failed, "of 1048577 bytes")
}
