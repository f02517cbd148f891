package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// editor is a client by the official SDK of the Agent Client Protocol (tools/node/acp).
func (p *process) editor(args ...string) (e *process, modules string) {
	p.t.Helper()
	node, modules := need.Node(p.t)
	e = p.beside()
	e.Path, e.Args = node, append([]string{"node", filepath.Join(modules, "..", "acp", "main.mjs")}, args...)
	return e, modules
}

// The official client drives the agent, with terminals of its own and without. What the agent
// writes is what the schema of the protocol allows.
func TestOMPWithTheOfficialClient(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	e, modules := d.editor("all")
	require.GreaterOrEqual(t, e.start().steps(), 16)
	e.ends(0)
	settles(t, "live jobs", 0, func() int { return strings.Count(d.beside("ps", "-q").start().rest(), "\n") })
	schema := filepath.Join(modules, "@agentclientprotocol", "sdk", "schema", "v1", "schema.json")
	require.Greater(t, valid(t, schema, d.file("wire")), 100)
}

// valid holds each line of an agent against the schema, and counts them.
func valid(t *testing.T, schema, wire string) int {
	t.Helper()
	type message struct {
		ID             *int
		Method         string
		Params, Result any
		Error          any
	}
	read := func(name string) (all []message) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range bytes.Lines(text) {
			var m message
			require.NoError(t, json.Unmarshal(line, &m), "%s", line)
			all = append(all, m)
		}
		return all
	}
	methods := []map[int]string{{}} // of the client's requests, by connection
	for _, m := range read(wire + ".client") {
		if m.Method == "initialize" && len(methods[len(methods)-1]) > 0 {
			methods = append(methods, map[int]string{})
		}
		if m.Method != "" && m.ID != nil {
			methods[len(methods)-1][*m.ID] = m.Method
		}
	}
	check := definitions(t, schema)
	untitled := map[string]any{"sessionId": "s", "update": map[string]any{"sessionUpdate": "tool_call", "toolCallId": "c"}}
	require.Error(t, check("SessionNotification", untitled))
	lines, at := 0, -1
	for _, m := range read(wire + ".agent") {
		lines++
		if r, is := m.Result.(map[string]any); is && r["protocolVersion"] != nil {
			at++
		}
		name, value := "", any(nil)
		switch {
		case m.Error != nil:
			name, value = "Error", m.Error
		case m.Method == "":
			name, value = map[string]string{
				"initialize": "InitializeResponse", "session/new": "NewSessionResponse", "session/prompt": "PromptResponse", "session/close": "CloseSessionResponse",
			}[methods[at][*m.ID]], m.Result
		default:
			name, value = map[string]string{
				"session/update": "SessionNotification", "terminal/create": "CreateTerminalRequest", "terminal/output": "TerminalOutputRequest",
				"terminal/wait_for_exit": "WaitForTerminalExitRequest", "terminal/kill": "KillTerminalRequest", "terminal/release": "ReleaseTerminalRequest",
			}[m.Method], m.Params
		}
		require.NoError(t, check(name, value), "%s: %v", name, value)
	}
	return lines
}

// definitions reads a schema, and checks values by the names of its definitions.
func definitions(t *testing.T, file string) (check func(name string, value any) error) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var root struct {
		Defs map[string]*jsonschema.Schema `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &root))
	known := map[string]*jsonschema.Resolved{}
	return func(name string, value any) error {
		t.Helper()
		require.NotNil(t, root.Defs[name], "%s: %v", name, value)
		if known[name] == nil {
			var all jsonschema.Schema // its own: Resolve changes it
			require.NoError(t, json.Unmarshal(text, &all))
			known[name], err = (&jsonschema.Schema{Ref: "#/$defs/" + name, Defs: all.Defs}).Resolve(nil)
			require.NoError(t, err)
		}
		return known[name].Validate(value)
	}
}

// The agent and its jobs end with an editor that is killed.
func TestFaultAnEditorIsKilled(t *testing.T) {
	t.Parallel()
	for _, terminal := range []string{"true", "false"} {
		t.Run(terminal, func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			e, _ := d.editor("hold", terminal)
			agent, command, _ := strings.Cut(e.start().line(), " ")
			t.Cleanup(func() { // an editor's own process outlives it
				if pid, err := strconv.Atoi(command); err == nil && terminal == "true" {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			e.send(syscall.SIGKILL)
			e.ends(137)
			eventually(t, "the agent ends", func() bool { return !alive(agent) })
			if terminal == "false" {
				eventually(t, "its job ends", func() bool { return !alive(command) })
			}
			settles(t, "live jobs", 0, func() int { return strings.Count(d.beside("ps", "-q").start().rest(), "\n") })
		})
	}
}
