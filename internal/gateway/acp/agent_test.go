package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/dialect/omp"
	"troupe/messages"
)

func TestInitializeSaysWhatTheAgentCan(t *testing.T) {
	for _, version := range []int{0, 1, 2, 99} {
		c := plays(t, acted(nil))
		h := c.ask("initialize", object{"protocolVersion": version, "clientCapabilities": nil})
		require.Equal(t, object{
			"protocolVersion": 1.0,
			"agentCapabilities": object{
				"loadSession": false, "promptCapabilities": object{"image": false, "audio": false, "embeddedContext": false}, "sessionCapabilities": object{"close": object{}},
			},
			"agentInfo": object{"name": "troupe", "title": "troupe", "version": "1.2.3"}, "authMethods": []any{},
		}, h.Result)
		c.ends()
	}
}

// echo is a session that reports its command and ends.
func echo(_ context.Context, command string, update func(dialect.Result)) (dialect.Result, error) {
	ms := int64(5)
	return dialect.Result{Text: command, Details: &omp.Details{WallTimeMs: &ms}}, nil
}

func TestAPromptIsACommand(t *testing.T) {
	for _, k := range []struct {
		prompt []object
		want   string
	}{
		{[]object{{"type": "text", "text": "ls -l"}}, "ls -l"},
		{[]object{{"type": "text", "text": " !git status \n"}}, "git status"},
		{[]object{{"type": "text", "text": "!!ls"}}, "ls"},
		{[]object{{"type": "text", "text": "echo a\necho b"}}, "echo a\necho b"},
		{[]object{{"type": "text", "text": "wc "}, {"type": "resource_link", "name": "x", "uri": "file:///a%20b/it's#L7"}, {"type": "text", "text": " | sort"}}, `wc '/a b/it'\''s' | sort`},
	} {
		c := plays(t, acted(echo))
		c.begins(false)
		id := c.request("session/prompt", object{"sessionId": c.session, "prompt": k.prompt})
		begin, end := c.update(), c.update()
		require.Equal(t, object{"command": k.want}, begin["rawInput"])
		require.Equal(t, "in_progress", begin["status"])
		require.Equal(t, begin["toolCallId"], end["toolCallId"])
		require.Equal(t, k.want, textOf(end["rawOutput"].(object)))
		require.Equal(t, []any{fenced(k.want)}, end["content"])
		require.EqualValues(t, 0, end["rawOutput"].(object)["exitCode"])
		c.stopped(id, "end_turn")
		c.ends()
	}
}

func TestWhatIsNoCommandIsRefused(t *testing.T) {
	c := plays(t, acted(echo))
	c.begins(false)
	text := func(s string) []any { return []any{object{"type": "text", "text": s}} }
	for _, k := range []struct {
		prompt any
		says   string
	}{
		{[]any{}, "no command"},
		{text(""), "no command"},
		{text(" ! "), "no command"},
		{text("a\x00b"), "NUL"},
		{[]any{object{"type": "image", "data": "", "mimeType": "image/png"}}, `"image"`},
		{[]any{object{"type": "audio"}}, `"audio"`},
		{[]any{object{"type": "resource", "resource": object{}}}, `"resource"`},
		{[]any{object{"text": "ls"}}, `""`},
		{[]any{object{"type": "resource_link", "uri": "https://example.org/x"}}, "example.org"},
		{[]any{object{"type": "resource_link", "uri": "file://elsewhere/x"}}, "elsewhere"},
		{[]any{object{"type": "resource_link"}}, "link"},
		{[]any{"ls"}, "wrong type"},
		{"ls", "params/prompt has a wrong type"},
		{text("#" + strings.Repeat("x", messages.MaxText)), "at most"},
	} {
		h := c.ask("session/prompt", object{"sessionId": c.session, "prompt": k.prompt})
		require.NotNil(t, h.Error, k.says)
		require.Equal(t, codeInvalidParams, h.Error.Code)
		require.Contains(t, h.Error.Message, k.says)
	}
	c.ends()
}

// Prompts of two sessions run at once; a second one of the same session is refused.
func TestOnePromptOfASessionRunsAtATime(t *testing.T) {
	gate := make(chan struct{})
	c := plays(t, acted(func(_ context.Context, command string, _ func(dialect.Result)) (dialect.Result, error) {
		if command == "second" {
			close(gate) // the first one waits for it
		}
		<-gate
		return dialect.Result{Text: command}, nil
	}))
	c.begins(false)
	one, two := c.session, c.opens()
	first := c.prompts("first")
	c.update()
	h := c.ask("session/prompt", object{"sessionId": one, "prompt": []any{object{"type": "text", "text": "again"}}})
	require.Equal(t, codeInvalidRequest, h.Error.Code)
	c.session = two
	second := c.prompts("second")
	var answered []any
	for len(answered) < 2 {
		if h := c.hear(); h.Method == "" {
			require.Equal(t, object{"stopReason": "end_turn"}, h.Result)
			answered = append(answered, h.ID)
		}
	}
	require.ElementsMatch(t, []any{float64(first), float64(second)}, answered)
	c.session = one
	id := c.prompts("third")
	require.Equal(t, "call_2", c.update()["toolCallId"], "the refused one was none")
	c.update()
	c.stopped(id, "end_turn")
	c.ends()
}

// stubborn is a session whose commands end when they are cancelled.
func stubborn(ctx context.Context, _ string, update func(dialect.Result)) (dialect.Result, error) {
	<-ctx.Done()
	return dialect.Result{Text: "half"}, &omp.AbortError{Text: "half", Cause: ctx.Err()}
}

func TestAPromptIsCancelled(t *testing.T) {
	for name, cancel := range map[string]func(c *played, id int){
		"session/cancel":   func(c *played, _ int) { c.cancels() },
		"$/cancel_request": func(c *played, id int) { c.notify("$/cancel_request", object{"requestId": id}) },
		"the input":        func(c *played, _ int) { _ = c.in.Close() },
		"a signal":         func(c *played, _ int) { c.cancel() },
		"nothing, and then": func(c *played, id int) {
			c.notify("session/cancel", object{"sessionId": "unknown"})
			c.notify("session/cancel", object{})
			c.notify("session/cancel", nil)
			c.notify("$/cancel_request", object{"requestId": id + 1})
			c.notify("$/cancel_request", object{"requestId": fmt.Sprint(id)})
			c.notify("$/cancel_request", object{})
			require.NotNil(c.t, c.ask("session/prompt", object{"sessionId": c.session, "prompt": []any{object{"type": "text", "text": "x"}}}).Error, "it runs")
			c.cancels()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := plays(t, acted(stubborn))
			c.begins(false)
			id := c.prompts("sleep 600")
			c.update()
			cancel(c, id)
			end := c.update()
			require.Equal(t, "failed", end["status"])
			require.Equal(t, "half", textOf(end["rawOutput"].(object)))
			c.stopped(id, "cancelled")
			_ = c.in.Close()
			err := <-c.done
			require.True(t, err == nil || errors.Is(err, context.Canceled), err)
		})
	}
}

// session/close answers the prompt first, and the session is gone.
func TestASessionIsClosed(t *testing.T) {
	c := plays(t, acted(stubborn))
	c.begins(false)
	id := c.prompts("sleep 600")
	c.update()
	left := c.request("session/close", object{"sessionId": c.session})
	c.update()
	c.stopped(id, "cancelled")
	require.Equal(t, object{}, c.response(left).Result)
	for _, method := range []string{"session/close", "session/prompt"} {
		h := c.ask(method, object{"sessionId": c.session, "prompt": []any{object{"type": "text", "text": "x"}}})
		require.Equal(t, codeNotFound, h.Error.Code)
	}
	c.ends()
}

func TestSessionsAreBounded(t *testing.T) {
	c := plays(t, acted(echo))
	c.begins(false)
	all := []string{c.session}
	for range maxSessions - 1 {
		all = append(all, c.opens())
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), maxSessions, "each has an id of its own")
	h := c.ask("session/new", object{"cwd": "/", "mcpServers": []any{}})
	require.Contains(t, h.Error.Message, "close one")
	require.Nil(t, c.ask("session/close", object{"sessionId": all[7]}).Error)
	require.NotEmpty(t, c.opens())
	c.ends()
}

// Updates replace each other: a client gets the newest, no more often than every 250 ms, and
// none after the result.
func TestUpdatesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plays(t, acted(func(_ context.Context, _ string, update func(dialect.Result)) (dialect.Result, error) {
			for i := range 100 {
				update(dialect.Result{Text: fmt.Sprint(i), Details: &omp.Details{}})
				time.Sleep(7 * time.Millisecond)
			}
			return dialect.Result{Text: "over"}, nil
		}))
		c.begins(false)
		id := c.prompts("x")
		var last time.Time
		var got []any
		for {
			u := c.update()
			if u["status"] == "completed" {
				break
			}
			if u["sessionUpdate"] == "tool_call" {
				continue
			}
			require.True(t, len(got) == 0 || time.Since(last) >= updateEvery)
			last, got = time.Now(), append(got, u["content"].([]any)[0])
		}
		require.Equal(t, []any{fenced("0"), fenced("35"), fenced("71")}, got)
		c.stopped(id, "end_turn")
		c.ends()
	})
}

// A client that does not read holds the agent up no longer than its bound, and only with its
// last lines.
func TestAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var ended sync.WaitGroup
		reader, in := newStuckPipes(hold)
		ended.Go(func() {
			require.ErrorIs(t, Serve(t.Context(), Options{Open: acted(echo), Log: discard()}, reader, in), errStuck)
		})
		began := time.Now()
		ended.Wait()
		require.Equal(t, drainTime, time.Since(began))
		close(hold)
	})
}

// Sessions that cannot be opened are refused with what is wrong; a panic of none ends others.
func TestASessionThatCannotBeOpened(t *testing.T) {
	var fails error
	c := plays(t, func(Place) (Session, error) { return script(echo), fails })
	h := c.ask("session/new", object{"cwd": "/", "mcpServers": []any{}})
	require.Equal(t, codeInvalidRequest, h.Error.Code)
	require.Contains(t, h.Error.Message, "initialize")
	c.begins(false)
	fails = &messages.Error{Code: messages.CwdNotFound, Message: "no such directory"}
	h = c.ask("session/new", object{"cwd": "/nowhere", "mcpServers": []any{}})
	require.Equal(t, &rpcError{codeInvalidParams, fails.Error()}, h.Error)
	fails = errors.New("disk full")
	h = c.ask("session/new", object{"cwd": "/", "mcpServers": []any{}})
	require.Equal(t, &rpcError{codeInternal, "disk full"}, h.Error)
	fails = nil
	require.NotEmpty(t, c.opens())
	c.ends()
}
