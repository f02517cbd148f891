package omp

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/node"
	"troupe/internal/shelltext/urls"
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
	store  *artifact.Store
	jobs   *Jobs
	told   chan Delivery
}

// with changes what a rig is made of.
type with func(o *Options, j *JobsOptions)

func settings(change func(*Settings)) with {
	return func(o *Options, _ *JobsOptions) { change(&o.Settings) }
}

var async = settings(func(s *Settings) { s.AsyncEnabled = true })

func autoBackground(threshold time.Duration) with {
	return settings(func(s *Settings) { s.AutoBackground, s.AutoBackgroundThreshold = true, threshold })
}

// late has a command go on in the background when it has written a text, however long
// that takes. It is said before the first call.
func (r *rig) late(command, text string) string {
	r.options.Host = dialecttest.Late{Host: r.options.Host, Beside: r.beside, Until: map[string]string{command: text}}
	return command
}

// newRig makes one; what it starts is over at the end of the test.
func newRig(t *testing.T, changes ...with) *rig {
	t.Helper()
	return rigOn(t, dialecttest.Node(t), changes...)
}

func rigOn(t *testing.T, node *node.Node, changes ...with) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, node: node, beside: &sync.WaitGroup{}, dir: dir, told: make(chan Delivery, 100)}
	r.store = artifact.NewStore(filepath.Join(t.TempDir(), "artifacts"))
	o := Options{
		Host: node.DialectHost(), Beside: r.beside, Dir: dir, Home: "/nowhere", SessionID: "s1", Settings: DefaultSettings(), Files: r.store, FS: disk.Files{}, Owner: "main",
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/bash", "TROUPE_SHELL_NO_LOGIN=1"},
		Routers: []urls.Router{urls.Artifacts{Files: disk.Files{}, Dirs: []string{r.store.Dir()}}},
	}
	j := JobsOptions{Beside: r.beside, Deliver: func(_ context.Context, d Delivery) error { r.told <- d; return nil }}
	for _, change := range changes {
		change(&o, &j)
	}
	r.jobs = NewJobs(j)
	if o.Jobs == nil {
		o.Jobs = r.jobs
	}
	if o.Jobs == noJobs {
		o.Jobs = nil
	}
	r.Session = New(o)
	t.Cleanup(func() {
		r.jobs.Dispose(context.Background())
		require.NoError(t, r.Session.Close(context.Background()))
		r.beside.Wait()
	})
	return r
}

// noJobs stands for a session without a manager.
var noJobs = &Jobs{}

// bash calls the tool as a model does: with JSON.
func (r *rig) bash(arguments any) dialect.Result {
	r.t.Helper()
	result, err := r.call(context.Background(), "bash", arguments, nil)
	require.NoError(r.t, err)
	return result
}

func (r *rig) job(arguments any) dialect.Result {
	r.t.Helper()
	result, err := r.call(context.Background(), "job", arguments, nil)
	require.NoError(r.t, err)
	return result
}

func (r *rig) call(ctx context.Context, tool string, arguments any, update func(dialect.Result)) (dialect.Result, error) {
	r.t.Helper()
	return dialecttest.Call(ctx, r.t, r.Tools(), tool, arguments, update)
}

// run runs a command and gives its text.
func (r *rig) run(command string) string {
	r.t.Helper()
	return r.bash(args{"command": command}).Text
}

type args map[string]any

func details(t *testing.T, r dialect.Result) Details {
	t.Helper()
	d, ok := r.Details.(*Details)
	require.True(t, ok, "%T", r.Details)
	return *d
}

// ran says whether the node has run anything.
func (r *rig) ran() []messages.Record {
	r.t.Helper()
	list, err := host.Ask(context.Background(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(r.t, err)
	return jobs
}

// program puts a program that says something first into the path of the session.
func (r *rig) program(name, says string) {
	r.t.Helper()
	bin := filepath.Join(r.dir, "bin")
	require.NoError(r.t, os.MkdirAll(bin, 0o700))
	require.NoError(r.t, os.WriteFile(filepath.Join(bin, name+".says"), []byte(says), 0o600))
	require.NoError(r.t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexec cat '"+bin+"/"+name+".says'\n"), 0o700))
	r.options.Env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
}
