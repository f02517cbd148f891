package events

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

// The revisions of the protocol: the last one with sessions, and the one without.
const (
	withSessions    = "2025-11-25"
	withoutSessions = "2026-07-28"
)

const maxBody = 64 << 10

// gauge is a source of numbered events, whose facts the test records.
type gauge struct {
	mu       sync.Mutex
	first    int // the oldest number that is held
	last     int
	old      int   // numbers up to this one are an hour old
	failure  error // of the next reads
	reads    int
	checks   int
	gate     chan struct{} // closed when the source may be asked; nil: from the beginning
	follows  int
	watchers map[chan struct{}]bool
}

func newGauge() *gauge { return &gauge{first: 1, watchers: map[chan struct{}]bool{}} }

// Types implements Source.
func (*gauge) Types() []Type {
	return []Type{{Name: "tick", Description: "A clock has ticked.", InputSchema: json.RawMessage(`{"type":"object"}`), PayloadSchema: json.RawMessage(`{"type":"object"}`)}}
}

// Check implements Source.
func (g *gauge) Check(_ context.Context, _ mcp.Request, q Query) (Query, error) {
	g.mu.Lock()
	g.checks++
	g.mu.Unlock()
	if g.gate != nil {
		<-g.gate
	}
	if _, err := strconv.Atoi("0" + q.Cursor); err != nil {
		return q, InvalidParams("invalid cursor")
	}
	return q, nil
}

// Read implements Source.
func (g *gauge) Read(_ context.Context, q Query) (Page, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reads++
	if g.failure != nil {
		return Page{}, g.failure
	}
	after, _ := strconv.Atoi("0" + q.Cursor)
	if q.Cursor == "" {
		after = g.last
	}
	p := Page{Truncated: after+1 < g.first}
	after = max(after, g.first-1)
	p.Start = strconv.Itoa(after)
	for after < g.last && len(p.Events) < q.Max {
		after++
		at := time.Now()
		if after <= g.old {
			at = at.Add(-time.Hour)
		}
		p.Events = append(p.Events, Event{ID: fmt.Sprint("tick.", after), At: at, Data: map[string]int{"n": after}, Cursor: strconv.Itoa(after)})
	}
	p.Next, p.More = strconv.Itoa(after), after < g.last
	return p, nil
}

// Watch implements Source.
func (g *gauge) Watch() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watchers[c] = true
	return c, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.watchers, c)
	}
}

// Follow implements Source.
func (g *gauge) Follow(context.Context, Query) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.follows++
	return nil
}

// changes changes the source, and lets the watchers know.
func (g *gauge) changes(how func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	how()
	for w := range g.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// tick records n events.
func (g *gauge) tick(n int) { g.changes(func() { g.last += n }) }

func (g *gauge) watched() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.watchers)
}

func (g *gauge) checked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checks
}

func (g *gauge) read() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reads
}

// heard is a message of the server.
type heard struct {
	ID     any
	Method string
	Params map[string]any
	Result map[string]any
	Error  *jsonrpc.Error
}

// line is a client that writes its own messages.
type line struct {
	t        *testing.T
	revision string
	n        int
	send     func(message []byte) // over HTTP the responses come to all, too
	cancel   func(id int)         // as this transport does
	all      chan heard
}

// ask sends a request and returns its id.
func (l *line) ask(method string, params map[string]any) int {
	l.t.Helper()
	l.n++
	if params == nil {
		params = map[string]any{}
	}
	if l.revision >= withoutSessions {
		params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: l.revision, mcp.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{Extension: map[string]any{}}}}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": l.n, "method": method, "params": params})
	require.NoError(l.t, err)
	l.send(text)
	return l.n
}

// hear returns the next message.
func (l *line) hear() heard {
	l.t.Helper()
	return mcptest.Within(l.t, l.all)
}

// answer is the reply to a request, while no stream is open.
func (l *line) answer(method string, params map[string]any) heard {
	l.t.Helper()
	id := l.ask(method, params)
	h := l.hear()
	require.EqualValues(l.t, id, h.ID, h)
	return h
}

// result is a reply that is no error.
func (l *line) result(method string, params map[string]any) map[string]any {
	l.t.Helper()
	h := l.answer(method, params)
	require.Nil(l.t, h.Error)
	require.Equal(l.t, "complete", h.Result["resultType"])
	return h.Result
}

// notice is the next notification of a stream.
func (l *line) notice(method string, stream int) map[string]any {
	l.t.Helper()
	h := l.hear()
	require.Equal(l.t, "notifications/events/"+method, h.Method, h)
	require.Equal(l.t, map[string]any{mcp.MetaKeySubscriptionID: float64(stream)}, h.Params["_meta"])
	return h.Params
}

// begin opens the session of a revision that has them, and checks the capability.
func (l *line) begin() {
	l.t.Helper()
	var found heard
	if l.revision >= withoutSessions {
		found = l.answer("server/discover", nil)
	} else {
		found = l.answer("initialize", map[string]any{"protocolVersion": l.revision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "line", "version": "1"}})
		l.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	require.Nil(l.t, found.Error)
	extensions := found.Result["capabilities"].(map[string]any)["extensions"].(map[string]any)
	require.Equal(l.t, map[string]any{}, extensions[Extension], "there are no list changes")
}

func serving(t *testing.T, g *gauge, o Options) (*mcp.Server, *Relay) {
	t.Helper()
	o.Source, o.Relay = g, NewRelay()
	server := mcp.NewServer(&mcp.Implementation{Name: "gauge", Version: "1"}, nil)
	require.NoError(t, Serve(server, o))
	return server, o.Relay
}

// overPipe is a client over one connection, as stdio is.
func overPipe(t *testing.T, g *gauge, revision string, o Options) *line {
	t.Helper()
	server, relay := serving(t, g, o)
	ours, theirs := mcp.NewInMemoryTransports()
	session, err := server.Connect(t.Context(), relay.Transport(ours), nil)
	require.NoError(t, err)
	conn, err := theirs.Connect(t.Context())
	require.NoError(t, err)
	l := &line{t: t, revision: revision, all: make(chan heard)}
	over := make(chan struct{})
	t.Cleanup(func() {
		close(over)
		_ = conn.Close()
		_ = session.Close()
	})
	l.send = func(message []byte) {
		m, err := jsonrpc.DecodeMessage(message)
		require.NoError(t, err)
		require.NoError(t, conn.Write(t.Context(), m))
	}
	l.cancel = func(id int) {
		l.send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)))
	}
	go func() {
		for {
			m, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			text, _ := jsonrpc.EncodeMessage(m)
			var h heard
			_ = json.Unmarshal(text, &h)
			select {
			case l.all <- h:
			case <-over:
				return
			}
		}
	}()
	l.begin()
	return l
}

// overHTTP is a client over streamable HTTP. It cancels a stream by its connection.
func overHTTP(t *testing.T, g *gauge, revision string, o Options) *line {
	t.Helper()
	server, relay := serving(t, g, o)
	options := &mcp.StreamableHTTPOptions{Stateless: revision >= withoutSessions, PropagateRequestCancellation: true}
	if !options.Stateless {
		options.EventStore = mcp.NewMemoryEventStore(nil)
	}
	web := httptest.NewServer(relay.Handler(maxBody, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)))
	t.Cleanup(web.Close)
	l := &line{t: t, revision: revision, all: make(chan heard)}
	ctx, end := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	t.Cleanup(func() {
		end()
		reading.Wait()
	})
	open, session := map[int]context.CancelFunc{}, ""
	l.send = func(message []byte) {
		var m struct {
			ID     int
			Method string
		}
		require.NoError(t, json.Unmarshal(message, &m))
		on, cancel := context.WithCancel(ctx)
		open[m.ID] = cancel
		answer, err := http.DefaultClient.Do(l.request(on, web.URL, m.Method, session, message))
		require.NoError(t, err)
		if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		reading.Go(func() {
			defer answer.Body.Close()
			lines := bufio.NewScanner(answer.Body)
			for lines.Scan() {
				text := strings.TrimPrefix(lines.Text(), "data: ")
				var h heard
				if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &h) != nil {
					continue
				}
				select {
				case l.all <- h:
				case <-on.Done():
					return
				}
			}
		})
	}
	l.cancel = func(id int) { open[id]() }
	l.begin()
	return l
}

func (l *line) request(ctx context.Context, url, method, session string, body []byte) *http.Request {
	l.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	require.NoError(l.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case l.revision >= withoutSessions:
		r.Header.Set("Mcp-Protocol-Version", l.revision)
		r.Header.Set("Mcp-Method", method)
	case session != "":
		r.Header.Set("Mcp-Protocol-Version", l.revision)
		r.Header.Set("Mcp-Session-Id", session)
	}
	return r
}

// everywhere runs a test over each transport, in each revision.
func everywhere(t *testing.T, o Options, test func(t *testing.T, g *gauge, l *line)) {
	t.Helper()
	for name, over := range map[string]func(*testing.T, *gauge, string, Options) *line{"pipe": overPipe, "HTTP": overHTTP} {
		for _, revision := range []string{withSessions, withoutSessions} {
			t.Run(name+" "+revision, func(t *testing.T) {
				g := newGauge()
				test(t, g, over(t, g, revision, o))
			})
		}
	}
}
