package events

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/mcptest"
)

type object = map[string]any

// numbers are the numbers of events.
func numbers(page object) (all []int) {
	for _, e := range page["events"].([]any) {
		all = append(all, int(e.(object)["data"].(object)["n"].(float64)))
	}
	return all
}

// The types of events are listed, with the two modes in which each is delivered.
func TestEventTypesAreListed(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, _ *gauge, l *line) {
		for _, params := range []object{nil, {"cursor": nil}, {"cursor": ""}} {
			types := l.result(listMethod, params)["events"].([]any)
			require.Equal(t, []any{object{
				"name": "tick", "description": "A clock has ticked.", "delivery": []any{"poll", "push"},
				"inputSchema": object{"type": "object"}, "payloadSchema": object{"type": "object"},
			}}, types)
		}
	})
}

// A client polls from now on, gets each event once, in pages, and gets the position to go on from
// when nothing has happened, too.
func TestAClientPolls(t *testing.T) {
	everywhere(t, Options{MaxEvents: 3}, func(t *testing.T, g *gauge, l *line) {
		g.tick(5)
		now := l.result(pollMethod, object{"name": "tick", "cursor": nil})
		require.Empty(t, numbers(now))
		delete(now, "_meta") // of the server
		require.Equal(t, object{"resultType": "complete", "events": []any{}, "cursor": "5", "truncated": false, "hasMore": false, "nextPollMs": 1000.0}, now)

		g.tick(5)
		first := l.result(pollMethod, object{"name": "tick", "cursor": "5", "arguments": object{}, "maxEvents": 100})
		require.Equal(t, []int{6, 7, 8}, numbers(first))
		require.Equal(t, true, first["hasMore"])
		require.Equal(t, false, first["truncated"])
		one := first["events"].([]any)[0].(object)
		at, err := time.Parse(time.RFC3339, one["timestamp"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), at, time.Minute)
		delete(one, "timestamp")
		require.Equal(t, object{"eventId": "tick.6", "name": "tick", "data": object{"n": 6.0}}, one)

		rest := l.result(pollMethod, object{"name": "tick", "cursor": first["cursor"], "maxEvents": 2})
		require.Equal(t, []int{9, 10}, numbers(rest))
		require.Equal(t, false, rest["hasMore"])
		none := l.result(pollMethod, object{"name": "tick", "cursor": rest["cursor"]})
		require.Equal(t, "10", none["cursor"])
	})
}

// What is not held any more, or is too old for the client, is reported as a gap, and the
// client goes on after it.
func TestAGapIsReported(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, g *gauge, l *line) {
		g.changes(func() { g.last, g.first, g.old = 9, 5, 7 })
		lost := l.result(pollMethod, object{"name": "tick", "cursor": "2"})
		require.Equal(t, []int{5, 6, 7, 8, 9}, numbers(lost))
		require.Equal(t, true, lost["truncated"])
		for _, cursor := range []string{"4", "6"} {
			recent := l.result(pollMethod, object{"name": "tick", "cursor": cursor, "maxAgeMs": 60_000})
			require.Equal(t, []int{8, 9}, numbers(recent))
			require.Equal(t, true, recent["truncated"])
		}
		require.Equal(t, false, l.result(pollMethod, object{"name": "tick", "cursor": "7", "maxAgeMs": 60_000})["truncated"])
		require.Equal(t, false, l.result(pollMethod, object{"name": "tick", "cursor": "4", "maxAgeMs": int64(1) << 62})["truncated"])
		require.Equal(t, "9", l.result(pollMethod, object{"name": "tick", "maxAgeMs": 0})["cursor"], "now is now")
		small := l.result(pollMethod, object{"name": "tick", "cursor": "4", "maxEvents": 1, "maxAgeMs": 60_000})
		require.Equal(t, []int{8}, numbers(small), "pages without an event are passed over")
		require.Equal(t, true, small["truncated"])
		require.Equal(t, true, small["hasMore"])
	})
}

// A stream confirms itself, delivers what happened after its cursor, then what happens, each
// event with its cursor, and ends when the client cancels it. Another one goes on.
func TestAClientStreams(t *testing.T) {
	everywhere(t, Options{MaxEvents: 2}, func(t *testing.T, g *gauge, l *line) {
		g.tick(5)
		id := l.ask(streamMethod, object{"name": "tick", "cursor": "2"})
		active := l.notice("active", id)
		require.Equal(t, "2", active["cursor"])
		require.Equal(t, false, active["truncated"])
		for n := 3; n <= 8; n++ {
			if n == 6 {
				g.tick(3)
			}
			e := l.notice("event", id)
			require.Equal(t, fmt.Sprint(n), e["cursor"])
			require.Equal(t, fmt.Sprint("tick.", n), e["eventId"])
			require.Equal(t, "tick", e["name"])
			require.Equal(t, object{"n": float64(n)}, e["data"])
			require.NotContains(t, e, "truncated")
		}
		other := l.ask(streamMethod, object{"name": "tick"})
		require.Equal(t, "8", l.notice("active", other)["cursor"])
		require.Equal(t, 2, g.watched())
		l.cancel(id)
		require.Eventually(t, func() bool { return g.watched() == 1 }, mcptest.Patience, time.Millisecond, "its connection or its request has ended")
		g.tick(1)
		for { // over a pipe the end of the first stream may come first
			h := l.hear()
			if h.Method == "" {
				require.EqualValues(t, id, h.ID)
				continue
			}
			require.Equal(t, object{mcp.MetaKeySubscriptionID: float64(other)}, h.Params["_meta"])
			require.Equal(t, "9", h.Params["cursor"])
			break
		}
		l.cancel(other)
		require.Eventually(t, func() bool { return g.watched() == 0 }, mcptest.Patience, time.Millisecond)
	})
}

// A quiet stream sends heartbeats, whose cursor advances. A gap, and a source that fails for a
// while, end no stream.
func TestAStreamGoesOn(t *testing.T) {
	everywhere(t, Options{Heartbeat: 10 * time.Millisecond}, func(t *testing.T, g *gauge, l *line) {
		g.tick(3)
		id := l.ask(streamMethod, object{"name": "tick"})
		l.notice("active", id)
		require.Equal(t, "3", l.notice("heartbeat", id)["cursor"])

		next := func(method string) object { // beside heartbeats
			for {
				h := l.hear()
				if h.Method != heartbeatNotice || method == "heartbeat" {
					require.Equal(t, "notifications/events/"+method, h.Method)
					return h.Params
				}
			}
		}
		g.changes(func() { g.last, g.first = 9, 9 })
		gap := next("active")
		require.Equal(t, true, gap["truncated"])
		require.Equal(t, "8", gap["cursor"])
		require.Equal(t, "9", next("event")["cursor"])

		g.changes(func() { g.failure = errors.New("the source is away") })
		require.Equal(t, object{"code": -32603.0, "message": "the source is away"}, next("error")["error"])
		require.Equal(t, "9", next("heartbeat")["cursor"], "it is reported once")
		require.Equal(t, "9", next("heartbeat")["cursor"])
		g.mu.Lock()
		g.failure, g.last = nil, 10 // a heartbeat notices it
		g.mu.Unlock()
		require.Equal(t, "10", next("event")["cursor"])
		require.Equal(t, "10", next("heartbeat")["cursor"])
	})
}

// A stream whose client does not read holds one page.
func TestAStreamWaitsForItsClient(t *testing.T) {
	for _, revision := range []string{withSessions, withoutSessions} {
		g := newGauge()
		l := overPipe(t, g, revision, Options{MaxEvents: 4})
		g.tick(1000)
		id := l.ask(streamMethod, object{"name": "tick", "cursor": "0"})
		l.notice("active", id)
		for n := 1; n <= 1000; n++ {
			require.Equal(t, fmt.Sprint(n), l.notice("event", id)["cursor"])
			require.LessOrEqual(t, g.read(), (n+1)/4+2, "pages are read as the client takes events")
		}
	}
}

// A request that no source can answer is an error with its code, and opens no stream.
func TestBadInputMCPEvents(t *testing.T) {
	everywhere(t, Options{MaxStreams: 1}, func(t *testing.T, g *gauge, l *line) {
		for _, method := range []string{pollMethod, streamMethod} {
			for text, params := range map[string]object{
				"-32023 unknown event type \"nothing\"": {"name": "nothing"},
				"-32023 unknown event type \"\"":        {},
				"-32602 arguments must be an object":    {"name": "tick", "arguments": []int{1}},
				"-32602 invalid cursor":                 {"name": "tick", "cursor": "x"},
				"-32602 cursor is empty":                {"name": "tick", "cursor": ""},
				"-32602 maxAgeMs must not":              {"name": "tick", "cursor": "0", "maxAgeMs": -1},
				"-32602 maxEvents must be":              {"name": "tick", "maxEvents": 0},
			} {
				h := l.answer(method, params)
				require.NotNil(t, h.Error, params)
				require.Contains(t, fmt.Sprint(h.Error.Code, " ", h.Error.Message), text)
			}
			require.NotNil(t, l.answer(method, object{"name": 5}).Error)
			require.NotNil(t, l.answer(method, object{"name": "tick", "cursor": 5}).Error)
		}
		require.JSONEq(t, `{"kind":"event"}`, string(l.answer(pollMethod, object{"name": "nothing"}).Error.Data))
		require.EqualValues(t, -32602, l.answer(listMethod, object{"cursor": "2"}).Error.Code)
		require.Zero(t, g.watched())

		webhook := object{"name": "tick", "delivery": object{"mode": "webhook", "url": "https://example.org", "secret": "whsec_" + strings.Repeat("A", 32)}}
		refused := l.answer(subscribeMethod, webhook).Error
		require.EqualValues(t, -32026, refused.Code)
		require.JSONEq(t, `{"feature":"deliveryMode","value":"webhook"}`, string(refused.Data))
		require.EqualValues(t, -32023, l.answer(subscribeMethod, object{"name": "nothing"}).Error.Code)
		require.JSONEq(t, `{"kind":"subscription"}`, string(l.answer(unsubscribeMethod, webhook).Error.Data))

		l.notice("active", l.ask(streamMethod, object{"name": "tick"}))
		full := l.answer(streamMethod, object{"name": "tick"}).Error
		require.EqualValues(t, -32025, full.Code)
		require.JSONEq(t, `{"limit":"subscriptions","max":1}`, string(full.Data))
		require.Equal(t, 1, g.watched())
	})
}

// Streams count from their first request to the source on: one above the bound asks it nothing.
func TestAStreamTooManyAsksNothing(t *testing.T) {
	g := newGauge()
	g.gate = make(chan struct{})
	l := overPipe(t, g, withSessions, Options{MaxStreams: 2})
	for range 2 {
		l.ask(streamMethod, object{"name": "tick"})
	}
	require.Eventually(t, func() bool { return g.checked() == 2 }, mcptest.Patience, time.Millisecond)
	full := l.answer(streamMethod, object{"name": "tick"}).Error
	require.NotNil(t, full)
	require.EqualValues(t, -32025, full.Code)
	close(g.gate)
	for range 2 {
		require.Equal(t, activeNotice, l.hear().Method)
	}
	require.Equal(t, 2, g.checked())
}

// Parameters that are no object are refused, and the session goes on.
func TestBadInputMCPEventsParams(t *testing.T) {
	l := overPipe(t, newGauge(), withSessions, Options{})
	for _, method := range []string{pollMethod, streamMethod, subscribeMethod} {
		for _, params := range []string{``, `,"params":null`, `,"params":[]`, `,"params":"x"`, `,"params":{"name":"nothing","_meta":5}`} {
			l.n++
			l.send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q%s}`, l.n, method, params)))
			require.NotNil(t, l.hear().Error, method+params)
		}
	}
	require.Equal(t, "0", l.result(pollMethod, object{"name": "tick"})["cursor"])
}

// The client of the SDK lists and polls as well.
func TestAClientOfTheSDKPolls(t *testing.T) {
	g := newGauge()
	server, relay := serving(t, g, Options{})
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), relay.Transport(ours), nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	require.NoError(t, mcp.AddSendingCustomMethod[*listParams, *listResult](client, listMethod))
	require.NoError(t, mcp.AddSendingCustomMethod[*pollParams, *pollResult](client, pollMethod))
	session, err := client.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	defer session.Close()
	require.Contains(t, session.InitializeResult().Capabilities.Extensions, Extension)
	types, err := mcp.CallCustomMethod[*listParams, *listResult](t.Context(), session, listMethod, &listParams{})
	require.NoError(t, err)
	cursor, got := "0", []string(nil)
	g.tick(250)
	for more := true; more; {
		p := &pollParams{}
		p.Name, p.Cursor = types.Events[0].Name, &cursor
		page, err := mcp.CallCustomMethod[*pollParams, *pollResult](t.Context(), session, pollMethod, p)
		require.NoError(t, err)
		for _, e := range page.Events {
			got = append(got, e.ID)
		}
		cursor, more = page.Cursor, page.HasMore
	}
	require.Len(t, got, 250)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(got))), 250)
}
