package http_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/gateway/http"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
)

// tasks are the tasks that a list has, ended ones too.
func (d *daemon) tasks(scope messages.ScopePath) (all []messages.Task) {
	d.t.Helper()
	list, err := d.client.Jobs(d.t.Context(), messages.ListJobs{Scope: scope, Finished: true})
	require.NoError(d.t, err)
	return list.Tasks
}

// says sends a request about a task, which must be granted.
func (d *daemon) says(r messages.For[messages.Acknowledged]) {
	d.t.Helper()
	_, err := host.Ask(d.t.Context(), d.client.Host(), r)
	require.NoError(d.t, err)
}

// A host announces a task, changes it and ends it; a repeat of each changes nothing. It is
// listed beside the jobs.
func TestTasksOverHTTP(t *testing.T) {
	d := start(t, nil)
	for range 2 {
		status, body := d.raw("POST", "/v1/tasks", `{"id":"agent-7","description":"reads the logs"}`)
		require.Equal(t, 200, status, body)
		require.JSONEq(t, `{"v":1}`, body)
	}
	_, body := d.raw("GET", "/v1/jobs", "")
	var list messages.JobList
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	require.Len(t, list.Tasks, 1)
	since := list.Tasks[0].Since
	require.Equal(t, messages.Task{ID: "agent-7", Scope: "main", Kind: "agent", Description: "reads the logs", State: "running", Since: since}, list.Tasks[0])
	for range 2 {
		status, body := d.raw("POST", "/v1/tasks/agent-7", `{"state":"failed","ended":true}`)
		require.Equal(t, 200, status, body)
	}
	_, body = d.raw("GET", "/v1/jobs", "")
	require.JSONEq(t, `{"v":1,"jobs":[],"tasks":[]}`, body)
	all := d.tasks("")
	require.Len(t, all, 1)
	require.Equal(t, "failed", all[0].State)
	require.True(t, all[0].Ended && all[0].Since.Equal(since) && !all[0].EndedAt.Before(since), "%+v", all[0])
	_, body = d.raw("GET", "/v1/jobs?finished=true&state=finished", "")
	require.JSONEq(t, `{"v":1,"jobs":[],"tasks":[]}`, body)
}

// What is no task is refused by a code and the name of the field, and stored nowhere.
func TestBadInputTasks(t *testing.T) {
	d := start(t, nil)
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/tasks", `{}`, 400, `"reason":"id"`},
		{"/v1/tasks", `{"id":"a b"}`, 400, `"reason":"id"`},
		{"/v1/tasks", `{"id":"a","ended":true}`, 400, `"reason":"ended"`},
		{"/v1/tasks", `{"id":"a","scope":"a//b"}`, 400, `"reason":"scope"`},
		{"/v1/tasks", `{"id":"a","kind":"a\nb"}`, 400, `"reason":"kind"`},
		{"/v1/tasks", `{"id":"a","state":"` + strings.Repeat("x", 65) + `"}`, 400, `"reason":"state"`},
		{"/v1/tasks", `{"id":"a","description":"` + strings.Repeat("x", 1025) + `"}`, 413, `"reason":"description"`},
		{"/v1/tasks", `{"id":"a","description":"a\u0000"}`, 400, `"reason":"description"`},
		{"/v1/tasks/a", `{"ended":true}`, 404, `"reason":"task"`},
		{"/v1/tasks/a", `{"kind":"b"}`, 400, `"reason":"kind"`},
		{"/v1/tasks/a%20b", `{}`, 404, `"reason":"task"`},
	} {
		status, body := d.raw("POST", c.path, c.body)
		require.Equal(t, c.status, status, "%s %s: %s", c.path, c.body, body)
		require.Contains(t, body, c.says)
	}
	require.Empty(t, d.tasks(""))
}

// A host that vanishes takes its leased scope with it: its tasks are lost, those of others live.
func TestTasksOfALeaseThatEnds(t *testing.T) {
	d := start(t, nil)
	ctx, vanish := context.WithCancel(t.Context())
	lease := d.leases(ctx, messages.OpenScope{Path: agents})
	for _, scope := range []messages.ScopePath{agents, agents + "/sub", "agents/a-2", "main"} {
		d.says(messages.AnnounceTask{ID: "t", Scope: scope})
	}
	d.says(messages.AnnounceTask{ID: "done", Scope: agents})
	d.says(messages.UpdateTask{ID: "done", Scope: agents, Ended: true})
	d.closes(agents, vanish)
	require.ErrorIs(t, lease.Wait(), context.Canceled)
	states := map[messages.ScopePath]string{}
	for _, task := range d.tasks("") {
		states[task.Scope+"/"+messages.ScopePath(task.ID)] = task.State
	}
	require.Equal(t, map[messages.ScopePath]string{
		agents + "/t": "lost", agents + "/sub/t": "lost", agents + "/done": "completed", "agents/a-2/t": "running", "main/t": "running",
	}, states)
}

// A late announcement of a client whose lease has ended is refused.
func TestTasksOfAClientThatHasLeft(t *testing.T) {
	d := start(t, nil)
	lease := d.leases(t.Context(), messages.OpenScope{Path: agents})
	_, err := lease.End(t.Context(), messages.CloseScope{Path: agents})
	require.NoError(t, err)
	_, err = host.Ask(t.Context(), d.client.Host(), messages.AnnounceTask{ID: "t", Scope: agents})
	coded(t, err, messages.SessionClosedCode, "lease")
	require.Empty(t, d.tasks(""))
}

// A process of a job announces tasks in its leased scope alone, and sees no others.
func TestSecurityTasksStayInTheirLeasedScope(t *testing.T) {
	j := startAsJob(t)
	j.says(messages.AnnounceTask{ID: "t"})
	j.uid, j.scope = "", agents
	status, body := j.answers("POST", "/v1/tasks", `{"id":"t"}`)
	require.Equal(t, 200, status, body)
	for path, body := range map[string]string{"/v1/tasks": `{"id":"u","scope":"main"}`, "/v1/tasks/t": `{"scope":"main","ended":true}`} {
		status, text := j.answers("POST", path, body)
		require.Equal(t, 403, status, text)
	}
	_, body = j.answers("GET", "/v1/jobs", "")
	require.NotContains(t, body, `"scope":"main"`)
	status, body = j.answers("POST", "/v1/tasks/t", `{"ended":true}`)
	require.Equal(t, 200, status, body)
	all := j.tasks("")
	require.Len(t, all, 2)
	for _, task := range all {
		require.Equal(t, task.Scope == agents, task.Ended, "%+v", task)
	}
}

// The next daemon has the jobs of the journal and no task: the host, which knows what became of
// it, announces it again.
func TestTasksAreNotInTheJournal(t *testing.T) {
	store := journal.NewMemory(0)
	withJournal := func(o *node.Options, _ *http.Options) { o.Journal = store }
	d := start(t, withJournal)
	d.says(messages.AnnounceTask{ID: "t"})
	require.Len(t, d.tasks(""), 1)
	d.end()
	d = start(t, withJournal)
	require.Empty(t, d.tasks(""))
	_, err := host.Ask(t.Context(), d.client.Host(), messages.UpdateTask{ID: "t", State: "waiting"})
	coded(t, err, messages.NotFound, "task")
	d.says(messages.AnnounceTask{ID: "t", State: "waiting"})
	require.Equal(t, "waiting", d.tasks("")[0].State)
}
