package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// A run reports that its job is queued. The setting limits.parallel bounds the jobs that
// run.
func TestACommandThatWaitsForItsTurnSaysSo(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/config.toml"
	require.NoError(t, os.WriteFile(file, []byte("[limits]\nparallel = 2\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	for range 2 {
		d.beside("run", "-b", "exec sleep 600").start().ends(0)
	}
	p := d.beside("run", "-b", "--name", "third", "exec sleep 600").start()
	p.err.has(t, "the command is queued in scope main")
	require.Equal(t, "queued", d.record("third")["state"])
	d.beside("run", "--scope", "other", "true").start().ends(0)
	d.beside("kill", "j1").start().ends(0)
	p.ends(0)
	require.Equal(t, "running", d.record("third")["state"])
}

// A directory that goes while a command waits for its turn has the same status as one that
// was never there.
func TestADirectoryThatGoesWhileACommandWaits(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/config.toml"
	require.NoError(t, os.WriteFile(file, []byte("[limits]\nparallel = 1\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	d.beside("run", "-b", "exec sleep 600").start().ends(0)
	require.NoError(t, os.Mkdir(d.file("sub"), 0o700))
	p := d.beside("run", "-C", "sub", "echo > started").start()
	p.err.has(t, "the command is queued in scope main")
	require.NoError(t, os.Remove(d.file("sub")))
	d.beside("kill", "j1").start().ends(0)
	p.ends(cli.StatusOwn)
	p.err.has(t, "the working directory "+d.file("sub")+" does not exist")
}
