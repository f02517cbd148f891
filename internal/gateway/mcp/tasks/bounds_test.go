package tasks

import (
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

// Another client's task is not found, as one that never was.
func TestSecurityMCPTaskOfAnotherClient(t *testing.T) {
	b := newBench(t, Options{})
	id, work := b.client("one").job()
	require.GreaterOrEqual(t, len(id), 26, "128 bits")
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		stranger, never := b.client("two").about(method, id), b.client("two").about(method, "never")
		require.EqualValues(t, jsonrpc.CodeInvalidParams, stranger.fault.Code, method)
		require.Equal(t, never.fault, stranger.fault)
	}
	require.NoError(t, work.ctx.Err())
}

// A header that names another task than the body is refused, as is none.
func TestBadInputMCPTaskHeader(t *testing.T) {
	c := newBench(t, Options{}).client("one")
	id, _ := c.job()
	for _, name := range []string{"another", ""} {
		got := c.ask("tasks/get", map[string]any{"taskId": id}, "Mcp-Name", name)
		require.EqualValues(t, mcp.CodeHeaderMismatch, got.fault.Code, name)
		answer, err := http.DefaultClient.Do(c.request("tasks/get", map[string]any{"taskId": id}, "Mcp-Name", name))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, name)
		require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	}
	require.Nil(t, c.ask("tasks/get", map[string]any{"taskId": id}, "Mcp-Name", id).fault)
}

// Requests about tasks that are none, and that are no requests.
func TestBadInputMCPTask(t *testing.T) {
	c := newBench(t, Options{}).client("one")
	for _, params := range []map[string]any{
		{"taskId": "never"}, {"taskId": ""}, {"taskId": "x", "inputResponses": []any{}},
	} {
		require.EqualValues(t, jsonrpc.CodeInvalidParams, c.ask("tasks/update", params).fault.Code)
	}
	require.EqualValues(t, jsonrpc.CodeInvalidParams, c.ask("tasks/get", map[string]any{"taskId": 7}, "Mcp-Name", "7").fault.Code)
}

// A task is kept for its time after the end, and not longer.
func TestATaskExpires(t *testing.T) {
	c := newBench(t, Options{TTL: 50 * time.Millisecond}).client("one")
	id, work := c.job()
	require.Equal(t, working, c.about("tasks/get", id).result["status"])
	work.ends(text("done"), nil)
	require.Eventually(t, func() bool {
		fault := c.about("tasks/get", id).fault
		return fault != nil && fault.Code == jsonrpc.CodeInvalidParams
	}, mcptest.Patience, time.Millisecond)
}

// A client with too many tasks loses those that are over, the oldest first; with
// too many under way the next one is done within its call.
func TestBadInputTooManyMCPTasks(t *testing.T) {
	b := newBench(t, Options{PerClient: 2})
	c := b.client("one")
	first, work := c.job()
	work.ends(text("done"), nil)
	c.until(first, completed)
	second, _ := c.job()
	third, _ := c.job()
	require.NotNil(t, c.about("tasks/get", first).fault, "it made room")
	require.Nil(t, c.about("tasks/get", second).fault)
	require.Nil(t, c.about("tasks/get", third).fault)

	answered := make(chan said, 1)
	go func() { answered <- c.call("job") }()
	mcptest.Within(t, b.begun).ends(text("within"), nil)
	require.Equal(t, "complete", mcptest.Within(t, answered).result["resultType"])

	id, _ := b.client("two").job()
	require.Nil(t, b.client("two").about("tasks/get", id).fault, "others have room")
}

// All clients together are bounded, too.
func TestBadInputTooManyMCPTasksOfAll(t *testing.T) {
	b := newBench(t, Options{Max: 1})
	b.client("one").job()
	answered := make(chan said, 1)
	go func() { answered <- b.client("two").call("job") }()
	mcptest.Within(t, b.begun).ends(text("within"), nil)
	require.Equal(t, "complete", mcptest.Within(t, answered).result["resultType"])
}

// The tasks of all clients end with the store. Later work is done within its call.
func TestTasksEndWithTheirStore(t *testing.T) {
	b := newBench(t, Options{})
	one, first := b.client("one").job()
	_, second := b.client("two").job()
	b.store.Close()
	mcptest.Within(t, first.ctx.Done())
	mcptest.Within(t, second.ctx.Done())
	require.NotNil(t, b.client("one").about("tasks/get", one).fault)
	answered := make(chan said, 1)
	go func() { answered <- b.client("two").call("job") }()
	mcptest.Within(t, b.begun).ends(text("within"), nil)
	require.Equal(t, "complete", mcptest.Within(t, answered).result["resultType"])
}
