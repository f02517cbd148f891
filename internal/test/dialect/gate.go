package dialecttest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Gate blocks a command until a test opens it.
type Gate struct {
	t    *testing.T
	path string
}

// NewGate makes a closed gate.
func NewGate(t *testing.T) Gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return Gate{t, path}
}

// Wait returns the shell text that waits at the gate.
func (g Gate) Wait() string { return "read -r _ < " + g.path }

// Open releases a command that waits at the gate, now or later.
func (g Gate) Open() {
	g.t.Helper()
	f, err := os.OpenFile(g.path, os.O_WRONLY, 0)
	require.NoError(g.t, err)
	_, err = f.WriteString("go\n")
	require.NoError(g.t, err)
	require.NoError(g.t, f.Close())
}
