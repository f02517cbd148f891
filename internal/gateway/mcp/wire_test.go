package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp/tasks"
	"troupe/messages"
)

// A parameter of the wrong type is told by its name, in words of JSON.
func TestBadInputOfATool(t *testing.T) {
	s := New(Options{Host: &oneJob{}, Scope: "mcp"})
	t.Cleanup(s.Close)
	w := speaks(t, s.newClient().sdk, withSessions)
	for _, c := range [][3]string{
		{"run", `{"command":5}`, `command is a number; it must be a string (invalid_params, command)`},
		{"run", `{"argv":"a"}`, `argv is a string; it must be a list (invalid_params, argv)`},
		{"run", `{"argv":["a",null]}`, `an element of argv is null; it must be a string (invalid_params, argv)`},
		{"run", `{"command":"a","env":{"A":"1","B":2}}`, `an element of env is a number; it must be a string (invalid_params, env)`},
		{"run", `{"command":"a","pty":"yes"}`, `pty is a string; it must be true or false (invalid_params, pty)`},
		{"run", `{"command":"a","rows":1.5}`, `rows is a number 1.5; it must be a whole number (invalid_params, rows)`},
		{"run", `{"command":"a","rows":{}}`, `rows is an object; it must be a whole number (invalid_params, rows)`},
		{"run", `{"command":"a","wait_seconds":1e999}`, `wait_seconds is 1e999, which is larger than any number can be (invalid_params, wait_seconds)`},
		{"read", `{"job_id":null}`, `job_id is empty; list names your jobs (invalid_params, job_id)`},
		{"run", `[]`, `the arguments are a list; they must be an object (invalid_params, arguments)`},
		{"run", `{"command":null,"argv":null}`, `(invalid_params, empty_command)`},
		{"run", `{"command":"a","env":{"LD_PRELOAD":"x"}}`, `it makes other programs run code of its choice (env_refused, LD_PRELOAD)\nset it inside the command, where it can be seen\n`},
	} {
		require.Contains(t, w.call(c[0], c[1]), c[2], c[1])
	}
	require.NotContains(t, w.call("wait", `{"until":null,"job_ids":null,"any":null}`), "isError")
}

// A result and a refusal are these bytes, in the revisions with sessions and without.
func TestAResultIsTheseBytes(t *testing.T) {
	const (
		details = `"troupe/details":{"satisfied":true,"jobs":[{"job_id":"j1","command":"a \u003cb\u003e \u0026\u0026 \"c\"","state":"finished","running":false,` +
			`"outcome":"exited","exit_code":0,"duration_ms":0,"outputs":[{"stream":"merged","bytes":7,"artifact":"artifact://j1/merged"}],"met":true}]}`
		found = `"content":[{"type":"text","text":"what was waited for has come\n* job j1 exited with code 0 after 0.00 s: a \u003cb\u003e \u0026\u0026 \"c\"; merged 7 bytes\n` +
			`\u003cout\u003e\u0026\n\\\"\n"}]`
		refused = `"content":[{"type":"text","text":"any is a number; it must be true or false (invalid_params, any)\n"}],"isError":true`
		failed  = `"content":[{"type":"text","text":"a signal is sent to job_ids, and ends nothing by itself: there is no grace (invalid_params, signal)\n"}],"isError":true`
	)
	for revision, around := range map[string][3]string{
		withSessions: {`{"_meta":{` + details + `},`, `{`, `}`},
		firstWithRounds: {
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"troupe","title":"troupe","version":""},` + details + `},`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"troupe","title":"troupe","version":""}},`, `,"resultType":"complete"}`,
		},
	} {
		s := New(Options{Host: &oneJob{}, Scope: "mcp"})
		t.Cleanup(s.Close)
		w := speaks(t, s.newClient().sdk, revision)
		for _, c := range [][3]string{
			{"wait", `{"any":true}`, found},
			{"wait", `{"until":"quiet","quiet_seconds":1.5,"max_bytes":2e3}`, found},
			{"wait", `{"port":1,"any":null}`, found},
			{"wait", `null`, found},
			{"wait", `{"any":1}`, refused},
			{"wait", `{"any":true,"any":1}`, refused},
			{"stop", `{"signal":"x","all":true}`, failed},
		} {
			before := around[1]
			if c[2] == found {
				before = around[0]
			}
			require.Equal(t, before+c[2]+around[2], w.call(c[0], c[1]), "%s %s", revision, c[1])
		}
	}
}

// oneJob is a host with a job that has ended.
type oneJob struct{ Host }

func (*oneJob) job() messages.Record {
	return messages.Record{
		ID: "j1", UID: "01", Scope: "mcp", State: messages.Finished, End: messages.End{Outcome: messages.Exited, Code: new(0)}, Command: "a <b> && \"c\"",
		Output: []messages.StreamOutput{{Stream: messages.Merged, Bytes: 7}},
	}
}

func (h *oneJob) Jobs(context.Context, messages.ListJobs) ([]messages.Record, error) {
	return []messages.Record{h.job()}, nil
}

func (h *oneJob) Await(_ context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	return messages.WaitEnded{Satisfied: true, Met: r.Jobs, Jobs: []messages.Record{h.job()}}, nil
}

func (*oneJob) View(context.Context, messages.ReadOutput) (messages.OutputPage, error) {
	return messages.OutputPage{Text: "<out>&\n\\\"", Bytes: 7}, nil
}

func (*oneJob) Lease(context.Context, messages.ScopePath, messages.ScopeQuota) (Lease, error) {
	return unbroken{}, nil
}

type unbroken struct{ Lease }

func (unbroken) Broken() <-chan struct{}   { return nil }
func (unbroken) End(context.Context) error { return nil }

// withSessions is the last revision with sessions.
const withSessions = "2025-11-25"

// wire is a client that writes its requests itself.
type wire struct {
	t        *testing.T
	revision string
	conn     sdk.Connection
	n        float64
}

func speaks(t *testing.T, server *sdk.Server, revision string) *wire {
	t.Helper()
	ours, theirs := sdk.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), tasks.Transport(ours), nil)
	require.NoError(t, err)
	conn, err := theirs.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	w := &wire{t: t, revision: revision, conn: conn}
	if revision < firstWithRounds {
		w.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"wire","version":"1"}}`, revision))
		require.NoError(t, conn.Write(t.Context(), &jsonrpc.Request{Method: "notifications/initialized"}))
	}
	return w
}

// call is the result of a tool, as it was sent.
func (w *wire) call(tool, args string) string {
	meta := ""
	if w.revision >= firstWithRounds {
		meta = fmt.Sprintf(`"_meta":{%q:%q,%q:{}},`, sdk.MetaKeyProtocolVersion, w.revision, sdk.MetaKeyClientCapabilities)
	}
	return w.ask("tools/call", fmt.Sprintf(`{%s"name":%q,"arguments":%s}`, meta, tool, args))
}

func (w *wire) ask(method, params string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	w.n++
	id, err := jsonrpc.MakeID(w.n)
	require.NoError(w.t, err)
	require.NoError(w.t, w.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: json.RawMessage(params)}))
	m, err := w.conn.Read(ctx)
	require.NoError(w.t, err)
	reply := m.(*jsonrpc.Response)
	require.NoError(w.t, reply.Error, params)
	return string(reply.Result)
}
