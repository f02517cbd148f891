package http_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/messages"
)

const agents messages.ScopePath = "agents/a-1"

// leases takes a lease of a scope that ends with the context.
func (d *daemon) leases(ctx context.Context, r messages.OpenScope) *client.Lease {
	d.t.Helper()
	lease, err := d.client.Lease(ctx, r)
	require.NoError(d.t, err)
	return lease
}

// keeps promotes a job as a person does.
func (d *daemon) keeps(id messages.JobID) {
	d.t.Helper()
	job, err := d.client.Promote(d.t.Context(), messages.PromoteCommand{Job: id, Keep: true})
	require.NoError(d.t, err)
	require.True(d.t, job.HasFlag(messages.FlagKept))
}

// paths are the scopes at and below that of the agents.
func (d *daemon) paths() []messages.ScopePath {
	d.t.Helper()
	list, err := d.client.Scopes(d.t.Context(), "agents")
	require.NoError(d.t, err)
	var all []messages.ScopePath
	for _, s := range list {
		all = append(all, s.Path)
	}
	return all
}

// closes waits until a scope has ended.
func (d *daemon) closes(path messages.ScopePath, vanish func()) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for e, err := range d.client.Events(ctx, messages.Subscribe{}) {
		require.NoError(d.t, err)
		if vanish != nil {
			vanish()
			vanish = nil
		}
		if e.Kind == "scope_closed" && e.Scope.Path == path {
			return
		}
	}
}

// A client that vanishes takes its scope with it, jobs in the background too.
func TestALeaseEndsWithItsClient(t *testing.T) {
	d := start(t, nil)
	ctx, vanish := context.WithCancel(t.Context())
	lease := d.leases(ctx, messages.OpenScope{Path: agents})
	job := d.background(messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	below := d.background(messages.RunCommand{Scope: agents + "/sub", Session: "s", Program: messages.Program{Argv: []string{"sleep", "600"}}})
	other := d.background(messages.RunCommand{Scope: "agents/a-2", Program: messages.Program{Argv: []string{"sleep", "600"}}})
	d.closes(agents, vanish)
	require.ErrorIs(t, lease.Wait(), context.Canceled)
	for _, id := range []messages.JobID{job.ID, below.ID} {
		job := d.awaits(id, messages.Condition{})
		require.Equal(t, messages.Cancelled, job.End.Outcome)
		require.Equal(t, messages.Cause{By: messages.ByScope, Reason: "its client has gone", Signal: "TERM"}, job.End.Cause)
	}
	require.Equal(t, []messages.ScopePath{"agents", "agents/a-2"}, d.paths())
	left, err := d.client.Job(t.Context(), other.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, left.State)
}

// What a person has promoted stays, and what is detached: the rest around them goes.
func TestALeaseLeavesWhatIsKept(t *testing.T) {
	d := start(t, nil)
	lease := d.leases(t.Context(), messages.OpenScope{Path: agents})
	run := func(scope messages.ScopePath, session messages.SessionID) messages.Record {
		return d.background(messages.RunCommand{Scope: scope, Session: session, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	}
	kept, beside, elsewhere := run(agents, "mixed"), run(agents, "mixed"), run(agents, "other")
	below, aside := run(agents+"/deep/er", "s"), run(agents+"/deep/aside", "s")
	d.keeps(kept.ID)
	d.keeps(below.ID)
	d.keeps(below.ID) // again
	agent, err := d.client.Promote(t.Context(), messages.PromoteCommand{Job: beside.ID})
	require.NoError(t, err)
	require.False(t, agent.HasFlag(messages.FlagKept), "an agent's promotion keeps nothing")
	left, err := lease.End(t.Context(), messages.CloseScope{Path: agents, Reason: "done"})
	require.NoError(t, err)
	require.NoError(t, lease.Wait())
	require.Equal(t, []messages.JobID{kept.ID, below.ID}, left.Kept)
	require.Equal(t, []messages.JobID{beside.ID, elsewhere.ID, aside.ID}, left.Jobs)
	for _, id := range left.Jobs {
		job, err := d.client.Job(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, messages.Cancelled, job.End.Outcome)
		require.Equal(t, "done", job.End.Cause.Reason)
	}
	for _, id := range left.Kept {
		job, err := d.client.Job(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, messages.Running, job.State)
	}
	require.Equal(t, []messages.ScopePath{"agents", agents, agents + "/deep", agents + "/deep/er"}, d.paths())
	sessions, err := d.client.Sessions(t.Context(), agents)
	require.NoError(t, err)
	require.Len(t, sessions, 2)
	again, err := lease.End(t.Context(), messages.CloseScope{Path: agents})
	require.NoError(t, err)
	require.Empty(t, again.Jobs)
}

// A live shell stays in which a job is to be kept.
func TestALeaseLeavesALiveShell(t *testing.T) {
	d := start(t, nil)
	lease := d.leases(t.Context(), messages.OpenScope{Path: agents})
	live := messages.SessionPlan{Backend: messages.BackendShell}
	d.background(messages.RunCommand{Scope: agents, Session: "gone", Program: messages.Program{Text: "sleep 600"}, Open: &live})
	job := d.background(messages.RunCommand{Scope: agents, Session: "stays", Program: messages.Program{Text: "cd /; read line; echo got $line"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Open: &live})
	d.keeps(job.ID)
	left, err := lease.End(t.Context(), messages.CloseScope{Path: agents})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{job.ID}, left.Kept)
	_, err = d.client.Input(t.Context(), messages.WriteInput{Job: job.ID, Data: []byte("it\n")})
	require.NoError(t, err)
	require.Equal(t, 0, d.awaits(job.ID, messages.Condition{}).End.Shell())
	sessions, err := d.client.Sessions(t.Context(), agents)
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	require.Equal(t, messages.SessionID("stays"), sessions[0].Session)
}

// A scope that two have leased ends with the last of them.
func TestAScopeEndsWithItsLastLease(t *testing.T) {
	d := start(t, nil)
	first := d.leases(t.Context(), messages.OpenScope{Path: agents})
	ctx, vanish := context.WithCancel(t.Context())
	d.leases(ctx, messages.OpenScope{Path: agents, Quota: messages.ScopeQuota{Jobs: 1}})
	job := d.background(messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	left, err := first.End(t.Context(), messages.CloseScope{Path: agents})
	require.NoError(t, err)
	require.Empty(t, left.Jobs)
	d.background(messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}}) // the first quota counts: none
	d.closes(agents, vanish)
	require.Equal(t, messages.Cancelled, d.awaits(job.ID, messages.Condition{}).End.Outcome)
}

// The quota of a scope is that of its first lease, and is there again with the next one
// when it has ended.
func TestALeaseHasAQuota(t *testing.T) {
	d := start(t, nil)
	lease := d.leases(t.Context(), messages.OpenScope{Path: agents, Quota: messages.ScopeQuota{Jobs: 1}})
	sleep := messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}, Mode: messages.ModeAsync}
	d.background(sleep)
	_, err := d.client.Run(t.Context(), sleep)
	coded(t, err, messages.ResourceExhausted, "jobs")
	_, err = lease.End(t.Context(), messages.CloseScope{Path: agents})
	require.NoError(t, err)
	_, err = d.client.Run(t.Context(), sleep)
	coded(t, err, messages.SessionClosedCode, "lease") // it came from the client that has left
	_, err = host.Ask(t.Context(), d.client.Host(), messages.OpenSession{Scope: agents + "/sub", Session: "s"})
	coded(t, err, messages.SessionClosedCode, "lease")
	_, err = host.Ask(t.Context(), d.client.Host(), messages.OpenScope{Path: agents})
	coded(t, err, messages.SessionClosedCode, "lease")
	d.leases(t.Context(), messages.OpenScope{Path: agents})
	for range 2 {
		d.background(sleep)
	}
}

// A scope that a client joins, or leases whatever it says, keeps its quota; else it gets another.
func TestJoinKeepsTheQuota(t *testing.T) {
	d := start(t, nil)
	for name, h := range map[string]host.Host{"node": d.node.Host(), "daemon": d.client.Host()} {
		path := messages.ScopePath(name)
		quotaAfter := func(r messages.OpenScope) int {
			_, err := host.Ask(t.Context(), h, r)
			require.NoError(t, err)
			list, err := host.Ask(t.Context(), h, messages.ListScopes{Path: path})
			require.NoError(t, err)
			return list.Scopes[0].Quota.Jobs
		}
		require.Equal(t, 3, quotaAfter(messages.OpenScope{Path: path, Quota: messages.ScopeQuota{Jobs: 3}, Join: true}), name)
		require.Equal(t, 3, quotaAfter(messages.OpenScope{Path: path, Quota: messages.ScopeQuota{Jobs: 1}, Join: true}), name)
		require.Equal(t, 2, quotaAfter(messages.OpenScope{Path: path, Quota: messages.ScopeQuota{Jobs: 2}}), name)
	}
	lease := d.reply("POST", "/v1/leases", `{"path":"node","quota":{"jobs":9},"join":false}`)
	defer lease.Body.Close()
	require.Equal(t, 200, lease.StatusCode)
	scopes, err := d.client.Scopes(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, 2, scopes[0].Quota.Jobs)
}

// The end of the server is none of its clients': their jobs go on.
func TestALeaseOutlivedByItsClient(t *testing.T) {
	d := start(t, nil)
	lease := d.leases(t.Context(), messages.OpenScope{Path: agents})
	job := d.background(messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	require.NoError(t, d.server.Close(t.Context()))
	require.ErrorIs(t, lease.Wait(), io.ErrUnexpectedEOF)
	left, err := d.node.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, left.State)
}

// An end and a vanishing at the same moment are one end.
func TestALeaseEndsOnce(t *testing.T) {
	d := start(t, nil)
	for range 20 {
		ctx, vanish := context.WithCancel(t.Context())
		lease := d.leases(ctx, messages.OpenScope{Path: agents})
		d.background(messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}})
		gone := make(chan struct{})
		go func() { defer close(gone); vanish() }()
		_, err := lease.End(t.Context(), messages.CloseScope{Path: agents})
		require.NoError(t, err)
		<-gone
		next := d.leases(t.Context(), messages.OpenScope{Path: agents}) // it waits for the end, if that is still on its way
		jobs, err := d.client.Jobs(t.Context(), messages.ListJobs{Scope: agents})
		require.NoError(t, err)
		require.Empty(t, jobs.Jobs)
		_, err = next.End(t.Context(), messages.CloseScope{Path: agents})
		require.NoError(t, err)
	}
}

// What a client asks for while its lease ends is refused, or ends with its scope: nothing
// begins there that nobody would end.
func TestFaultLeaseEndsUnderRequests(t *testing.T) {
	d := start(t, nil)
	for range 25 {
		ctx, vanish := context.WithCancel(t.Context())
		t.Cleanup(vanish)
		lease := d.leases(ctx, messages.OpenScope{Path: agents})
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if i == 0 {
					vanish()
					return
				}
				session := messages.SessionID("s" + strconv.Itoa(i))
				if i == 1 {
					_, _ = host.Ask(t.Context(), d.client.Host(), messages.OpenSession{Scope: agents, Session: session})
					return
				}
				_, _ = d.client.Run(t.Context(), messages.RunCommand{Scope: agents + "/sub", Session: session, Program: messages.Program{Argv: []string{"sleep", "600"}}, Mode: messages.ModeAsync})
			})
		}
		all.Wait()
		_, err := lease.End(t.Context(), messages.CloseScope{Path: agents}) // that its client has vanished may not be known yet
		require.NoError(t, err)
		next := d.leases(t.Context(), messages.OpenScope{Path: agents})
		jobs, err := d.client.Jobs(t.Context(), messages.ListJobs{Scope: agents})
		require.NoError(t, err)
		require.Empty(t, jobs.Jobs)
		sessions, err := d.client.Sessions(t.Context(), agents)
		require.NoError(t, err)
		require.Empty(t, sessions)
		_, err = next.End(t.Context(), messages.CloseScope{Path: agents})
		require.NoError(t, err)
	}
}

// What is no lease is refused, and leaves nothing behind.
func TestBadInputOfALease(t *testing.T) {
	d := start(t, nil)
	for body, reason := range map[string]string{
		`{"path":"main"}`: "path",
		`{"path":""}`:     "scope",
		`{"path":"../x"}`: "scope",
		`{"path":"a//b"}`: "scope",
		`{"path":"a/` + strings.Repeat("b/", 16) + `c"}`: "scope",
		`{"path":"` + strings.Repeat("a", 65) + `"}`:     "scope",
		`{"path":"a","quota":{"jobs":-1}}`:               "quota",
		`{"path":"a","quota":{"jobs":1.5}}`:              "quota.jobs",
		`{"path":"a","keep":true}`:                       "keep",
		`{"path":"a","path":"b"}`:                        "path",
		`[]`:                                             "",
		`{"path":"a\u0000"}`:                             "scope",
		`{"path":7}`:                                     "path",
		`{"quota":{}}`:                                   "scope",
	} {
		status, reply := d.raw("POST", "/v1/leases", body)
		require.Equal(t, 400, status, "%s: %s", body, reply)
		require.Contains(t, reply, `"reason":"`+reason, "%s", body)
	}
	status, reply := d.raw("POST", "/v1/jobs/j1/promote", `{"keep":"yes"}`)
	require.Equal(t, 400, status, reply)
	for _, id := range []string{"x", "01ARZ3NDEKTSV4RRFFQ69G5FAV", strings.Repeat("y", 4000), "%2e%2e", "a%00b"} {
		status, reply = d.raw("DELETE", "/v1/leases/"+id, "")
		require.Equal(t, 404, status, reply)
	}
	status, _ = d.raw("DELETE", "/v1/leases/x?grace_ms=-1", "")
	require.Equal(t, 400, status)
	scopes, err := d.client.Scopes(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, scopes)
}
