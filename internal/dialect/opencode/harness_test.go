package opencode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/internal/node"
	"troupe/internal/test/dialect"
)

// rig is a session over a real node.
type rig struct {
	*Session
	t      *testing.T
	node   *node.Node
	beside *sync.WaitGroup
	dir    string // of the session
	temp   string // has the directory of its files
	told   chan Notice
}

func newRig(t *testing.T, changes ...func(*Options)) *rig {
	t.Helper()
	return rigOn(t, dialecttest.Node(t), changes...)
}

func rigOn(t *testing.T, node *node.Node, changes ...func(*Options)) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	temp, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, node: node, beside: &sync.WaitGroup{}, dir: dir, temp: temp, told: make(chan Notice, 100)}
	o := Options{
		Host: node.DialectHost(), Beside: r.beside, Dir: dir, SessionID: "s1", FS: disk.Files{}, Settings: Settings{TempDir: temp},
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/bash"}, Notify: func(n Notice) { r.told <- n },
	}
	for _, change := range changes {
		change(&o)
	}
	r.Session = New(o)
	t.Cleanup(func() {
		require.NoError(t, r.Session.Close(context.Background()))
		r.beside.Wait()
	})
	return r
}

func settings(change func(*Settings)) func(*Options) {
	return func(o *Options) { change(&o.Settings) }
}

type args map[string]any

func (r *rig) call(tool string, arguments any) dialect.Result {
	r.t.Helper()
	result, err := dialecttest.Call(context.Background(), r.t, r.Tools(), tool, arguments, nil)
	require.NoError(r.t, err)
	return result
}

// run runs a command as a model does.
func (r *rig) run(command string) dialect.Result {
	r.t.Helper()
	return r.call("bash", args{"command": command, "description": "a test"})
}

func details(t *testing.T, r dialect.Result) BashResponseMetadata {
	t.Helper()
	m, ok := r.Details.(*BashResponseMetadata)
	require.True(t, ok, "%T", r.Details)
	return *m
}

// files are those of the session's directory, without its lock.
func (r *rig) saved() []string {
	r.t.Helper()
	paths, err := filepath.Glob(filepath.Join(r.temp, "opencode-*", "bash-*"))
	require.NoError(r.t, err)
	return paths
}

// numbers are the lines from a to b, as seq writes them.
func numbers(a, b int) string {
	var s strings.Builder
	for i := a; i <= b; i++ {
		fmt.Fprintln(&s, i)
	}
	return s.String()
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
