package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
)

// stubborn is a command whose tree does not want to end: one in its own session, one
// two forks away in a session of its own, both deaf, and a deaf shell. It writes their
// ids into a file, and then into a FIFO that it has begun.
func stubborn(pids string) string {
	return fmt.Sprintf(`trap "" TERM INT HUP
mkfifo %[1]s-one %[1]s-two
setsid sh -c 'trap "" TERM INT HUP; echo $$ >> %[1]s; echo > %[1]s-one; exec sleep 600' &
(setsid sh -c 'trap "" TERM INT HUP; (setsid sh -c "echo \$\$ >> %[1]s; echo > %[1]s-two; exec sleep 600" &) ; exit 0' &)
echo $$ >> %[1]s
read x < %[1]s-one; read x < %[1]s-two
echo > %[1]s-begun
while :; do sleep 600; done`, pids)
}

// pidsIn reads the process ids in a file.
func (p *process) pidsIn(file string) []string {
	p.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(p.t, err)
	return strings.Fields(string(text))
}

// leaveNothing waits until processes have gone, of whose end nothing tells.
func leaveNothing(t *testing.T, pids []string) {
	t.Helper()
	require.NotEmpty(t, pids)
	settles(t, "processes that live", 0, func() (n int) {
		for _, pid := range pids {
			if alive(pid) {
				n++
			}
		}
		return n
	})
}

// The cancellation of a call stops its command and everything it started.
func TestMCPCancelEndsTheTree(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	for _, revision := range []string{withSessions, withRounds} {
		for name, a := range map[string]*agent{"stdio": d.agent(revision, nil), "http": web.agent("cancels", revision, nil)} {
			t.Run(name+" "+revision, func(t *testing.T) {
				t.Parallel()
				file := d.file("pids-" + name + revision)
				begun := post(t, file+"-begun")
				ctx, cancel := context.WithCancel(t.Context())
				answered := make(chan error, 1)
				go func() {
					_, _, err := ask[core.RunResult](ctx, a, "run", params{"command": stubborn(file), "grace_seconds": 0.2, "wait_seconds": 55})
					answered <- err
				}()
				begun()
				pids := d.pidsIn(file)
				require.Len(t, pids, 3)
				cancel()
				require.ErrorIs(t, <-answered, context.Canceled)
				leaveNothing(t, pids)
				mustCall[core.WaitResult](a, "wait", nil) // the last of it is its record, and tells of it
				require.Empty(t, a.run(params{"command": "true"}).Notifications)
				all := mustCall[core.Jobs](a, "list", params{"all": true}).Jobs
				require.Len(t, all, 2)
				require.Equal(t, "cancelled", all[0].Outcome)

				begun = post(t, file+"-again")
				ctx, cancel = context.WithCancel(t.Context())
				go func() {
					_, _, err := ask[core.RunResult](ctx, a, "run", params{"command": "echo > " + file + "-again; sleep 600", "wait_seconds": 55})
					answered <- err
				}()
				begun()
				cancel()
				require.ErrorIs(t, <-answered, context.Canceled)
				told := a.notices(1)
				require.Equal(t, "cancelled", told[0].Outcome)
				require.Empty(t, a.run(params{"command": "true"}).Notifications, "once")
			})
		}
	}
}

// A client that dies takes its jobs with it, but for what was detached and what a
// person has promoted; and so does a server that is killed.
func TestFaultMCPClientDies(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, dies := range map[string]func(a *agent){
		"the client is killed": func(a *agent) { a.dies() },
		"the server is killed": func(a *agent) { a.server.dies() },
		"the server is ended": func(a *agent) {
			a.server.send(syscall.SIGTERM)
			a.server.ends(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := d.agent(withSessions, nil)
			base := d.file(strings.ReplaceAll(name, " ", "-"))
			var begun []func()
			for _, kind := range []string{"-called", "-back", "-detached", "-kept"} {
				begun = append(begun, post(t, base+kind+"-begun"))
			}
			back := a.run(params{"command": stubborn(base + "-back"), "background": true, "grace_seconds": 0.2})
			detached := a.run(params{"command": stubborn(base + "-detached"), "detach": true})
			kept := a.run(params{"command": stubborn(base + "-kept"), "background": true})
			a.begins(params{"command": stubborn(base + "-called"), "grace_seconds": 0.2, "wait_seconds": 55})
			shell := a.run(params{"command": "echo $$", "session": "live"})
			for _, passed := range begun {
				passed()
			}
			d.beside("promote", kept.JobID).start().ends(0)
			dies(a)
			leaveNothing(t, append(append(d.pidsIn(base+"-called"), d.pidsIn(base+"-back")...), strings.TrimSpace(shell.Output)))
			for _, job := range []core.RunResult{detached, kept} {
				require.Equal(t, "running", d.record(job.JobID)["state"], job.Command)
				d.beside("stop", "--grace", "0", job.JobID).start().ends(0)
			}
			gone(t, append(d.pidsIn(base+"-detached"), d.pidsIn(base+"-kept")...)...)
			require.Equal(t, "cancelled", d.record(back.JobID)["outcome"])
		})
	}
}

// With --keep, jobs outlive their client; without a daemon they stop with the server. The
// next troupe stops leftover processes of a killed server, as of any killed troupe.
func TestMCPKeepAndNoDaemon(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil, "--keep")
	r := a.run(params{"command": "echo $$; exec sleep 600", "background": true, "name": "kept"})
	a.leaves()
	require.Equal(t, "running", d.record(r.JobID)["state"])
	require.True(t, alive(strconv.Itoa(int(d.record(r.JobID)["pid"].(float64)))))

	for name, dies := range map[string]func(a *agent){
		"the client leaves": func(a *agent) { a.leaves() },
		"the server is killed": func(a *agent) {
			a.server.dies()
			next := a.server.beside("run", "--no-daemon", "true").start()
			next.ends(0)
		},
	} {
		t.Run("without a daemon "+name, func(t *testing.T) {
			t.Parallel()
			p := program(t)
			a := p.agent(withSessions, nil, "--no-daemon")
			file := p.file("pids")
			begun := post(t, file+"-begun")
			r := a.run(params{"command": stubborn(file), "background": true, "grace_seconds": 0.2})
			require.True(t, strings.HasPrefix(r.JobID, "local-"), r.JobID)
			begun()
			dies(a)
			leaveNothing(t, p.pidsIn(file))
			require.NoDirExists(t, p.file("troupe"))
		})
	}
}
