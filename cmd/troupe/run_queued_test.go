package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// A background run prints its id at once, and that its job is queued. The setting
// limits.parallel bounds the jobs that run.
func TestFaultBackgroundRunBehindAFullQueue(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/config.toml"
	require.NoError(t, os.WriteFile(file, []byte("[limits]\nparallel = 2\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	for range 2 {
		d.beside("run", "-b", "exec sleep 600").start().ends(0)
	}
	p := d.beside("run", "-b", "--name", "third", "echo up; exec sleep 600").start()
	require.Equal(t, "j3", p.line())
	p.ends(0)
	require.Contains(t, p.err.String(), "the command is queued in scope main")
	require.Equal(t, "queued", d.record("third")["state"])
	p = d.beside("run", "-b", "--json", "true").start()
	require.Contains(t, p.rest(), `"state":"queued"`)
	p.ends(0)
	d.beside("run", "--detach", "true").start().ends(0)
	d.beside("run", "--scope", "other", "true").start().ends(0)
	d.beside("kill", "j1").start().ends(0)
	d.beside("wait", "--match", "up", "third").start().ends(0)
	require.Equal(t, "running", d.record("third")["state"])
}

// A run in the foreground reports that its job is queued, and waits for it.
func TestACommandThatWaitsForItsTurnSaysSo(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	d.beside("run", "-b", "-s", "dev", "read x < gate").start().ends(0)
	p := d.beside("run", "-s", "dev", "exit 3").start()
	p.err.has(t, "the command is queued in session dev")
	b := d.beside("run", "-b", "-s", "dev", "true").start()
	require.Equal(t, "j3", b.line())
	b.ends(0)
	open()
	p.ends(3)
	d.beside("wait", "j3").start().ends(0)
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
