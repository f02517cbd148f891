package http_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

func TestStop(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "trap '' TERM; echo ready; while :; do sleep 60 & wait; done"}})
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "ready"})
	stopped, err := d.client.Stop(t.Context(), messages.StopCommand{Job: job.ID, Grace: -1, Reason: "enough"})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{job.ID}, stopped.Jobs)
	require.Empty(t, stopped.Survivors)
	require.False(t, stopped.Already)
	job, err = d.client.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, job.End.Outcome)
	require.Equal(t, messages.Cause{By: messages.ByClient, Reason: "enough", Signal: "KILL"}, job.End.Cause)
	stopped, err = d.client.Stop(t.Context(), messages.StopCommand{Job: job.ID}) // B58
	require.NoError(t, err)
	require.True(t, stopped.Already)
}

func TestStopScopeAndSession(t *testing.T) {
	d := start(t, nil)
	one := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Scope: "a/b", Session: "s"})
	two := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Scope: "a/b"})
	three := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Scope: "c"})
	stopped, err := d.client.Stop(t.Context(), messages.StopCommand{Scope: "a/b", Session: "s"})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{one.ID}, stopped.Jobs)
	stopped, err = d.client.Stop(t.Context(), messages.StopCommand{Scope: "a"})
	require.NoError(t, err)
	require.Contains(t, stopped.Jobs, two.ID)
	job, err := d.client.Job(t.Context(), two.ID)
	require.NoError(t, err)
	require.True(t, job.State.Ended())
	job, err = d.client.Job(t.Context(), three.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, job.State)
}

func TestSignalAndDeadline(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "trap 'echo usr1' USR1; echo ready; while :; do sleep 60 & wait; done"}})
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "ready"})
	for _, name := range []string{"USR1", "SIGUSR1", "10"} {
		require.NoError(t, d.client.Signal(t.Context(), messages.SignalCommand{Job: job.ID, Signal: name}))
		d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "usr1"})
	}
	require.NoError(t, d.client.Deadline(t.Context(), messages.ChangeDeadline{Job: job.ID, After: time.Hour}))
	require.NoError(t, d.client.Deadline(t.Context(), messages.ChangeDeadline{Job: job.ID, Extend: time.Hour}))
	for e, err := range d.client.Events(t.Context(), messages.Subscribe{Filter: messages.Filter{Job: job.ID}}) { // the record follows the reply
		require.NoError(t, err)
		if at := e.Job.Deadline; time.Until(at) > 90*time.Minute {
			require.WithinDuration(t, time.Now().Add(2*time.Hour), at, 10*time.Minute)
			break
		}
	}
	require.NoError(t, d.client.Deadline(t.Context(), messages.ChangeDeadline{Job: job.ID, None: true}))
	require.NoError(t, d.client.Deadline(t.Context(), messages.ChangeDeadline{Job: job.ID, After: time.Millisecond}))
	require.Equal(t, messages.TimedOut, d.awaits(job.ID, messages.Condition{}).End.Outcome)
}

// Records in the answers to a wait and to a promotion say what was written by then, as any
// other does.
func TestAnswersHaveTheSizesOfOutputs(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "seq 1 1000; exec sleep 600"}, Store: messages.Store{Quota: messages.Quota{Bytes: 100}}})
	require.Equal(t, int64(3893), d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "1000"}).Output[0].Bytes)
	late, err := d.client.Await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}, Timeout: time.Millisecond})
	require.NoError(t, err)
	require.True(t, late.TimedOut)
	require.Equal(t, int64(3893), late.Jobs[0].Output[0].Bytes)
	promoted, err := d.client.Promote(t.Context(), messages.PromoteCommand{Job: job.ID})
	require.NoError(t, err)
	require.Equal(t, int64(3893), promoted.Output[0].Bytes)
	require.NoError(t, d.client.Signal(t.Context(), messages.SignalCommand{Job: job.ID, Signal: "KILL"}))
	require.NotEmpty(t, d.awaits(job.ID, messages.Condition{}).Output[0].Elided)
}

func TestHandOver(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	_, err := host.Ask(t.Context(), d.client.Host(), messages.OpenScope{Path: "heir", Quota: messages.ScopeQuota{Jobs: 3}})
	require.NoError(t, err)
	require.NoError(t, d.client.HandOver(t.Context(), messages.HandOver{Job: job.ID, To: "heir"}))
	job, err = d.client.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.ScopePath("heir"), job.Scope)
	scopes, err := d.client.Scopes(t.Context(), "heir")
	require.NoError(t, err)
	require.Len(t, scopes, 1)
	require.Equal(t, 1, scopes[0].Jobs)
	require.Equal(t, messages.ScopeQuota{Jobs: 3}, scopes[0].Quota)
	closed, err := host.Ask(t.Context(), d.client.Host(), messages.CloseScope{Path: "heir", Reason: "over"})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{job.ID}, closed.Jobs)
	job, err = d.client.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.ByScope, job.End.Cause.By)
}

func TestSessions(t *testing.T) {
	d := start(t, nil)
	dir := t.TempDir()
	info, err := host.Ask(t.Context(), d.client.Host(), messages.OpenSession{Session: "build", SessionPlan: messages.SessionPlan{Dir: dir}})
	require.NoError(t, err)
	require.Equal(t, dir, info.Info.Dir)
	_, err = host.Ask(t.Context(), d.client.Host(), messages.OpenSession{Session: "other", SessionPlan: messages.SessionPlan{Env: messages.Env{Set: []string{"A=b"}}}})
	coded(t, err, messages.Unsupported, "env")
	_, err = d.client.Run(t.Context(), messages.RunCommand{Session: "build", Program: messages.Program{Text: "true"}, Open: &messages.SessionPlan{Backend: messages.BackendShell}})
	coded(t, err, messages.Conflict, "session")
	_, err = d.client.Run(t.Context(), messages.RunCommand{Session: "other", Program: messages.Program{Text: "true"}, Open: &messages.SessionPlan{Umask: "9"}})
	coded(t, err, messages.InvalidParams, "umask")
	result, err := d.client.Run(t.Context(), messages.RunCommand{Session: "build", Program: messages.Program{Text: "[ $PWD = " + dir + " ]"}})
	require.NoError(t, err)
	require.Zero(t, result.Job.ExitCode())
	list, err := d.client.Sessions(t.Context(), "main")
	require.NoError(t, err)
	require.Len(t, list, 1)
	closed, err := d.client.CloseSession(t.Context(), messages.CloseSession{Session: "build", Grace: -1, Reason: "done"})
	require.NoError(t, err)
	require.Empty(t, closed.Survivors)
	list, err = d.client.Sessions(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, list)
	recent, err := d.client.ListSessions(t.Context(), messages.ListSessions{Scope: "main", Recent: true})
	require.NoError(t, err)
	require.Empty(t, recent.Sessions)
	require.Len(t, recent.Recent, 1)
	require.Equal(t, messages.EndStopped, recent.Recent[0].Reason)
	require.Equal(t, messages.SessionID("build"), recent.Recent[0].Session)
}

// What can be waited for.
func TestWait(t *testing.T) {
	d := start(t, nil)
	one := d.background(messages.RunCommand{Program: messages.Program{Text: "echo hello; read x"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	two := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	d.awaits(one.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "hel+o"})
	d.awaits(one.ID, messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Millisecond})
	both := []messages.JobID{one.ID, two.ID}
	ended, err := d.client.Await(t.Context(), messages.WaitJobs{Jobs: both, Timeout: time.Millisecond})
	require.NoError(t, err)
	require.True(t, ended.TimedOut)
	require.NoError(t, d.client.CloseInput(t.Context(), one.ID))
	ended, err = d.client.Await(t.Context(), messages.WaitJobs{Jobs: both, Any: true})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{one.ID}, ended.Met)
	require.Len(t, ended.Jobs, 2)
	ended, err = d.client.Await(t.Context(), messages.WaitJobs{Jobs: both[:1], Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: "never"}})
	require.NoError(t, err)
	require.True(t, ended.Impossible)
	l, err := net.Listen("tcp", "127.0.0.1:0") // not the job's, but one that can be reached
	require.NoError(t, err)
	defer l.Close()
	port := messages.Condition{Kind: messages.UntilPort, Port: l.Addr().(*net.TCPAddr).Port, Host: "127.0.0.1"}
	ended, err = d.client.Await(t.Context(), messages.WaitJobs{Jobs: both[1:], Condition: port})
	require.NoError(t, err)
	require.Equal(t, []messages.JobID{two.ID}, ended.Met)
	ended, err = d.client.Await(t.Context(), messages.WaitJobs{Jobs: both, Condition: port})
	require.NoError(t, err)
	require.True(t, ended.Impossible)
	port.Host = "a b"
	_, err = d.client.Await(t.Context(), messages.WaitJobs{Jobs: both, Condition: port})
	coded(t, err, messages.InvalidParams, "host")
}

// The daemon tells of itself, and ends when it is asked to.
func TestDaemon(t *testing.T) {
	d := start(t, nil)
	_, err := d.client.Problems(t.Context())
	require.NoError(t, err)
	about, err := d.client.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, "test", about.Version)
	d.run("true")
	d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	stats, err := d.client.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[messages.State]int{messages.Running: 1, messages.Finished: 1}, stats.Jobs)
	require.Positive(t, stats.Connections)
	_, err = d.client.ShutDown(t.Context(), messages.ShutdownNode{})
	coded(t, err, messages.Unsupported, "shutdown")

	require.NoError(t, d.node.Shutdown(t.Context(), messages.ShutdownNode{Grace: -1}))
	_, err = d.client.Problems(t.Context())
	coded(t, err, messages.ShuttingDown, "")
	_, err = d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "true"}})
	coded(t, err, messages.ShuttingDown, "")
	require.True(t, strings.Contains(err.Error(), "ended"), err)
}
