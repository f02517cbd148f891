package dialecttest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Gate is what a command waits for until a test opens it.
type Gate struct {
	t    *testing.T
	path string
}

// NewGate makes one.
func NewGate(t *testing.T) Gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return Gate{t, path}
}

// Wait is the part of a command that waits.
func (g Gate) Wait() string { return "read -r _ < " + g.path }

// Open lets a command go on that waits, or will.
func (g Gate) Open() {
	g.t.Helper()
	f, err := os.OpenFile(g.path, os.O_WRONLY, 0)
	require.NoError(g.t, err)
	_, err = f.WriteString("go\n")
	require.NoError(g.t, err)
	require.NoError(g.t, f.Close())
}
