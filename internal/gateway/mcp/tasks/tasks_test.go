package tasks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

// A call becomes a task, whose state and result the client asks for.
func TestACallBecomesATask(t *testing.T) {
	c := newBench(t, Options{Poll: 1500 * time.Millisecond, TTL: time.Hour}).client("one")
	for _, tool := range []string{"job", "raw"} {
		t.Run(tool, func(t *testing.T) {
			made := c.call(tool)
			require.Nil(t, made.fault)
			keys := slices.Sorted(maps.Keys(made.result))
			require.Equal(t, []string{"_meta", "createdAt", "lastUpdatedAt", "pollIntervalMs", "resultType", "status", "taskId", "ttlMs"}, keys)
			require.Equal(t, "task", made.result["resultType"])
			require.Equal(t, working, made.result["status"])
			require.Nil(t, made.result["ttlMs"], "no end is in sight")
			require.InDelta(t, 1500, made.result["pollIntervalMs"], 0)

			id, work := made.result["taskId"].(string), mcptest.Within(t, c.b.begun)
			require.Equal(t, id, work.task.ID())
			work.task.Say("compiling")
			now := c.about("tasks/get", id).result
			require.Equal(t, "complete", now["resultType"])
			require.Equal(t, "compiling", now["statusMessage"])

			work.ends(text("done"), nil)
			end := c.until(id, completed)
			result := end["result"].(map[string]any)
			require.Equal(t, []any{map[string]any{"type": "text", "text": "done"}}, result["content"])
			require.Equal(t, "complete", result["resultType"])
			require.GreaterOrEqual(t, end["ttlMs"], 3600000.0)
			work.task.Say("too late")
			require.NotContains(t, c.about("tasks/get", id).result, "statusMessage")
		})
	}
	quick := c.call("quick")
	require.Equal(t, "complete", quick.result["resultType"])
	require.NotContains(t, quick.result, "taskId")
}

// How work ends decides how its task ends.
func TestHowATaskEnds(t *testing.T) {
	c := newBench(t, Options{}).client("one")
	fault := &jsonrpc.Error{Code: -32603, Message: "no backend"}
	for name, end := range map[string]struct {
		with  func(*play)
		state string
		check func(t *testing.T, end map[string]any)
	}{
		"an error is a result": {
			func(p *play) { p.ends(nil, errors.New("exit 1")) }, completed,
			func(t *testing.T, end map[string]any) {
				result := end["result"].(map[string]any)
				require.Equal(t, true, result["isError"])
				require.Equal(t, "exit 1", result["content"].([]any)[0].(map[string]any)["text"])
			},
		},
		"a protocol error is a failure": {
			func(p *play) { p.ends(nil, fault) }, failed,
			func(t *testing.T, end map[string]any) {
				require.Equal(t, map[string]any{"code": -32603.0, "message": "no backend"}, end["error"])
				require.Equal(t, "no backend", end["statusMessage"])
				require.NotContains(t, end, "result")
			},
		},
		"a panic is a failure": {
			func(p *play) { p.end <- func() (*mcp.CallToolResult, error) { panic("oh") } }, failed,
			func(t *testing.T, end map[string]any) {
				require.Equal(t, "the tool failed: oh", end["error"].(map[string]any)["message"])
			},
		},
		"no result is an empty one": {
			func(p *play) { p.ends(nil, nil) }, completed,
			func(t *testing.T, end map[string]any) {
				require.Equal(t, []any{}, end["result"].(map[string]any)["content"])
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			id, work := c.job()
			end.with(work)
			end.check(t, c.until(id, end.state))
		})
	}
}

// A cancelled task's work is told; what it says in the end counts.
func TestATaskIsCancelled(t *testing.T) {
	c := newBench(t, Options{}).client("one")
	id, work := c.job()
	for range 2 { // the second finds it over, or nearly
		ack := c.about("tasks/cancel", id)
		require.Nil(t, ack.fault)
		delete(ack.result, "_meta")
		require.Equal(t, map[string]any{"resultType": "complete"}, ack.result)
	}
	mcptest.Within(t, work.ctx.Done())
	end := c.until(id, cancelled)
	require.NotContains(t, end, "result")

	done, work := c.job()
	work.ends(text("done"), nil)
	c.until(done, completed)
	require.Nil(t, c.about("tasks/cancel", done).fault)
	require.Equal(t, completed, c.about("tasks/get", done).result["status"])
}

// Work may ask the client, which may answer in pieces.
func TestATaskAsks(t *testing.T) {
	c := newBench(t, Options{}).client("one")
	id, work := c.job()
	type told struct {
		answers map[string]*mcp.ElicitResult
		err     error
	}
	answered := make(chan told, 1)
	ask := func(keys ...string) {
		requests := map[string]*mcp.ElicitParams{}
		for _, key := range keys {
			requests[key] = &mcp.ElicitParams{Message: "Which " + key + "?"}
		}
		go func() {
			answers, err := work.task.Ask(work.ctx, requests)
			answered <- told{answers, err}
		}()
	}
	respond := func(responses map[string]any) said {
		return c.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": responses})
	}
	accept := func(v string) map[string]any {
		return map[string]any{"action": "accept", "content": map[string]any{"v": v}}
	}

	ask("name", "colour")
	state := c.until(id, inputRequired)
	open := state["inputRequests"].(map[string]any)
	require.Equal(t, []string{"colour", "name"}, slices.Sorted(maps.Keys(open)))
	require.Equal(t, "elicitation/create", open["name"].(map[string]any)["method"])

	ack := respond(map[string]any{"name": accept("Ann"), "stranger": map[string]any{"ignored": true}})
	require.Nil(t, ack.fault)
	require.NotContains(t, ack.result, "taskId")
	state = c.about("tasks/get", id).result
	require.Equal(t, inputRequired, state["status"])
	require.Equal(t, []string{"colour"}, slices.Collect(maps.Keys(state["inputRequests"].(map[string]any))))

	wrong := respond(map[string]any{"colour": map[string]any{"roots": []any{}}})
	require.EqualValues(t, jsonrpc.CodeInvalidParams, wrong.fault.Code)
	require.Nil(t, respond(map[string]any{"name": accept("Eve"), "colour": accept("red")}).fault)
	got := mcptest.Within(t, answered)
	require.NoError(t, got.err)
	require.Equal(t, "Ann", got.answers["name"].Content["v"], "the first answer stays")
	require.Equal(t, working, c.about("tasks/get", id).result["status"])

	ask("name")
	require.ErrorContains(t, mcptest.Within(t, answered).err, "used before")

	ask("last")
	c.until(id, inputRequired)
	require.Nil(t, c.about("tasks/cancel", id).fault)
	require.ErrorIs(t, mcptest.Within(t, answered).err, context.Canceled)
	require.NotContains(t, c.until(id, cancelled), "inputRequests")
}

// A client that is asked and stays silent does not hold the work for ever.
func TestATaskIsNotAnswered(t *testing.T) {
	c := newBench(t, Options{Patience: time.Millisecond}).client("one")
	id, work := c.job()
	_, err := work.task.Ask(work.ctx, map[string]*mcp.ElicitParams{"name": {Message: "Who?"}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, working, c.about("tasks/get", id).result["status"])
}

// A client that does not offer the extension gets the result in its call, is
// refused where there is no other way, and may ask for no task.
func TestAClientWithoutTasks(t *testing.T) {
	b := newBench(t, Options{})
	plain := b.client("one")
	plain.offers = false
	answered := make(chan said, 1)
	go func() { answered <- plain.call("job") }()
	work := mcptest.Within(t, b.begun)
	_, err := work.task.Ask(work.ctx, nil)
	require.ErrorIs(t, err, ErrNotAsked)
	work.task.Say("nobody hears")
	work.ends(text("done"), nil)
	result := mcptest.Within(t, answered).result
	require.Equal(t, "complete", result["resultType"])
	require.NotContains(t, result, "taskId")
	require.Equal(t, "done", result["content"].([]any)[0].(map[string]any)["text"])

	need := `{"requiredCapabilities":{"extensions":{"` + Extension + `":{}}}}`
	id, _ := b.client("one").job()
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		fault := plain.about(method, id).fault
		require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, fault.Code, method)
		require.JSONEq(t, need, string(fault.Data))
	}
}

// The extension is told to clients of the revision that has it.
func TestTheExtensionIsDeclared(t *testing.T) {
	found := newBench(t, Options{}).client("one").ask("server/discover", map[string]any{})
	require.Contains(t, found.result["capabilities"].(map[string]any)["extensions"], Extension)
}

// An older client neither gets a task nor finds the methods.
func TestOlderRevisionsHaveNoTasks(t *testing.T) {
	b := newBench(t, Options{})
	old := b.client("one")
	old.version = "2025-11-25"
	answered := make(chan said, 1)
	go func() { answered <- old.call("job") }()
	mcptest.Within(t, b.begun).ends(text("done"), nil)
	require.Equal(t, "done", mcptest.Within(t, answered).result["content"].([]any)[0].(map[string]any)["text"])
	require.EqualValues(t, jsonrpc.CodeMethodNotFound, old.about("tasks/get", "x").fault.Code)
}
