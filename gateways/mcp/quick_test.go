package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/dialects/core"
	"troupe/gateways/mcp/tasks"
	"troupe/messages"
)

// values are what a field may be given.
var values = []string{
	`null`, `true`, `false`, `0`, `-0`, `7`, `-3`, `1.0`, `1.5`, `1e2`, `1E400`, `9007199254740992`, `99999999999999999999`, `""`, `"x"`, `"1"`, `"a\u0000<b>&\u2028"`,
	`"\ud800"`, `"\ud83d\ude00"`, "\"\xff\"", `[]`, `["a"]`, `["a",null]`, `["a",1]`, `[[]]`, `{}`, `{"A":"1"}`, `{"A":null}`, `{"A":1}`, `{"A":"1","A":"2"}`, ` "spaced" `,
}

// What is read quickly is what the SDK reads, and nothing that it refuses.
func TestQuickReadsWhatTheSDKReads(t *testing.T) {
	readsAlike[core.Run](t, "command")
	readsAlike[core.Read](t, "job_id")
	readsAlike[core.Write](t, "job_id")
	readsAlike[core.Stop](t, "")
	readsAlike[core.List](t, "")
	readsAlike[core.Await](t, "")
	readsAlike[core.Job](t, "job_id")
}

// readsAlike gives each field each value, beside a field that is right.
func readsAlike[In any](t *testing.T, right string) {
	t.Helper()
	var got *In
	server := sdk.NewServer(&sdk.Implementation{Name: "sdk"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "it"}, func(_ context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		got = &in
		return &sdk.CallToolResult{}, nil, nil
	})
	w := speaks(t, server, withSessions)
	quick, read := newReader[In](), 0
	names := []string{"unknown", "COMMAND"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Contains(t, quick.fields, name, "each field can be read quickly")
		names = append(names, name)
	}
	beside := ""
	if right != "" {
		beside = fmt.Sprintf(`%q:"right",`, right)
	}
	for _, name := range names {
		for _, value := range values {
			for _, args := range []string{
				fmt.Sprintf(`{%s%q:%s}`, beside, name, value), fmt.Sprintf(`{%q:%s}`, name, value), fmt.Sprintf(`{%q:"x",%s%q:%s}`, name, beside, name, value), value,
			} {
				in, ok := quick.read(json.RawMessage(args))
				if !ok {
					saysWhatIsWrong(t, quick, args, func() bool { got = nil; w.call("it", args); return got != nil })
					continue
				}
				read++
				got = nil
				w.call("it", args)
				require.NotNil(t, got, "%T refuses %s", in, args)
				require.Equal(t, *got, in, args)
			}
		}
	}
	require.Greater(t, read, len(names), "%T", *new(In))
}

// saysWhatIsWrong checks that what the SDK refuses is refused in words of ours, and
// nothing else; null for a parameter is none.
func saysWhatIsWrong[In any](t *testing.T, quick *reader[In], args string, takes func() bool) {
	t.Helper()
	raw, said := json.RawMessage(args), ""
	if rest, had := quick.withoutNulls(raw); had {
		if _, ok := quick.read(rest); ok {
			return
		}
		raw = rest
	}
	if bad := quick.wrong("it", raw); bad != nil {
		said = bad.Message
	}
	if utf8.ValidString(args) {
		require.Equal(t, said == "", takes(), "%T %s: %s", *new(In), args, said)
	}
}

// A parameter of the wrong type is told by its name, in words of JSON.
func TestBadInputOfATool(t *testing.T) {
	s := New(Options{Host: &oneJob{}, Scope: "mcp"})
	t.Cleanup(s.Close)
	w := speaks(t, s.newClient().sdk, withSessions)
	for _, c := range [][3]string{
		{"run", `{"command":5}`, `command is a number; it must be a string (invalid_params, command)`},
		{"run", `{"argv":"a"}`, `argv is a string; it must be a list (invalid_params, argv)`},
		{"run", `{"argv":["a",null]}`, `an element of argv is null; it must be a string (invalid_params, argv)`},
		{"run", `{"command":"a","env":{"A":"1","B":2}}`, `\"B\" of env is a number; it must be a string (invalid_params, env)`},
		{"run", `{"command":"a","pty":"yes"}`, `pty is a string; it must be true or false (invalid_params, pty)`},
		{"run", `{"command":"a","rows":1.5}`, `rows is 1.5; it must be a whole number (invalid_params, rows)`},
		{"run", `{"command":"a","rows":{}}`, `rows is an object; it must be a whole number (invalid_params, rows)`},
		{"run", `{"command":"a","wait_seconds":1e999}`, `wait_seconds is 1e999, which is larger than any number can be (invalid_params, wait_seconds)`},
		{"read", `{"job_id":null}`, `the tool read needs the parameter job_id (invalid_params, job_id)`},
		{"run", `[]`, `the arguments of the tool run are a list; they must be an object (invalid_params, arguments)`},
		{"run", `{"command":null,"argv":null}`, `(invalid_params, empty_command)`},
		{"run", `{"command":"a","env":{"LD_PRELOAD":"x"}}`, `it makes other programs run code of its choice (env_refused, LD_PRELOAD)\nset it inside the command, where it can be seen\n`},
	} {
		require.Contains(t, w.call(c[0], c[1]), c[2], c[1])
	}
	require.NotContains(t, w.call("wait", `{"until":null,"job_ids":null,"any":null}`), "isError")
}

// A structure is written as the SDK writes it.
func TestStructureIsWrittenAsTheSDKWritesIt(t *testing.T) {
	code := 3
	for _, v := range []any{
		&core.Stopped{}, &core.Jobs{Jobs: []core.Record{}}, &core.Awaited{Jobs: []core.Seen{{}, {Record: core.Record{ExitCode: &code, Flags: []string{"b", "a"}}, Met: true}}},
		&core.RunResult{
			Record: core.Record{Command: `a "quoted" \ \" , } ] { [ : `, Outputs: []core.Stream{{Stream: "stdout", Bytes: 1 << 40}, {}}, Error: &core.Error{Code: "x", Hint: `\`}},
			Shown:  core.Shown{Output: "<&>\u2028\x1b[0m\\\"\\\\\" \xff \xf0\x9f \ufffd \U0001f600\n", From: -1, Missing: []core.Gap{{From: 1, To: 2}}},
			Told:   core.Told{Notifications: []core.Notice{{Command: strings.Repeat(`\"`, 1000)}}, Note: "\\"},
		},
		&core.Screen{Screen: []string{"", `\ufffd`, "]"}},
	} {
		plain, err := json.Marshal(v)
		require.NoError(t, err)
		var m any
		require.NoError(t, json.Unmarshal(plain, &m))
		want, err := json.Marshal(m)
		require.NoError(t, err)
		got, err := structure(v)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

// Nobody sees which way a call went: its parameters are the same here, and in the second
// form not plainly so.
func TestACallIsAnsweredAlikeOnBothWays(t *testing.T) {
	for _, revision := range []string{withSessions, firstWithRounds} {
		for _, rest := range []string{`"any":true`, `"until":"never"`, `"until":"quiet","quiet_seconds":1.5`, `"port":1`} {
			s := New(Options{Host: &oneJob{}, Scope: "mcp"})
			t.Cleanup(s.Close)
			c := s.newClient()
			w := speaks(t, c.sdk, revision)
			quick, slow := `{`+rest+`}`, `{"max_bytes":2e3,`+rest+`}`
			reader := newReader[core.Await]()
			_, ok := reader.read(json.RawMessage(quick))
			require.True(t, ok)
			_, ok = reader.read(json.RawMessage(slow))
			require.False(t, ok)
			require.Equal(t, w.call("wait", slow), w.call("wait", quick))
		}
	}
}

// oneJob is a host with a job that has ended.
type oneJob struct{ Host }

func (*oneJob) job() messages.Job {
	return messages.Job{
		ID: "j1", UID: "01", Scope: "mcp", State: messages.Finished, Outcome: messages.Exited, Settled: true, Command: "a <b> && \"c\"",
		Output: []messages.StreamOutput{{Stream: messages.Merged, Bytes: 7}},
	}
}

func (h *oneJob) Jobs(context.Context, messages.ListJobs) ([]messages.Job, error) {
	return []messages.Job{h.job()}, nil
}

func (h *oneJob) Await(_ context.Context, r messages.AwaitJobs) (messages.AwaitEnded, error) {
	return messages.AwaitEnded{Satisfied: true, Met: r.Jobs, Jobs: []messages.Job{h.job()}}, nil
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
