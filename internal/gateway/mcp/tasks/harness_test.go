package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

// maxBody is more than any test sends, but for one.
const maxBody = 64 << 10

// bench is a store that serves one tool over HTTP, whose work the test plays.
type bench struct {
	t      *testing.T
	store  *Store
	server *mcp.Server
	url    string
	begun  chan *play
}

// play is one run of the tool's work.
type play struct {
	ctx  context.Context
	task *Task
	end  chan func() (*mcp.CallToolResult, error)
}

// newBench serves "job" with Later, typed, and "raw" with Later, untyped. The client of a request is its header Client.
func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{t: t, begun: make(chan *play, 64)}
	o.Client = func(_ context.Context, r mcp.Request) string {
		if extra := r.GetExtra(); extra != nil {
			return extra.Header.Get("Client")
		}
		return ""
	}
	b.store = New(o)
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	require.NoError(t, b.store.Serve(server))
	mcp.AddTool(server, &mcp.Tool{Name: "job"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, Later(b.work)
	})
	mcp.AddTool(server, &mcp.Tool{Name: "quick"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return text("at once"), nil, nil
	})
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, Later(b.work)
	})
	web := httptest.NewServer(Handler(maxBody, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
	})))
	t.Cleanup(web.Close)
	t.Cleanup(b.store.Close)
	b.url, b.server = web.URL, server
	return b
}

func (b *bench) work(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
	p := &play{ctx, task, make(chan func() (*mcp.CallToolResult, error), 1)}
	b.begun <- p
	select {
	case end := <-p.end:
		return end()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ends makes the work return.
func (p *play) ends(result *mcp.CallToolResult, err error) {
	p.end <- func() (*mcp.CallToolResult, error) { return result, err }
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// caller is one client.
type caller struct {
	b       *bench
	name    string
	offers  bool
	version string
}

func (b *bench) client(name string) *caller { return &caller{b, name, true, firstRevision} }

// said is an answer; one of the two is set.
type said struct {
	result map[string]any
	fault  *jsonrpc.Error
}

// ask sends a request with the headers that the revision wants, and others.
func (c *caller) ask(method string, params map[string]any, others ...string) said {
	c.b.t.Helper()
	answer, err := http.DefaultClient.Do(c.request(method, params, others...))
	require.NoError(c.b.t, err)
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	require.NoError(c.b.t, err)
	var m struct {
		Result map[string]any
		Error  *jsonrpc.Error
	}
	require.NoError(c.b.t, json.Unmarshal(all, &m), string(all))
	return said{m.Result, m.Error}
}

func (c *caller) request(method string, params map[string]any, others ...string) *http.Request {
	c.b.t.Helper()
	can := map[string]any{"elicitation": map[string]any{}}
	if c.offers {
		can["extensions"] = map[string]any{Extension: map[string]any{}}
	}
	params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: c.version, mcp.MetaKeyClientCapabilities: can}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(c.b.t, err)
	r, err := http.NewRequestWithContext(c.b.t.Context(), http.MethodPost, c.b.url, bytes.NewReader(body))
	require.NoError(c.b.t, err)
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Client": c.name,
		"Mcp-Protocol-Version": c.version, "Mcp-Method": method,
	} {
		r.Header.Set(key, value)
	}
	for _, key := range []string{"name", "taskId"} {
		if name, ok := params[key].(string); ok {
			r.Header.Set("Mcp-Name", name)
		}
	}
	for i := 0; i < len(others); i += 2 {
		r.Header.Set(others[i], others[i+1])
	}
	return r
}

func (c *caller) call(tool string) said { return c.ask("tools/call", map[string]any{"name": tool}) }

func (c *caller) about(method, id string) said { return c.ask(method, map[string]any{"taskId": id}) }

// job begins a task and gives its id and its work.
func (c *caller) job() (string, *play) {
	c.b.t.Helper()
	made := c.call("job")
	require.Nil(c.b.t, made.fault)
	require.Equal(c.b.t, "task", made.result["resultType"])
	return made.result["taskId"].(string), mcptest.Within(c.b.t, c.b.begun)
}

// until asks for the task until it is in a state.
func (c *caller) until(id, state string) map[string]any {
	c.b.t.Helper()
	var got said
	require.Eventually(c.b.t, func() bool {
		got = c.about("tasks/get", id)
		return got.result["status"] == state
	}, mcptest.Patience, time.Millisecond, "%s, last seen: %v %v", state, &got.result, &got.fault)
	return got.result
}
