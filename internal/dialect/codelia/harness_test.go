package codelia

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/node"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// rig is a session over a real node.
type rig struct {
	*Session
	t      *testing.T
	node   *node.Node
	beside *sync.WaitGroup
	dir    string
	logs   *logs
}

// logs are what a session has logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T, changes ...func(*Options)) *rig {
	t.Helper()
	return rigOn(t, dialecttest.Node(t), changes...)
}

func rigOn(t *testing.T, node *node.Node, changes ...func(*Options)) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	files, err := artifact.NewDir(t.TempDir(), "cache")
	require.NoError(t, err)
	r := &rig{t: t, node: node, beside: &sync.WaitGroup{}, dir: dir, logs: &logs{}}
	o := Options{
		Host: node.DialectHost(), Beside: r.beside, Dir: dir, SessionID: "s1", FS: disk.Files{}, Files: files, Owner: "lives",
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/bash"}, Log: slog.New(slog.NewTextHandler(r.logs, nil)),
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

func (r *rig) exec(command string) ExecResult {
	r.t.Helper()
	result, err := r.Exec(r.t.Context(), ExecParams{Command: command})
	require.NoError(r.t, err)
	return result
}

func (r *rig) start(command string) TaskInfo {
	r.t.Helper()
	i, err := r.Start(r.t.Context(), StartParams{ExecParams: ExecParams{Command: command}})
	require.NoError(r.t, err)
	return i
}

func (r *rig) wait(id string) TaskInfo {
	r.t.Helper()
	i, detached, err := r.Wait(r.t.Context(), WaitParams{TaskID: id})
	require.NoError(r.t, err)
	require.Nil(r.t, detached)
	return i
}

// job is the record of the last command.
func (r *rig) job() messages.Record {
	r.t.Helper()
	list, err := host.Ask(r.t.Context(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(r.t, err)
	require.NotEmpty(r.t, jobs)
	return jobs[len(jobs)-1]
}

type args map[string]any

func (r *rig) call(tool string, arguments any) dialect.Result {
	r.t.Helper()
	result, err := dialecttest.Call(r.t.Context(), r.t, r.Tools(), tool, arguments, nil)
	require.NoError(r.t, err)
	return result
}

// cached puts a text into the cache, as an output.
func (r *rig) cached(ref, text string) string {
	r.t.Helper()
	f, err := r.o.Files.Create(artifact.CacheName(ref))
	require.NoError(r.t, err)
	_, err = f.Write([]byte(text))
	require.NoError(r.t, err)
	require.NoError(r.t, f.Close())
	return ref
}

func code(t *testing.T, err error) int {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	return e.Code
}

func ptr[T any](v T) *T { return &v }

func numbers(a, b int) string {
	var s strings.Builder
	for i := a; i <= b; i++ {
		fmt.Fprintln(&s, i)
	}
	return s.String()
}
