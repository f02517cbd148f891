package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/internal/gateway/mcp/web"
	"troupe/messages"
)

// inn is a host that remembers which scopes there are, and how much each may have.
type inn struct {
	slow
	who  sync.Mutex
	open map[messages.ScopePath]messages.ScopeQuota
	left []messages.ScopePath
}

func (h *inn) OpenScope(_ context.Context, path messages.ScopePath, quota messages.ScopeQuota) error {
	h.who.Lock()
	defer h.who.Unlock()
	if h.open == nil {
		h.open = map[messages.ScopePath]messages.ScopeQuota{}
	}
	h.open[path] = quota
	return nil
}

func (h *inn) Leave(_ context.Context, path messages.ScopePath) error {
	h.who.Lock()
	defer h.who.Unlock()
	delete(h.open, path)
	h.left = append(h.left, path)
	return nil
}

func (h *inn) scopes() (paths []messages.ScopePath) {
	synctest.Wait()
	h.who.Lock()
	defer h.who.Unlock()
	for path, quota := range h.open {
		if quota != (messages.ScopeQuota{Jobs: 256, Sessions: 64}) {
			return nil
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// visit calls list over HTTP, without a session.
func visit(t *testing.T, h http.Handler, name, tool string) (status int, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{%q:%q,%q:{},%q:{"name":"visitor %s","version":"1"}}}}`,
		tool, sdk.MetaKeyProtocolVersion, firstWithRounds, sdk.MetaKeyClientCapabilities, sdk.MetaKeyClientInfo, name)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": firstWithRounds,
		"Mcp-Method": "tools/call", "Mcp-Name": tool, ClientHeader: name,
	} {
		r.Header.Set(key, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A client without a session has left when it has asked nothing for four hours: its
// jobs end, and those of nobody else. If it comes back it is another client.
func TestAClientWithoutASessionLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &inn{}
		s := New(Options{Host: host, Scope: "mcp", Many: true})
		h, endpoint := s.Handler(web.Options{})
		asks := func(name string) {
			t.Helper()
			status, text := visit(t, h, name, "list")
			require.Equal(t, http.StatusOK, status, text)
			require.NotContains(t, text, `"isError":true`)
		}
		asks("ann")
		asks("bob")
		asks("")
		asks("")
		all := host.scopes()
		var names []string
		for _, path := range all {
			names = append(names, regexp.MustCompile(`^mcp/http-\w{6}/(.*)-\w{6}$`).ReplaceAllString(string(path), "$1"))
		}
		require.ElementsMatch(t, []string{"visitor-ann", "visitor-bob", "visitor"}, names)
		time.Sleep(4*time.Hour - time.Second)
		asks("ann")
		time.Sleep(2 * time.Second)
		kept := host.scopes()
		require.Len(t, kept, 1, "the others have left")
		require.Contains(t, string(kept[0]), "visitor-ann")
		time.Sleep(4*time.Hour - 3*time.Second)
		require.Equal(t, kept, host.scopes())
		time.Sleep(2 * time.Second)
		require.Empty(t, host.scopes())
		require.ElementsMatch(t, all, host.left)
		asks("ann")
		again := host.scopes()
		require.Len(t, again, 1)
		require.NotEqual(t, kept, again)
		endpoint.Close()
		s.Close()
		require.Empty(t, host.scopes())
	})
}

// A client has 32 calls at work; one more is told so, and when one has its result there
// is room again.
func TestAClientHasFewCallsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Host: &slow{takes: 20 * time.Second}, Scope: "mcp"})
		defer s.Close()
		session, _ := hears(t, s, firstWithRounds)
		run := func() string {
			r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run", Arguments: map[string]any{"command": "make"}})
			if err != nil {
				return err.Error()
			}
			return r.Content[0].(*sdk.TextContent).Text
		}
		var calls sync.WaitGroup
		for range 32 {
			calls.Go(func() {
				if text := run(); strings.Contains(text, "busy") {
					t.Error(text)
				}
			})
		}
		synctest.Wait()
		before := time.Now()
		text := run()
		require.Contains(t, text, "limit of 32 calls at a time reached (busy, calls)")
		require.Contains(t, text, "wait for one of them, or run commands in the background")
		require.Zero(t, time.Since(before))
		calls.Wait()
		require.NotContains(t, run(), "busy")
	})
}

// A client has few tasks that are at work; a run above them is a call with the budget of
// any.
func TestAClientHasFewTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Host: &slow{takes: time.Hour}, Scope: "mcp"})
		defer s.Close()
		ours, theirs := sdk.NewInMemoryTransports()
		c := s.newClient()
		served := make(chan error, 1)
		go func() { served <- c.sdk.Run(t.Context(), tasks.Transport(ours)) }()
		wire, err := theirs.Connect(t.Context())
		require.NoError(t, err)
		for i := range maxLive {
			require.Equal(t, "task", asksFor(t, wire, i)["resultType"], i)
		}
		before := time.Now()
		last := asksFor(t, wire, maxLive)
		require.NotEqual(t, "task", last["resultType"])
		require.NotNil(t, last["_meta"].(map[string]any)[DetailsKey], last)
		require.Equal(t, core.DefaultWait, time.Since(before))
		require.NoError(t, wire.Close())
		<-served
		c.leave()
	})
}

// asksFor runs a command as a client that takes tasks, and gives the result.
func asksFor(t *testing.T, wire sdk.Connection, id int) map[string]any {
	t.Helper()
	params, err := json.Marshal(map[string]any{"name": "run", "arguments": map[string]any{"command": "make"}, "_meta": map[string]any{
		sdk.MetaKeyProtocolVersion: firstWithRounds, sdk.MetaKeyClientInfo: map[string]any{"name": "tasks", "version": "1"},
		sdk.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{tasks.Extension: map[string]any{}}},
	}})
	require.NoError(t, err)
	is, err := jsonrpc.MakeID(float64(id))
	require.NoError(t, err)
	require.NoError(t, wire.Write(t.Context(), &jsonrpc.Request{ID: is, Method: "tools/call", Params: params}))
	for {
		m, err := wire.Read(t.Context())
		require.NoError(t, err)
		if r, ok := m.(*jsonrpc.Response); ok && r.ID == is {
			require.NoError(t, r.Error)
			var result map[string]any
			require.NoError(t, json.Unmarshal(r.Result, &result))
			return result
		}
	}
}

// gated is a host whose pages of facts wait.
type gated struct {
	*node
	gate chan struct{} // a place for each page that may be answered

	mu        sync.Mutex
	now, most int // pages that are asked for at a time
}

func (h *gated) Facts(ctx context.Context, r messages.Subscribe, _ int) (FactPage, error) {
	h.mu.Lock()
	h.now++
	h.most = max(h.most, h.now)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now--
	}()
	select {
	case <-h.gate:
		return FactPage{Next: r.After}, nil
	case <-ctx.Done():
		return FactPage{}, ctx.Err()
	}
}

// A client has 32 polls at work. More wait, and each is answered; a tool is called meanwhile.
func TestAClientHasFewPollsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const polls = 100
		h := &gated{node: newNode(), gate: make(chan struct{})}
		s := New(Options{Host: h, Scope: "mcp"})
		defer s.Close()
		ours, theirs := sdk.NewInMemoryTransports()
		c := s.newClient()
		served := make(chan error, 1)
		go func() { served <- c.sdk.Run(t.Context(), ours) }()
		wire, err := theirs.Connect(t.Context())
		require.NoError(t, err)
		ask := func(id int, method, params string) {
			t.Helper()
			is, err := jsonrpc.MakeID(float64(id))
			require.NoError(t, err)
			require.NoError(t, wire.Write(t.Context(), &jsonrpc.Request{ID: is, Method: method, Params: json.RawMessage(params)}))
		}
		answered := func() (id any) {
			t.Helper()
			m, err := wire.Read(t.Context())
			require.NoError(t, err)
			reply := m.(*jsonrpc.Response)
			require.NoError(t, reply.Error)
			return reply.ID.Raw()
		}
		for id := range polls {
			ask(id, "events/poll", `{"name":"job.finished","cursor":"x:0","_meta":`+ofRevision+`}`)
		}
		synctest.Wait()
		h.mu.Lock()
		require.Equal(t, maxReads, h.now)
		h.mu.Unlock()
		ask(polls, "tools/call", `{"name":"list","arguments":{},"_meta":`+ofRevision+`}`)
		require.EqualValues(t, polls, answered())
		close(h.gate)
		ids := map[any]bool{}
		for range polls {
			ids[answered()] = true
		}
		require.Len(t, ids, polls)
		require.Equal(t, maxReads, h.most)
		require.NoError(t, wire.Close())
		<-served
		c.leave()
	})
}
