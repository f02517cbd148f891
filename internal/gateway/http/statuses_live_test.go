package http_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"troupe/internal/api"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// Each route answers with a status that openapi.yaml has for it, each of those
// can be had, and each reply has the fields of its schema and no other.
func TestOpenAPIIsWhatIsServed(t *testing.T) {
	d := start(t, func(_ *node.Options, o *http.Options) {
		o.Shutdown = func(_ context.Context, r messages.ShutdownNode) ([]messages.Survivor, error) {
			return []messages.Survivor{{PID: 7, State: "D"}}, nil
		}
	})
	live := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	terminal, err := d.node.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}}})
	require.NoError(t, err)
	front := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	over := d.run("echo x")
	d.retired(over.ID)
	l, o := "/v1/jobs/"+string(live.ID), "/v1/jobs/"+string(over.ID)
	type request struct{ route, method, path, body string }
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Ref string `yaml:"$ref"`
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				All        []struct{ Properties map[string]any } `yaml:"allOf"`
			}
		}
	}
	text, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &document))
	want := map[string]bool{}
	for path, operations := range document.Paths {
		for method, op := range operations {
			for status := range op.Responses {
				if status != "default" && status != "101" && !slices.Contains([]string{"/v1/events", "/v1/jobs/{id}/hold", "/v1/leases"}, path) { // streams have tests of their own
					want[strings.ToUpper(method)+" "+path+" "+status] = true
				}
			}
		}
	}
	lease := d.reply("POST", "/v1/leases", `{"path":"leased"}`)
	defer lease.Body.Close()
	for _, r := range []request{
		{"/v1/jobs", "POST", "/v1/jobs?text=10", `{"command":"echo x"}`},
		{"/v1/jobs", "POST", "/v1/jobs", `{"command":"sleep 60","mode":"async"}`},
		{"/v1/jobs", "GET", "/v1/jobs?finished=true", ``},
		{"/v1/jobs/{id}", "GET", l, ``},
		{"/v1/jobs/{id}/output", "GET", o + "/output", ``},
		{"/v1/jobs/{id}/text", "GET", o + "/text", ``},
		{"/v1/jobs/{id}/screen", "GET", "/v1/jobs/" + string(terminal.ID) + "/screen", ``},
		{"/v1/jobs/{id}/resize", "POST", "/v1/jobs/" + string(terminal.ID) + "/resize", `{"rows":30,"cols":90}`},
		{"/v1/jobs/{id}/signal", "POST", l + "/signal", `{"signal":"CONT"}`},
		{"/v1/jobs/{id}/promote", "POST", "/v1/jobs/" + string(front.ID) + "/promote", `{}`},
		{"/v1/jobs/{id}/deadline", "POST", l + "/deadline", `{"none":true}`},
		{"/v1/jobs/{id}/input", "POST", l + "/input", `{"data":"x"}`},
		{"/v1/jobs/{id}/close-input", "POST", l + "/close-input", `{}`},
		{"/v1/jobs/{id}/handover", "POST", l + "/handover", `{"to":"heir"}`},
		{"/v1/jobs/{id}/stop", "POST", l + "/stop", `{"grace_ms":0}`},
		{"/v1/jobs/{id}", "DELETE", o, ``},
		{"/v1/remove", "POST", "/v1/remove", `{"jobs":["none"]}`},
		{"/v1/wait", "POST", "/v1/wait", `{"jobs":["` + string(live.ID) + `"]}`},
		{"/v1/stop", "POST", "/v1/stop", `{"scope":"main"}`},
		{"/v1/tasks", "POST", "/v1/tasks", `{"id":"t"}`},
		{"/v1/tasks/{id}", "POST", "/v1/tasks/t", `{"ended":true}`},
		{"/v1/sessions", "POST", "/v1/sessions", `{"session":"s","scope":"x"}`},
		{"/v1/sessions", "GET", "/v1/sessions", ``},
		{"/v1/sessions/{session}", "DELETE", "/v1/sessions/s?scope=x", ``},
		{"/v1/scopes", "POST", "/v1/scopes", `{"path":"y/z"}`},
		{"/v1/scopes", "GET", "/v1/scopes", ``},
		{"/v1/scopes/{path}", "DELETE", "/v1/scopes/y/z", ``},
		{"/v1/leave", "POST", "/v1/leave", `{"path":"y"}`},
		{"/v1/leases/{id}", "DELETE", lease.Header.Get("Location"), ``},
		{"/v1/stats", "GET", "/v1/stats", ``},
		{"/v1/health", "GET", "/v1/health", ``},
		{"/v1/version", "GET", "/v1/version", ``},
		{"/v1/openapi.yaml", "GET", "/v1/openapi.yaml", ``},
		{"/v1/shutdown", "POST", "/v1/shutdown", `{}`},
	} {
		status, body := d.raw(r.method, r.path, r.body)
		key := fmt.Sprintf("%s %s %d", r.method, r.route, status)
		if _, known := document.Paths[r.route][strings.ToLower(r.method)].Responses[fmt.Sprint(status)]; !known {
			t.Errorf("%s is not in openapi.yaml: %s", key, body)
			continue
		}
		delete(want, key)
		media, isJSON := document.Paths[r.route][strings.ToLower(r.method)].Responses[fmt.Sprint(status)].Content["application/json"]
		if !isJSON {
			continue
		}
		name := media.Schema.Ref[strings.LastIndexByte(media.Schema.Ref, '/')+1:]
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &object), key)
		fields := maps.Clone(document.Components.Schemas[name].Properties)
		if name == "Result" {
			fields = maps.Clone(document.Components.Schemas["Record"].Properties)
			maps.Copy(fields, document.Components.Schemas[name].All[1].Properties)
		}
		for field := range object {
			require.Contains(t, fields, field, key)
		}
		for field := range fields {
			if !slices.Contains([]string{"tag", "deadline", "isolation", "live", "on_finish", "pipe_statuses", "stop_signal", "idle_timeout_ms", "rerun_of", "request", "text", "truncated", "redrawn", "full_screen", "next", "matches", "waits_for", "faults"}, field) {
				require.Contains(t, object, field, key)
			}
		}
	}
	require.Empty(t, want, "never answered so")
}

var writeOpenAPI = flag.Bool("write-openapi", false, "write openapi.yaml as the table and the structs have it")

// The daemon sends the document that describes it, which is openapi.yaml.
func TestOpenAPIIsSent(t *testing.T) {
	if *writeOpenAPI {
		require.NoError(t, os.WriteFile("openapi.yaml", []byte(api.Document()), 0o644))
	}
	d := start(t, nil)
	reply := d.reply("GET", "/v1/openapi.yaml", "")
	defer reply.Body.Close()
	require.Equal(t, "application/yaml", reply.Header.Get("Content-Type"))
	sent, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	want, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.Equal(t, string(want), string(sent), "go test ./internal/gateway/http -run TestOpenAPIIsSent -write-openapi")
}
