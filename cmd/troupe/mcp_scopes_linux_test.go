package main

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// jobs are the ids that list names.
func (a *agent) jobs() (ids []string) {
	a.t.Helper()
	for _, j := range mustCall[core.Jobs](a, "list", params{"all": true}).Jobs {
		ids = append(ids, j.JobID)
	}
	return ids
}

// Over HTTP, a client without a session has the identity that it sends. All clients that
// send none are one client. A client with a session is that session. The jobs of each
// stop with the server.
func TestMCPClientsOverHTTP(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	run := params{"command": "echo $$; exec sleep 600", "background": true}
	said, again, other := web.agent("ann", withRounds, nil), web.agent("ann", withRounds, nil), web.agent("bob", withRounds, nil)
	ann := said.run(run).JobID
	require.NoError(t, said.Close()) // no server sees this
	require.Equal(t, []string{ann}, again.jobs())
	require.Empty(t, other.jobs())

	anonymous, none := web.agent("", withRounds, nil), web.agent("", withRounds, nil)
	theirs := anonymous.run(run).JobID
	require.Equal(t, []string{theirs}, none.jobs())

	one, two := web.agent("ann", withSessions, nil), web.agent("ann", withSessions, nil)
	mine := one.run(run).JobID
	require.Equal(t, []string{mine}, one.jobs())
	require.Empty(t, two.jobs())
	require.Equal(t, []string{ann}, again.jobs())
	require.NoError(t, one.Close()) // by DELETE
	d.beside("wait", mine).start().ends(130)
	require.Equal(t, "running", d.record(ann)["state"])

	status, text := web.post(callOf("ann"+strings.Repeat("n", 100), "list"))
	require.Equal(t, 400, status, text)
	status, text = web.post(callOf("ann", "list"))
	require.Equal(t, 200, status)
	require.Contains(t, text, ann)

	web.send(syscall.SIGTERM)
	web.ends(0)
	for _, job := range []string{ann, theirs} {
		require.Equal(t, "cancelled", d.record(job)["outcome"])
	}
}

// Two clients use the same names and keys, and each means its own; a person finds both
// by their ids.
func TestMCPNamesAndKeysOfTwoClients(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	var all []*agent
	for _, revision := range []string{withSessions, withRounds} {
		all = append(all, d.agent(revision, nil), web.agent("of "+revision, revision, nil))
	}
	ids := map[string]bool{}
	for _, a := range all {
		args := params{"command": "echo $TROUPE_SCOPE; exec sleep 600", "background": true, "name": "build", "key": "once"}
		first := a.run(args)
		ids[first.JobID] = true
		again := a.run(args)
		require.Equal(t, first.JobID, again.JobID, "the same key with the same parameters")
		args["command"] = "echo something else"
		require.Contains(t, a.refused("run", args), "key")
		args["key"] = "twice"
		delete(args, "name")
		require.NotEqual(t, first.JobID, a.run(args).JobID)
		mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{"build"}, "pattern": "/", "timeout_seconds": 55})
		require.Len(t, a.jobs(), 2)
	}
	require.Len(t, ids, len(all), "a key of one client is none of another")
	for _, a := range all {
		mine := mustCall[core.RunResult](a, "read", params{"job_id": "build"})
		require.True(t, mine.Running)
		require.Equal(t, strings.TrimSpace(mine.Output), d.record(mine.JobID)["scope"])
		delete(ids, mine.JobID)
	}
	require.Empty(t, ids)
	mustCall[core.StopResult](all[0], "stop", params{"job_ids": []string{"build"}, "grace_seconds": 0})
	for _, a := range all[1:] {
		require.True(t, mustCall[core.RunResult](a, "read", params{"job_id": "build"}).Running)
	}
}

// A user hands over a job to a client, as its instructions say. It then belongs to the
// client: the client reads it and receives its end, and the next one stops with the
// client.
func TestMCPHandover(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	for name, a := range map[string]*agent{"stdio": d.agent(withSessions, nil), "http": web.agent("heir", withSessions, nil)} {
		t.Run(name, func(t *testing.T) {
			a.t = t
			fifo := d.file("gate-" + name)
			open := gate(t, fifo)
			for _, job := range []string{"first-" + name, "second-" + name} {
				d.beside("run", "-b", "--name", job, "echo begun; read x < "+fifo+"; exit 3").start().ends(0)
				refusal := a.refused("read", params{"job_id": job})
				scope := regexp.MustCompile(`troupe handover JOB (\S+)`).FindStringSubmatch(refusal)
				require.Len(t, scope, 2, refusal)
				d.beside("handover", job, scope[1]).start().ends(0)
				require.Equal(t, scope[1], d.record(job)["scope"])
				require.True(t, mustCall[core.RunResult](a, "read", params{"job_id": job}).Running)
			}
			require.Len(t, a.jobs(), 2)
			mustCall[core.StopResult](a, "stop", params{"job_ids": []string{"second-" + name}, "grace_seconds": 0})
			open()
			w := a.ended("first-" + name)
			require.Equal(t, 3, *w.Jobs[0].ExitCode)
			require.Equal(t, "begun\n", w.Jobs[0].Output)
			require.Empty(t, a.run(params{"command": "true"}).Notifications)

			d.beside("run", "-b", "--name", "third-"+name, "exec sleep 600").start().ends(0)
			d.beside("handover", "third-"+name, d.record("first-" + name)["scope"].(string)).start().ends(0)
			require.NoError(t, a.Close())
			d.beside("wait", "third-"+name).start().ends(130)
		})
	}
}

// A shutdown of the daemon lasts: a client that holds a scope and a subscription does not
// start the daemon again, not even when it leaves; only a new request does.
func TestMCPDoesNotUndoAShutdown(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	quiet, asks := d.agent(withSessions, nil), d.agent(withRounds, nil)
	for _, a := range []*agent{quiet, asks} {
		r := a.run(params{"command": "true", "background": true})
		if r.Running && len(r.Notifications) == 0 { // it may have ended meanwhile
			a.notices(1)
		}
	}
	d.beside("shutdown").start().ends(0)
	d.ends(0)
	require.NoError(t, quiet.Ping(t.Context(), nil))
	quiet.leaves()
	require.NoFileExists(t, d.socket())
	d.beside("stats").start().ends(1)
	require.Equal(t, "again\n", asks.run(params{"command": "echo again"}).Output)
	d.beside("stats").start().ends(0)
	asks.leaves()
}

// Jobs that continue in the keeper stop with their client, even if no daemon was started
// since.
func TestMCPLeavesAfterAShutdown(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	job := a.run(params{"command": "exec sleep 600", "background": true})
	d.beside("shutdown").start().ends(0)
	d.ends(0)
	a.leaves()
	require.False(t, alive(strconv.Itoa(job.PID)))
	require.Equal(t, "cancelled", d.record(job.JobID)["outcome"])
}

// A scope that was held is held again by the daemon that is there, and none is started
// for that.
func TestMCPLeaseBringsNoDaemon(t *testing.T) {
	t.Parallel()
	m := begins(t)
	found := 0
	h := &dialecthost.Host{Find: func() (*client.Client, error) {
		found++
		return client.Dial(t.Context(), m.socket())
	}, Kept: func() bool { return false }}
	held, err := h.Lease(t.Context(), "mcp/a", messages.ScopeQuota{})
	require.NoError(t, err)
	m.killed()
	<-held.Broken()
	_, err = held.Again(t.Context())
	require.ErrorIs(t, err, client.ErrNoDaemon)
	require.NoError(t, held.End(t.Context()), "nothing is left of it")
	require.Equal(t, 1, found)
	m.again()
	again, err := held.Again(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, m.scopes("mcp/a"))
	require.NoError(t, again.End(t.Context()))
	require.Zero(t, m.scopes("mcp/a"))
	require.Equal(t, 1, found)
}

// If daemon and client die together, the jobs continue, because no process is left to
// stop them.
func TestFaultMCPDaemonAndClientDie(t *testing.T) {
	t.Parallel()
	m := begins(t)
	a := m.agent(withSessions, nil)
	r := a.run(params{"command": "exec sleep 600", "background": true})
	stops(t, a.server.Process.Pid) // else it starts another
	m.killed()
	a.server.dies()
	m.again()
	require.Equal(t, "running", m.record(r.JobID)["state"])
	m.beside("stop", "--grace", "0", r.JobID).start().ends(0)
}

// A command of a client sees and ends what is in the client's scope, whatever it does with
// its variables, sessions and parents. It cannot shut the daemon down.
func TestSecurityTroupeInAJobOfAClient(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	d.beside("run", "-b", "--name", "other", "exec sleep 600").start().ends(0)
	const orphan = `rm -f f; mkfifo f; ( setsid sh -c "exec >f 2>&1; troupe shutdown" & ) ; cat f`
	for _, where := range []params{{}, {"session": "s"}} {
		t.Run(fmt.Sprint(where), func(t *testing.T) {
			for command, want := range map[string]string{
				"troupe shutdown":                            "may not shut down the daemon",
				"env -i $VARS troupe shutdown; :":            "may not shut down the daemon",
				"sh -c 'TROUPE_SCOPE=main troupe shutdown;'": "may not shut down the daemon",
				orphan:                               "may not shut down the daemon",
				"TROUPE_TREE=n:x troupe stop other":  "there is no job",
				"setsid -w troupe stop other":        "there is no job",
				"troupe kill main/other":             "there is no job",
				"troupe stop --scope main":           "may not use scope main",
				"TROUPE_SCOPE=main troupe run true":  "may not use scope main",
				"troupe ps -a; echo = $?":            "= 0",
				"troupe run 'echo in $TROUPE_SCOPE'": "in mcp/",
				"troupe run -b --name mine sleep 600; troupe stop mine && echo ended": "ended",
			} {
				args := params{"command": "exec 2>&1; VARS=\"PATH=$PATH HOME=$HOME TROUPE_SOCKET=$TROUPE_SOCKET TROUPE_STATE=$TROUPE_STATE\"; " + command}
				maps.Copy(args, where)
				text := a.run(args).Output
				require.Contains(t, text, want, command)
				require.NotContains(t, text, "exec sleep 600", "the job of another scope")
			}
		})
	}
	wiped := a.run(params{"command": "exec 2>&1 env -i PATH=$PATH HOME=$HOME TROUPE_SOCKET=$TROUPE_SOCKET TROUPE_STATE=$TROUPE_STATE troupe shutdown"}).Output
	require.Contains(t, wiped, "its job is not known")
	require.Equal(t, "running", d.record("other")["state"])
}
