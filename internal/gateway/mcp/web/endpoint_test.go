package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

// shop is a server with two tools: echo answers, and hang waits for its context.
type shop struct {
	hanging chan struct{} // one for each call of hang that waits
	ended   chan error    // its context's, when it ended
}

func newShop() *shop { return &shop{make(chan struct{}, 8), make(chan error, 8)} }

func (s *shop) server(*http.Request) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddReceivingMiddleware(EndCalls)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		s.hanging <- struct{}{}
		<-ctx.Done()
		s.ended <- ctx.Err()
		return nil, nil, ctx.Err()
	})
	return server
}

// serve gives the URL at which the shop is served.
func serve(t *testing.T, s *shop, o Options) (*Endpoint, string) {
	t.Helper()
	e := Handler(s.server, o)
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	t.Cleanup(e.Close)
	return e, web.URL
}

func connect(t *testing.T, url, version string) (*mcp.ClientSession, error) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// Each revision is served at one address, and its tools can be called.
func TestEveryRevisionAtOneAddress(t *testing.T) {
	_, url := serve(t, newShop(), Options{})
	for _, version := range []string{"", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run("revision "+version, func(t *testing.T) {
			session, err := connect(t, url, version)
			require.NoError(t, err)
			defer session.Close()
			if version != "" {
				require.Equal(t, version, session.InitializeResult().ProtocolVersion)
			}
			require.Equal(t, version == "" || version == firstStateless, session.ID() == "", "only older revisions have sessions")
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hi"}})
			require.NoError(t, err)
			require.Equal(t, "hi", result.Content[0].(*mcp.TextContent).Text)
		})
	}
}

// One session too many is refused in words; the place of one that ended is free.
func TestBadInputTooManyMCPSessions(t *testing.T) {
	e, url := serve(t, newShop(), Options{MaxSessions: 2})
	first, err := connect(t, url, "2025-11-25")
	require.NoError(t, err)
	second, err := connect(t, url, "2025-11-25")
	require.NoError(t, err)
	defer second.Close()
	status, body := post(t, url, "", initialize, "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"too many sessions are open: end one with DELETE, then try again"}}`, body)

	stateless, err := connect(t, url, firstStateless)
	require.NoError(t, err, "a revision without sessions needs no place")
	require.NoError(t, stateless.Close())

	life := e.sessions.life(first.ID())
	require.NoError(t, first.Close())
	require.NoError(t, life.Wait())
	require.Eventually(t, func() bool { return e.sessions.count() == 1 }, mcptest.Patience, time.Millisecond)
	third, err := connect(t, url, "2025-11-25")
	require.NoError(t, err)
	require.NoError(t, third.Close())
}

// A session that nobody uses ends.
func TestIdleMCPSessionEnds(t *testing.T) {
	e, url := serve(t, newShop(), Options{IdleSession: 500 * time.Millisecond})
	id := begin(t, url)
	life := e.sessions.life(id)
	require.NotNil(t, life)
	require.NoError(t, life.Wait())
	status, _ := post(t, url, id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "2025-11-25")
	require.Equal(t, http.StatusNotFound, status)
}

// A session whose client only listens is in use, however long it says nothing.
func TestListeningMCPSessionIsNotIdle(t *testing.T) {
	e, url := serve(t, newShop(), Options{})
	listener, err := connect(t, url, "2025-11-25")
	require.NoError(t, err)
	defer listener.Close()
	require.Eventually(t, func() bool { return e.sessions.busy(listener.ID()) == 1 }, mcptest.Patience, time.Millisecond, "its GET is open")
	e.sessions.expire(listener.ID())
	_, err = listener.ListTools(t.Context(), nil)
	require.NoError(t, err)
}

// A body beyond the bound is refused, whether or not its headers tell where it goes.
func TestBadInputLongMCPBody(t *testing.T) {
	_, url := serve(t, newShop(), Options{MaxBody: 1000})
	long := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` + strings.Repeat("y", 2000) + `"}}`
	for _, version := range []string{"", "2025-11-25", firstStateless} {
		status, _ := post(t, url, "", long, version)
		require.Equal(t, http.StatusRequestEntityTooLarge, status, version)
	}
}

// An id that would not come back as it was is refused under that id, of every revision and
// in a batch, too: its response would be nobody's.
func TestBadInputMCPIDs(t *testing.T) {
	_, url := serve(t, newShop(), Options{})
	id := begin(t, url)
	for version, session := range map[string]string{"": "", "2025-06-18": id, "2025-03-26": id, firstStateless: ""} {
		for _, bad := range []string{"1795714103123456789", "-9007199254740993", "1.5", "1e3"} {
			one := `{"jsonrpc":"2.0","id":` + bad + `,"method":"ping"}`
			for _, body := range []string{one, `[{"jsonrpc":"2.0","id":1,"method":"ping"},` + one + `]`} {
				status, text := post(t, url, session, body, version)
				require.Equal(t, http.StatusBadRequest, status, text)
				require.Contains(t, text, `"id":`+bad+`,`)
				require.Contains(t, text, "-32600")
			}
		}
	}
	for _, good := range []string{"9007199254740992", "-7", `"1.5"`} {
		status, text := post(t, url, id, `{"jsonrpc":"2.0","id":`+good+`,"method":"ping"}`, "2025-06-18")
		require.Equal(t, http.StatusOK, status, text)
		require.Contains(t, text, `"id":`+good+`,`)
	}
}

// A Host of another name is refused on a loopback address, for every revision.
func TestSecurityMCPHost(t *testing.T) {
	_, url := serve(t, newShop(), Options{})
	for _, version := range []string{"", "2025-11-25", firstStateless} {
		req := request(t, url, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, version)
		req.Host = "evil.example"
		answer, _ := do(t, req)
		require.Equal(t, http.StatusForbidden, answer.StatusCode, version)
	}
}

// A call ends when its session is deleted, when its request hangs up where there
// are no sessions, and when the endpoint is closed.
func TestMCPCallsEndWithTheirSession(t *testing.T) {
	for name, end := range map[string]func(e *Endpoint, url, id string, hangUp context.CancelFunc){
		"2025-11-25 deleted": func(_ *Endpoint, url, id string, _ context.CancelFunc) {
			r := request(t, url, id, "", "2025-11-25")
			r.Method = http.MethodDelete
			answer, _ := do(t, r)
			require.Equal(t, http.StatusNoContent, answer.StatusCode)
		},
		"2025-11-25 closed":  func(e *Endpoint, _, _ string, _ context.CancelFunc) { e.Close() },
		"2026-07-28 hung up": func(_ *Endpoint, _, _ string, hangUp context.CancelFunc) { hangUp() },
		"2026-07-28 closed":  func(e *Endpoint, _, _ string, _ context.CancelFunc) { e.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop()
			e, url := serve(t, s, Options{})
			client, err := connect(t, url, strings.Fields(name)[0])
			require.NoError(t, err)
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				_, _ = client.CallTool(ctx, &mcp.CallToolParams{Name: "hang"})
			}()
			mcptest.Within(t, s.hanging)
			end(e, url, client.ID(), hangUp)
			require.ErrorIs(t, mcptest.Within(t, s.ended), context.Canceled)
			hangUp()
			mcptest.Within(t, answered)
			_ = client.Close() // of a session that may be gone
		})
	}
}

// After Close no session begins.
func TestClosedMCPEndpointRefuses(t *testing.T) {
	e, url := serve(t, newShop(), Options{})
	e.Close()
	_, err := connect(t, url, "2025-11-25")
	require.Error(t, err)
}

// A server that is not given is a refusal, not a panic.
func TestMCPWithoutServer(t *testing.T) {
	e := Handler(func(*http.Request) *mcp.Server { return nil }, Options{})
	defer e.Close()
	for _, version := range []string{"", "2025-11-25", firstStateless} {
		w := httptest.NewRecorder()
		r := request(t, "http://127.0.0.1/", "", initialize, version)
		e.ServeHTTP(w, r)
		require.Equal(t, http.StatusBadRequest, w.Code, version)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func request(t *testing.T, url, session, body, version string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	return r
}

// do gives the answer, whose body is text.
func do(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer, string(body)
}

func post(t *testing.T, url, session, body, version string) (int, string) {
	t.Helper()
	answer, text := do(t, request(t, url, session, body, version))
	return answer.StatusCode, text
}

// begin opens a session that nobody listens to.
func begin(t *testing.T, url string) string {
	t.Helper()
	answer, _ := do(t, request(t, url, "", initialize, ""))
	return answer.Header.Get("Mcp-Session-Id")
}

func (s *sessions) life(id string) *mcp.ServerSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.open[id]; it != nil {
		return it.life
	}
	return nil
}

func (s *sessions) busy(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.open[id]; it != nil {
		return it.busy
	}
	return 0
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) + s.opening
}
