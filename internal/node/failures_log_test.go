package node_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// What marks a job with keeper_fault is told to the log of the node: here that the
// script of a text too long for an argument cannot be removed.
func TestALibraryHearsOfFaults(t *testing.T) {
	var log bytes.Buffer
	node, err := node.Open(context.Background(), node.Options{Dir: filepath.Join(t.TempDir(), "out"), Log: slog.New(slog.NewJSONHandler(&log, nil))})
	require.NoError(t, err)
	text := `rm "$BASH_SOURCE" && mkdir "$BASH_SOURCE"; exit` + strings.Repeat("\n: nothing", 20_000)
	job, err := node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: text}})
	require.NoError(t, err)
	require.True(t, job.HasFlag(messages.FlagKeeperFault), "%+v", job)
	require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{}))
	require.Contains(t, log.String(), `"job":"`+string(job.UID)+`"`)
	require.Contains(t, log.String(), "fault of the engine")
}
