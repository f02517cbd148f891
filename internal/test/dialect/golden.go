package dialecttest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/node"
	"troupe/messages"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts; review the diff")

// Node opens a node for a test: the real tree and real processes, without persistence.
func Node(t *testing.T, options ...func(*node.Options)) *node.Node {
	t.Helper()
	var o node.Options
	for _, option := range options {
		option(&o)
	}
	node, err := node.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{}))
	})
	return node
}

// Host opens a node and returns it as a dialect uses it.
func Host(t *testing.T, options ...func(*node.Options)) dialect.Host {
	t.Helper()
	return Node(t, options...).DialectHost()
}

// Scrub replaces text that differs from run to run.
type Scrub struct {
	What *regexp.Regexp
	By   string
}

// Golden compares a transcript with the reviewed one, internal/dialect/testdata/NAME. With
// -update it writes it.
func Golden(t *testing.T, name, got string, scrubs ...Scrub) {
	t.Helper()
	GoldenAt(t, filepath.Join("..", "testdata", filepath.FromSlash(name)), got, scrubs...)
}

// GoldenAt compares a transcript with the one at a path.
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
	require.NoError(t, err, "no transcript yet; write it with -update and review it")
	require.Equal(t, string(want), got, "if the change is intended, write it with -update and review the diff")
}
