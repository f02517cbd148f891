package tasks

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

// heard is a notification, or the answer.
type heard struct {
	Method string
	Params map[string]any
	Result map[string]any
	Error  *jsonrpc.Error
}

// listen opens a stream on which a client hears of tasks.
func (c *caller) listen(notifications map[string]any) (from <-chan heard, stop func()) {
	c.b.t.Helper()
	ctx, cancel := context.WithCancel(c.b.t.Context())
	r := c.request("subscriptions/listen", map[string]any{"notifications": notifications}).WithContext(ctx)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(c.b.t, err)
	all := make(chan heard, 64)
	go func() {
		defer close(all)
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			var h heard
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(text), &h) == nil {
				all <- h
			}
		}
	}()
	c.b.t.Cleanup(cancel)
	return all, cancel
}

// next is the next notification about a task, of the client's subscription.
func next(t *testing.T, from <-chan heard) map[string]any {
	t.Helper()
	h := mcptest.Within(t, from)
	require.Equal(t, "notifications/tasks", h.Method)
	require.Equal(t, map[string]any{mcp.MetaKeySubscriptionID: 1.0}, h.Params["_meta"])
	require.NotContains(t, h.Params, "resultType")
	return h.Params
}

// A client that listens hears how its tasks are, and each change, as tasks/get
// would have told it.
func TestAClientListens(t *testing.T) {
	b := newBench(t, Options{})
	c := b.client("one")
	id, work := c.job()
	other, _ := b.client("two").job()
	from, stop := c.listen(map[string]any{"taskIds": []string{id, other, "never"}})

	ack := mcptest.Within(t, from)
	require.Equal(t, "notifications/subscriptions/acknowledged", ack.Method)
	require.Equal(t, map[string]any{"taskIds": []any{id}}, ack.Params["notifications"], "only its own")
	require.Equal(t, working, next(t, from)["status"])

	work.task.Say("half way")
	require.Equal(t, "half way", next(t, from)["statusMessage"])
	go func() {
		_, _ = work.task.Ask(work.ctx, map[string]*mcp.ElicitParams{"name": {Message: "Who?"}})
	}()
	asked := next(t, from)
	require.Equal(t, inputRequired, asked["status"])
	require.Contains(t, asked["inputRequests"], "name")
	require.Nil(t, c.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{"name": map[string]any{"action": "decline"}}}).fault)
	require.Equal(t, working, next(t, from)["status"])

	work.ends(text("done"), nil)
	end := next(t, from)
	got := c.about("tasks/get", id).result
	delete(got, "resultType")
	delete(got, "_meta")
	delete(end, "_meta")
	require.Equal(t, got, end)
	stop()
	for range from { // until the stream has ended
	}
}

// What the SDK tells on the same stream is told beside it, and a stream that
// asks for no task is the SDK's alone.
func TestAClientListensForOtherThings(t *testing.T) {
	b := newBench(t, Options{})
	c := b.client("one")
	id, work := c.job()
	from, _ := c.listen(map[string]any{"taskIds": []string{id}, "toolsListChanged": true})
	ack := mcptest.Within(t, from)
	require.Equal(t, map[string]any{"taskIds": []any{id}, "toolsListChanged": true}, ack.Params["notifications"])
	next(t, from)
	b.server.RemoveTools("quick")
	require.Equal(t, "notifications/tools/list_changed", mcptest.Within(t, from).Method)
	work.ends(text("done"), nil)
	require.Equal(t, completed, next(t, from)["status"])

	plain, _ := c.listen(map[string]any{"toolsListChanged": true})
	require.Equal(t, map[string]any{"toolsListChanged": true}, mcptest.Within(t, plain).Params["notifications"])
}

// Who does not offer the extension cannot listen, and who names no task of his
// own has nothing to listen for.
func TestBadInputMCPListen(t *testing.T) {
	b := newBench(t, Options{})
	id, _ := b.client("one").job()
	plain := b.client("one")
	plain.offers = false
	ask := map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, plain.ask("subscriptions/listen", ask).fault.Code)

	from, _ := b.client("two").listen(map[string]any{"taskIds": []string{id}})
	require.Empty(t, mcptest.Within(t, from).Params["notifications"])
	require.Contains(t, mcptest.Within(t, from).Result, "resultType")

	for _, odd := range []any{"x", 7, []any{7, nil}, map[string]any{}} {
		from, _ := b.client("one").listen(map[string]any{"taskIds": odd})
		require.Empty(t, mcptest.Within(t, from).Params["notifications"], odd)
	}
	long := map[string]any{"notifications": map[string]any{"taskIds": []string{strings.Repeat("x", maxBody)}}}
	answer, err := http.DefaultClient.Do(b.client("one").request("subscriptions/listen", long))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.GreaterOrEqual(t, answer.StatusCode, 400)
}

// The same over a transport that is one connection.
func TestAClientListensOverAConnection(t *testing.T) {
	b := newBench(t, Options{})
	ours, theirs := mcp.NewInMemoryTransports()
	session, err := b.server.Connect(t.Context(), Transport(ours), nil)
	require.NoError(t, err)
	client, err := theirs.Connect(t.Context())
	require.NoError(t, err)
	say := func(number int, method string, params map[string]any) {
		params["_meta"] = map[string]any{
			mcp.MetaKeyProtocolVersion:    firstRevision,
			mcp.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{Extension: map[string]any{}}},
		}
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": number, "method": method, "params": params})
		require.NoError(t, err)
		m, err := jsonrpc.DecodeMessage(text)
		require.NoError(t, err)
		require.NoError(t, client.Write(t.Context(), m))
	}
	hear := func() heard {
		ctx, cancel := context.WithTimeout(t.Context(), mcptest.Patience)
		defer cancel()
		m, err := client.Read(ctx)
		require.NoError(t, err)
		text, err := jsonrpc.EncodeMessage(m)
		require.NoError(t, err)
		var h heard
		require.NoError(t, json.Unmarshal(text, &h))
		return h
	}
	say(1, "tools/call", map[string]any{"name": "job"})
	id := hear().Result["taskId"].(string)
	work := mcptest.Within(t, b.begun)
	say(2, listenMethod, map[string]any{"notifications": map[string]any{"taskIds": []string{id}}})
	require.Equal(t, map[string]any{"taskIds": []any{id}}, hear().Params["notifications"])
	require.Equal(t, working, hear().Params["status"])
	work.ends(text("done"), nil)
	end := hear()
	require.Equal(t, noticeMethod, end.Method)
	require.Equal(t, completed, end.Params["status"])
	require.Equal(t, map[string]any{mcp.MetaKeySubscriptionID: 2.0}, end.Params["_meta"])
	require.NoError(t, session.Close())
}
