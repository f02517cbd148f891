package main

import (
	"encoding/json"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/internal/cli"
	"troupe/messages"
)

// However the daemon ends, its jobs continue. The daemon reports a signal; after a kill
// it reports nothing. The next daemon has the jobs and their output of the meantime.
func TestTheDaemonLeavesItsJobs(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(cli.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			open := gate(t, d.file("gate"))
			run := d.beside("run", "-b", "--name", "lasts", "echo one; read x < gate; echo two; exit 5").start()
			run.line()
			run.ends(0)
			d.send(sig)
			<-d.ended
			if sig != syscall.SIGKILL {
				d.err.has(t, `"jobs":1,"`)
				d.err.has(t, "the jobs keep running in the keeper")
				d.ends(0)
			}
			open()
			next := d.beside("serve").start()
			next.err.has(t, `"message":"ready"`)
			p := d.beside("wait", "lasts").start()
			p.ends(5)
			p = d.beside("logs", "lasts").start()
			require.Equal(t, "one\ntwo\n", p.rest())
			p.ends(0)
			p = d.beside("shutdown").start()
			p.ends(0)
			next.ends(0)
		})
	}
}

// A daemon that cannot start touches no job, whatever it is that fails: the next one
// that can has them.
func TestAFailedStartTouchesNoJob(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	run := d.beside("run", "-b", "--name", "lasts", "echo $$; read x < gate; exit 5").start()
	run.line()
	run.ends(0)
	d.beside("wait", "--match", ".", "lasts").start().ends(0)
	d.send(syscall.SIGKILL)
	<-d.ended

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	require.NoError(t, os.Mkdir(d.file("plain"), 0o700))
	journal, kept := d.file("troupe/journal.db"), d.file("journal.kept")
	for name, c := range map[string]struct {
		args []string
		file string // that is made before, and removed
		says string
	}{
		"the port of the numbers is taken": {[]string{"--metrics", taken.Addr().String()}, "", "another process listens at " + taken.Addr().String() + " (choose another port"},
		"a port is taken":                  {[]string{"--http", taken.Addr().String()}, "", "another process listens at " + taken.Addr().String()},
		"others may read the token":        {[]string{"--metrics", "127.0.0.1:0"}, d.file("troupe/token"), "must be a file of yours with mode 0600"},
		"the socket cannot be had":         {[]string{"--socket", d.file("plain/file")}, d.file("plain/file"), "exists and is not a socket"},
		"the journal is none":              {nil, journal, "the journal"},
	} {
		if c.file == journal {
			require.NoError(t, os.Rename(journal, kept))
		}
		if c.file != "" {
			require.NoError(t, os.WriteFile(c.file, make([]byte, 1<<16), 0o644))
		}
		p := d.beside(append([]string{"serve"}, c.args...)...).start()
		p.ends(cli.StatusOwn)
		require.Contains(t, p.err.String(), c.says, name)
		if c.file != "" {
			require.NoError(t, os.Remove(c.file))
		}
	}
	require.NoError(t, os.Rename(kept, journal))

	d.beside("serve").start().err.has(t, `"message":"ready"`)
	p := d.beside("logs", "lasts").start()
	require.True(t, alive(p.line()))
	open()
	d.beside("wait", "lasts").start().ends(5)
	d.beside("shutdown").start().ends(0)
}

// A client that waits for a command when the daemon ends learns that the command
// continues.
func TestTheDaemonEndsUnderACommand(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	p := d.beside("run", "echo $$; exec sleep 600").start()
	pid := p.line()
	d.send(syscall.SIGTERM)
	d.ends(0)
	p.ends(cli.StatusOwn)
	p.err.has(t, "goes on")
	require.True(t, alive(pid))
}

// A client with a request when the daemon leaves gets an error, whatever ends the daemon.
// The status is troupe's own and does not report an end of the job.
func TestTheDaemonEndsUnderVerbs(t *testing.T) {
	t.Parallel()
	for sig, says := range map[syscall.Signal]string{syscall.SIGKILL: "the connection to the daemon broke (", syscall.SIGTERM: "the node is shutting down"} {
		t.Run(cli.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			d.beside("run", "-b", "--name", "mine", ignoresTERM).start().ends(0)
			wait, match := d.beside("wait", "mine").start(), d.beside("wait", "--match", "never", "mine").start()
			stop := d.beside("stop", "--grace", "1h", "mine").start()
			d.beside("wait", "--match", "asked", "mine").start().ends(0)
			eventually(t, "all that wait", func() bool {
				var stats api.Stats
				require.NoError(t, json.Unmarshal([]byte(d.beside("stats", "--json").start().rest()), &stats))
				return stats.Connections >= 4
			})
			d.send(sig)
			<-d.ended
			for _, p := range []*process{wait, match, stop} {
				p.ends(cli.StatusOwn)
				require.NotContains(t, p.err.String(), "failed")
				require.NotContains(t, p.err.String(), "EOF")
			}
			wait.err.has(t, says, "the server is closing", "the connection to the daemon broke (") // its request may not have arrived
			match.err.has(t, says, "the server is closing", "the connection to the daemon broke (")
			d.beside("serve").start().err.has(t, `"message":"ready"`)
			d.beside("kill", "mine").start().ends(0)
		})
	}
}

// A client that vanishes takes its foreground command with it, and the record
// tells. One that goes on in the background stays.
func TestAClientVanishes(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	p := d.beside("run", "--name", "mine", "echo begun; exec sleep 600").start()
	require.Equal(t, "begun", p.line())
	p.send(syscall.SIGKILL)
	<-p.ended
	w := d.beside("wait", "mine").start()
	w.ends(130)
	cause, _ := d.record("mine")["cause"].(map[string]any)
	require.Equal(t, string(messages.ByClient), cause["by"])
	require.NotEmpty(t, cause["reason"])

	p = d.beside("run", "--promote-after", "10ms", "--name", "stays", "echo up; exec sleep 600").start()
	p.ends(0)
	d.beside("wait", "--match", "up", "stays").start().ends(0)
	require.Equal(t, "running", d.record("stays")["state"])
}

// A run reports that the daemon has died, and invents no end of its command. The command
// continues until the next daemon stops it, because no client waits for it any more. A
// promoted command stays.
func TestTheDaemonDiesUnderACommand(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "--promote-after", "10ms", "--name", "stays", "echo up; exec sleep 600").start().ends(0)
	d.beside("wait", "--match", "up", "stays").start().ends(0)
	p := d.beside("run", "--name", "mine", "echo $$; exec sleep 600").start()
	pid := p.line()
	d.send(syscall.SIGKILL)
	p.ends(125)
	p.err.has(t, "troupe: the connection to the daemon broke")
	<-d.ended
	require.True(t, alive(pid))

	next := d.beside("serve").start()
	next.err.has(t, `"message":"ready"`)
	w := d.beside("wait", "mine").start()
	w.ends(130)
	require.False(t, alive(pid))
	record := d.record("mine")
	require.Equal(t, string(messages.Cancelled), record["outcome"])
	cause, _ := record["cause"].(map[string]any)
	require.Equal(t, string(messages.BySystem), cause["by"])
	require.Equal(t, "its client was gone when troupe began again", cause["reason"])
	require.Equal(t, "running", d.record("stays")["state"])
	d.beside("shutdown", "--stop-jobs", "--grace", "0").start().ends(0)
}
