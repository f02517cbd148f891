package http_test

import (
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// asJob makes the requests of raw come from a process of a job, while a lease is open.
type asJob struct {
	*daemon
	inside atomic.Bool
	uid    messages.UID
	scope  messages.ScopePath
}

func startAsJob(t *testing.T) *asJob {
	t.Helper()
	j := &asJob{}
	j.daemon = start(t, func(_ *node.Options, o *http.Options) {
		o.JobOf = func(int) (messages.UID, messages.ScopePath, bool) { return j.uid, j.scope, j.inside.Load() }
	})
	j.leases(t.Context(), messages.OpenScope{Path: agents})
	return j
}

// answers sends a request from within the job.
func (j *asJob) answers(method, path, body string) (int, string) {
	j.t.Helper()
	j.inside.Store(true)
	defer j.inside.Store(false)
	return j.raw(method, path, body)
}

// Every request of the API that names a job or a scope outside of the job's own leased
// scope is refused, and changes nothing.
func TestSecurityJobStaysInItsLeasedScope(t *testing.T) {
	j := startAsJob(t)
	other := j.background(messages.RunCommand{Labels: messages.Labels{Name: "svc"}, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	ended := j.run("true")
	j.retired(ended.ID)
	j.leases(t.Context(), messages.OpenScope{Path: "agents/a-2"})
	own := j.background(messages.RunCommand{Scope: agents, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	j.uid, j.scope = own.UID, agents
	bodies := map[string]string{
		"POST /v1/jobs/{id}/signal": `{"signal":"KILL"}`, "POST /v1/jobs/{id}/deadline": `{"after_ms":1}`,
		"POST /v1/jobs/{id}/input": `{"data":"x"}`, "POST /v1/jobs/{id}/resize": `{"rows":2,"cols":2}`,
		"POST /v1/jobs/{id}/handover": `{"to":"agents/a-1"}`, "POST /v1/jobs": `{"command":"true","scope":"main"}`,
		"POST /v1/stop": `{"scope":"main"}`, "POST /v1/sessions": `{"session":"s","scope":"main"}`, "POST /v1/tasks": `{"id":"t","scope":"main"}`,
		"POST /v1/scopes": `{"path":"agents/a-2"}`, "POST /v1/leases": `{"path":"agents/a-2"}`, "POST /v1/leave": `{"path":"agents/a-2"}`,
		"POST /v1/wait": `{"jobs":["` + string(other.ID) + `"]}`, "POST /v1/shutdown": `{}`,
	}
	fill := strings.NewReplacer("{session}", "default?scope=main", "{path...}", "agents/a-2", "{path}", "agents/a-2")
	nothing := map[string]bool{"GET /v1/health": true, "GET /v1/version": true, "GET /v1/openapi.yaml": true, "GET /v1/stats": true, "POST /v1/remove": true}
	for _, route := range routesOf(t) {
		if nothing[route] || route == "DELETE /v1/leases/{id}" {
			continue
		}
		t.Run(route, func(t *testing.T) {
			method, path, _ := strings.Cut(route, " ")
			body := bodies[route]
			if method == "POST" && body == "" {
				body = "{}"
			}
			if !strings.Contains(path, "{id}") {
				path = fill.Replace(path)
				if method == "GET" {
					query := "?scope=main"
					if path == "/v1/scopes" {
						query = "?path=agents/a-2"
					}
					path += query
				}
				status, text := j.answers(method, path, body)
				if want := map[bool]int{true: 404, false: 403}[path == "/v1/wait"]; status != want {
					t.Fatalf("%d %s", status, text)
				}
				return
			}
			for _, id := range []string{string(other.ID), string(other.UID), "svc", "main%2Fsvc", string(ended.ID)} {
				status, text := j.answers(method, strings.Replace(path, "{id}", id, 1), body)
				require.Equal(t, 404, status, "%s: %s", id, text)
			}
		})
	}
	for _, id := range []string{string(other.ID), string(other.UID), "svc", "main/svc", string(ended.ID)} {
		status, text := j.answers("POST", "/v1/jobs", `{"command":"true","after":[{"job":"`+id+`","on":"any"}]}`)
		require.Equal(t, 404, status, "after %s: %s", id, text)
	}
	for _, id := range []messages.JobID{other.ID, own.ID} {
		job, err := j.client.Job(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, messages.Running, job.State)
	}
	_, text := j.answers("POST", "/v1/remove", `{"jobs":["`+string(ended.ID)+`"]}`)
	require.Contains(t, text, `"not_found"`)
}

// routesOf returns "METHOD path" of each route, which openapi.yaml has all of.
func routesOf(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	require.NoError(t, yaml.Unmarshal(text, &doc))
	for path, methods := range doc.Paths {
		for m := range methods {
			switch m {
			case "get", "post", "delete":
				all = append(all, strings.ToUpper(m)+" "+path)
			}
		}
	}
	require.Greater(t, len(all), 30)
	return all
}

// In its own scope a job may do all that a client may.
func TestAJobUsesItsLeasedScope(t *testing.T) {
	j := startAsJob(t)
	j.background(messages.RunCommand{Labels: messages.Labels{Name: "svc"}, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	own := j.background(messages.RunCommand{Scope: agents, Labels: messages.Labels{Name: "svc"}, Program: messages.Program{Argv: []string{"sleep", "600"}}})
	j.uid, j.scope = own.UID, agents
	status, text := j.answers("GET", "/v1/jobs?finished=true", "")
	require.Equal(t, 200, status)
	require.Equal(t, []messages.JobID{own.ID}, idsOf(t, text))
	status, text = j.answers("POST", "/v1/jobs", `{"command":"echo $TROUPE_SCOPE","mode":"sync"}`)
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"scope":"agents/a-1"`)
	status, text = j.answers("POST", "/v1/jobs", `{"command":"true","scope":"agents/a-1/sub"}`)
	require.Equal(t, 200, status, text)
	for _, id := range []string{"svc", "agents%2Fa-1%2Fsvc", string(own.UID)} {
		status, text = j.answers("GET", "/v1/jobs/"+id, "")
		require.Equal(t, 200, status, text)
		require.Contains(t, text, string(own.UID))
	}
	status, text = j.answers("GET", "/v1/stats", "")
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"running":1`)
	status, text = j.answers("GET", "/v1/events?past=true", "")
	require.Equal(t, 200, status, text)
	require.NotContains(t, text, `"scope":"main"`)
	require.Contains(t, text, string(own.UID))
	status, text = j.answers("POST", "/v1/jobs/svc/stop", `{"grace_ms":0}`)
	require.Equal(t, 200, status, text)
	require.Contains(t, text, string(own.ID))
}

func idsOf(t *testing.T, list string) (ids []messages.JobID) {
	t.Helper()
	var body struct {
		Jobs []struct{ ID messages.JobID }
	}
	require.NoError(t, json.Unmarshal([]byte(list), &body))
	for _, j := range body.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// The nearest lease counts, a job that is not known is refused, and without a lease every
// job may use all scopes.
func TestSecurityScopeOfAJob(t *testing.T) {
	j := startAsJob(t)
	main := j.background(messages.RunCommand{Program: messages.Program{Argv: []string{"sleep", "600"}}})
	deep := j.background(messages.RunCommand{Scope: agents + "/x", Program: messages.Program{Argv: []string{"sleep", "600"}}})
	for name, c := range map[string]struct {
		uid    messages.UID
		scope  messages.ScopePath
		status int
		jobs   []messages.JobID
	}{
		"a job of main":                    {main.UID, agents, 200, []messages.JobID{main.ID, deep.ID}},
		"below a lease":                    {deep.UID, "main", 200, []messages.JobID{deep.ID}},
		"a live shell of main":             {"01M8E9B6PJ31FQ9CZV5Y9JWSAT", "main", 200, []messages.JobID{main.ID, deep.ID}},
		"a live shell of a client":         {"01M8E9B6PJ31FQ9CZV5Y9JWSAT", agents, 200, []messages.JobID{deep.ID}},
		"its environment names no job":     {"", "", 403, nil},
		"its environment names no scope":   {"01M8E9B6PJ31FQ9CZV5Y9JWSAT", "", 403, nil},
		"a scope that no client leases":    {"", "agents/b", 200, []messages.JobID{main.ID, deep.ID}},
		"a name that begins like a leased": {"", "agents/a-10", 200, []messages.JobID{main.ID, deep.ID}},
	} {
		t.Run(name, func(t *testing.T) {
			j.uid, j.scope = c.uid, c.scope
			status, text := j.answers("GET", "/v1/jobs", "")
			require.Equal(t, c.status, status, text)
			if status == 200 {
				require.Equal(t, c.jobs, idsOf(t, text))
			} else {
				require.Contains(t, text, `"reason":"scope"`)
			}
		})
	}
}
