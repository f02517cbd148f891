package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// A client that follows a job whose keeper dies reports that the job is lost, wherever
// its output was stored: the rest of the output is unknown.
func TestFaultTheKeeperDiesUnderAFollower(t *testing.T) {
	t.Parallel()
	m := begins(t)
	texts := map[string][]string{
		"memory": {"echo said; exec sleep 600"}, "file": {"echo said; seq 1 20000; exec sleep 600"},
		"apart": {"--streams", "separate", "echo said; echo beside >&2; exec sleep 600"},
	}
	followers := map[string]*process{}
	for name, args := range texts {
		m.beside(append([]string{"run", "-b", "--name", name}, args...)...).start().ends(0)
		p := m.beside("logs", "-f", name).start()
		require.Equal(t, "said", p.line())
		followers[name] = p
	}
	closed := m.beside("run", "-b", "--name", "closed", "echo said; exec > /dev/null 2>&1; exec sleep 600")
	closed.start().ends(0)
	p := m.beside("logs", "-f", "closed").start() // its output is over, and it is not
	require.Equal(t, "said\n", p.rest())
	p.ends(0)

	require.NoError(t, syscall.Kill(m.keeper(), syscall.SIGKILL))
	for name, p := range followers {
		p.rest()
		p.ends(cli.StatusOwn)
		require.Contains(t, p.err.String(), "troupe: the keeper died while the job ran", name)
		require.NotContains(t, p.err.String(), "the connection to the daemon broke", name)
	}
	p = m.beside("logs", "-f", "file").start() // a later client, too
	require.True(t, strings.HasPrefix(p.rest(), "said\n1\n"))
	p.ends(cli.StatusOwn)
}

// An attached client reports the death of the daemon, and what to do.
func TestFaultTheDaemonDiesUnderWhoIsAttached(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "goes-on", "echo begun; while read x; do echo got $x; done").start().ends(0)
	d.beside("wait", "--match", "begun", "goes-on").start().ends(0)
	watches, types := d.beside("attach", "goes-on"), d.beside("attach", "goes-on")
	in, typed, err := os.Pipe()
	require.NoError(t, err)
	types.Stdin = in
	types.start()
	_, err = typed.WriteString("one\n")
	require.NoError(t, err)
	require.Equal(t, "got one", types.line())
	watches.start()
	watches.err.has(t, "read-only")
	d.send(syscall.SIGKILL)
	<-d.ended
	_, err = typed.WriteString("two\n") // it is lost with the connection
	require.NoError(t, err)
	for _, p := range []*process{watches, types} {
		p.ends(cli.StatusOwn)
		require.True(t, strings.HasSuffix(p.err.String(), "troupe: the connection to the daemon broke (restart the daemon with troupe serve; then troupe ps -a shows the job, and troupe attach goes-on connects to it again)\n"), p.err.String())
	}
	require.NoError(t, typed.Close())
	d.beside("serve").start().err.has(t, `"message":"ready"`)
	d.beside("shutdown", "--stop-jobs", "--grace", "0").start().ends(0)
}
