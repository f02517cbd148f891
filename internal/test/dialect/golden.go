// Package dialecttest is what the tests of dialects share: a real node, and golden
// transcripts of what its commands look like.
package dialecttest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe"
	"troupe/internal/dialect"
	"troupe/messages"
)

var update = flag.Bool("update", false, "write the golden transcripts anew; read what has changed")

// Node opens a node for a test: the real tree over real processes, with nothing kept of it.
func Node(t *testing.T, options ...func(*troupe.Options)) *troupe.Node {
	t.Helper()
	var o troupe.Options
	for _, option := range options {
		option(&o)
	}
	node, err := troupe.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{}))
	})
	return node
}

// Host is a node as a dialect sees it.
func Host(t *testing.T, options ...func(*troupe.Options)) dialect.Host {
	t.Helper()
	return Node(t, options...).Host()
}

// Scrub replaces what differs from run to run by a name.
type Scrub struct {
	What *regexp.Regexp
	By   string
}

// Golden compares a transcript with the one that was read by a person:
// internal/dialect/testdata/NAME. With -update it is written.
func Golden(t *testing.T, name, got string, scrubs ...Scrub) {
	t.Helper()
	GoldenAt(t, filepath.Join("..", "testdata", filepath.FromSlash(name)), got, scrubs...)
}

// GoldenAt is Golden of a transcript at a path.
func GoldenAt(t *testing.T, path, got string, scrubs ...Scrub) {
	t.Helper()
	for _, s := range scrubs {
		got = s.What.ReplaceAllString(got, s.By)
	}
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "there is no transcript yet; write it with -update, and read it")
	require.Equal(t, string(want), got, "if this is meant, write it with -update, and read what has changed")
}
