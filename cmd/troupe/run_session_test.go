package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// says runs a command in a session to its end, and is what it printed.
func (p *process) says(session, text string, status int) string {
	p.t.Helper()
	q := p.beside("run", "-s", session, text).start()
	out := q.rest()
	q.ends(status)
	return out
}

// Ctrl-C, a deadline and the loss of a client end the command in a session. Its shell
// stays as it was.
func TestASessionOutlivesTheEndsOfItsCommands(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.says("dev", "X=1; cd /usr", 0)
	begun := func(args ...string) *process {
		t.Helper()
		q := d.beside(append(append([]string{"run", "-s", "dev"}, args...), "sleep 600 & echo $!; wait; sleep 600")...).start()
		return q
	}
	lives := func(after string) {
		t.Helper()
		require.Equal(t, "1 /usr\n", d.says("dev", "echo $X $PWD", 0), after)
	}

	q := begun()
	child := q.line()
	q.send(syscall.SIGINT)
	q.ends(130)
	q.err.has(t, "the command was stopped: interrupted by SIGINT")
	gone(t, child)
	lives("behind Ctrl-C")

	q = begun("--name", "gone")
	q.line()
	require.NoError(t, q.Process.Kill())
	<-q.ended
	wait := d.beside("wait", "gone").start()
	wait.ends(130)
	require.Contains(t, d.record("gone")["flags"], "client_gone")
	lives("behind its client")

	q = begun("--timeout", "200ms")
	q.ends(124)
	lives("behind its deadline")

	q = d.beside("run", "-s", "dev", "--grace", "0", "trap '' INT TERM; echo deaf; while :; do :; done").start() // a loop of the shell itself
	require.Equal(t, "deaf", q.line())
	q.send(syscall.SIGQUIT)
	q.ends(131)
	require.Contains(t, d.says("dev", "echo there", 0), "there")
}

// Clients of one session have their turns, each with exactly its own output.
func TestManyClientsOfOneSession(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.says("dev", "n=0", 0)
	const clients = 20
	outs := make([]string, clients)
	var all sync.WaitGroup
	for i := range clients {
		q := d.beside("run", "-s", "dev", fmt.Sprintf("n=$((n+1)); for i in {1..200}; do echo client %d; done", i)).start()
		all.Go(func() {
			outs[i] = q.rest()
			<-q.ended
		})
	}
	all.Wait()
	for i, out := range outs {
		require.Equal(t, strings.Repeat(fmt.Sprintf("client %d\n", i), 200), out)
	}
	require.Equal(t, fmt.Sprintf("%d\n", clients), d.says("dev", "echo $n", 0))
}

// The limits of live shells are those of the configuration.
func TestTheLimitsOfShells(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(config, []byte("[limits]\nshells = 2\nshell_idle = '1h'\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + config})
	d.says("one", "X=1", 0)
	d.says("two", "X=2", 0)
	require.Equal(t, "1\n", d.says("one", "echo $X", 0))
	d.says("three", "X=3", 0)
	require.Equal(t, "1\n", d.says("one", "echo $X", 0))
	ends := d.beside("sessions", "--recent", "--json").start().rest()
	require.Contains(t, ends, `"session":"two","backend":"shell","reason":"auto-cleanup"`)

	open := gate(t, d.file("gate"))
	for _, session := range []string{"one", "three"} {
		d.beside("run", "-b", "-s", session, "--name", session, "read x < gate").start().ends(0)
	}
	q := d.beside("run", "-s", "four", "true").start()
	q.ends(125)
	q.err.has(t, "every live shell is in use, and the node may have no more than 2")
	open()
	for _, name := range []string{"one", "three"} {
		w := d.beside("stop", name).start()
		<-w.ended
	}
	d.says("four", "true", 0)
}

// A daemon that is killed again and again between and under the commands of a session
// costs neither a status, nor a byte, nor what the shell knows.
func TestFaultDaemonDiesOverASession(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.says("dev", "n=0; mkfifo go", 0)
	for i := range 5 {
		name := fmt.Sprintf("job%d", i)
		d.beside("run", "-b", "-s", "dev", "--name", name, "read x < go; seq 1000; n=$((n+1)); (exit 3)").start().ends(0)
		require.NoError(t, d.Process.Kill())
		<-d.ended
		again := programFor(t, long, "serve")
		again.Dir, again.dir, again.Env = d.dir, d.dir, d.Env
		again.start()
		again.err.has(t, `"message":"ready"`)
		d = again
		require.NoError(t, os.WriteFile(d.file("go"), []byte("\n"), 0o600))
		w := d.beside("wait", name).start()
		w.ends(3)
		require.Equal(t, 1000, strings.Count(d.beside("logs", name).start().rest(), "\n"))
		require.Equal(t, fmt.Sprintf("%d\n", i+1), d.says("dev", "echo $n", 0))
	}
	t.Cleanup(d.swept)
}

// A command in a session that uses the same session would wait for itself: it is refused
// at once.
func TestASessionDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	q := d.beside("run", "-s", "dev", "troupe run -s dev true").start()
	q.ends(125)
	q.err.has(t, "its shell would wait for itself")
	require.Equal(t, "other\n", d.says("dev", "troupe run -s other 'echo other'", 0))
}
