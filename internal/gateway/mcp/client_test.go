package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/web"
	"troupe/messages"
)

// tooLong is beyond what anything here takes.
const tooLong = 20 * time.Second

// What nobody reads tells of no end.
func TestAnErrorThatNobodyReadsTellsNoEnds(t *testing.T) {
	c := entered(t, newNode())
	c.trackEnd("none")
	c.track("one")
	c.trackEnd("one")
	c.hasEnded(messages.Record{ID: "j1", UID: "one", State: messages.Finished, End: messages.End{Outcome: messages.Exited}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = c.failed(gone, messages.Invalid("x", "x is wrong")) // nobody reads it
	r, err := c.failed(t.Context(), messages.Invalid("x", "x is wrong"))
	require.NoError(t, err)
	require.Contains(t, r.Content[0].(*sdk.TextContent).Text, "j1")
	r, err = c.failed(t.Context(), messages.Invalid("x", "x is wrong"))
	require.NoError(t, err)
	require.NotContains(t, r.Content[0].(*sdk.TextContent).Text, "j1", "it was told")
}

// An end in a result that nobody reads is told by the next one.
func TestAnEndThatNobodyReadIsToldAgain(t *testing.T) {
	c := entered(t, newNode())
	c.track("one")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ended := messages.Record{ID: "j1", UID: "one", State: messages.Finished, End: messages.End{Outcome: messages.Exited}}
	_, err := c.answer(gone, answer{result: &core.Jobs{}, jobs: []messages.Record{ended}})
	require.Error(t, err)
	require.Empty(t, c.takeNotices(gone), "a call that was given up meanwhile")
	told := c.takeNotices(t.Context())
	require.Len(t, told, 1)
	require.Equal(t, messages.UID("one"), told[0].Job.UID)
}

// Nothing of a client that was never used stays with the server.
func TestADroppedClientLeavesNothing(t *testing.T) {
	s := New(Options{Host: newNode(), Many: true})
	defer s.Close()
	gone := make(chan struct{})
	runtime.SetFinalizer(s.newClient().ctx, func(context.Context) { close(gone) })
	for late := time.After(tooLong); ; {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-late:
			t.Fatal("it is still held")
		default:
			runtime.Gosched()
		}
	}
}

// stateless is a request of a client without a session.
func stateless(t *testing.T, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": firstWithRounds, ClientHeader: "somebody",
	} {
		r.Header.Set(key, value)
	}
	return r
}

// Clients without sessions end with the server, also those that have run nothing; no
// other comes behind that.
func TestClientsThatDidNothingEndWithTheServer(t *testing.T) {
	s := New(Options{Host: newNode(), Many: true})
	handler, endpoint := s.Handler(web.Options{})
	defer endpoint.Close()
	handler.ServeHTTP(httptest.NewRecorder(), stateless(t, "{"))
	c := s.shared["somebody"]
	require.NotNil(t, c)
	require.NoError(t, c.ctx.Err())
	s.Close()
	require.Error(t, c.ctx.Err())
	late := httptest.NewRecorder()
	handler.ServeHTTP(late, stateless(t, "{"))
	require.Equal(t, http.StatusBadRequest, late.Code)
	require.Empty(t, s.shared)
}

// A part of an output has at least one byte, and at most as many as are shown at a
// time; whoever asks for another is told what it may be.
func TestBadInputPartOfAnMCPOutput(t *testing.T) {
	n := newNode()
	c := entered(t, n)
	for _, query := range []string{"limit=0", "limit=-0", "limit=%2B0", "limit=-1", "limit=x", "limit=99999999999999999999", "offset=-1", "limit=0&limit=5"} {
		_, err := c.readOutput(t.Context(), &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: "artifact://j1/merged?" + query}})
		var refused *jsonrpc.Error
		require.ErrorAs(t, err, &refused, query)
		require.EqualValues(t, jsonrpc.CodeInvalidParams, refused.Code, query)
		require.Contains(t, refused.Message, strings.Split(query, "=")[0], query)
	}
	require.Empty(t, n.reads)
	for _, query := range []string{"", "?limit=", "?limit=99999999999", "?limit=1&limit=0", "?limit=%zz", "?LIMIT=0"} {
		_, err := c.readOutput(t.Context(), &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: "artifact://j1/merged" + query}})
		require.NoError(t, err, query)
	}
	for _, most := range n.reads {
		require.Positive(t, most)
		require.LessOrEqual(t, most, defaultPart)
	}
}

// A part that nobody has bounded is text if the output is, and an output of nothing is
// a text, too.
func TestAPartOfAnMCPOutputIsText(t *testing.T) {
	n := newNode()
	c := entered(t, n)
	for _, it := range []struct {
		query string
		bytes Bytes
		text  string
		blob  []byte
		next  int64
	}{
		{"", Bytes{}, "", []byte{}, 0},
		{"", Bytes{Data: []byte("é\xe2\x82"), Next: 4, Size: 9}, "é", nil, 2},
		{"", Bytes{Data: []byte("é\xe2\x82"), Next: 4, Size: 4}, "", []byte("é\xe2\x82"), 4},
		{"", Bytes{Data: []byte("\xe2\x82"), Next: 2, Size: 9}, "", []byte("\xe2\x82"), 2},
		{"", Bytes{Data: []byte("a\xe2\x82"), Next: 9, Size: 10, Gaps: []messages.OutputGap{{From: 2, To: 8}}}, "", []byte("a\xe2\x82"), 9},
		{"?limit=4", Bytes{Data: []byte("é\xe2\x82"), Next: 4, Size: 9}, "", []byte("é\xe2\x82"), 4},
	} {
		n.bytes = &it.bytes
		r, err := c.readOutput(t.Context(), &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: "artifact://j1/merged" + it.query}})
		require.NoError(t, err)
		got := r.Contents[0]
		require.Equal(t, it.text, got.Text, "%+v", it)
		require.Equal(t, it.blob, got.Blob, "%+v", it)
		require.Equal(t, it.next, got.Meta["troupe/next"], "%+v", it)
	}
}

// What was not kept is told with a part of an output, and what is around it is no line
// together.
func TestAPartOfAnMCPOutputNamesItsGaps(t *testing.T) {
	n := newNode()
	c := entered(t, n)
	n.bytes = &Bytes{Data: []byte("1\n23\n4"), Next: 100, Size: 100, Gaps: []messages.OutputGap{{From: 13, To: 90}, {From: 93, To: 99}}}
	r, err := c.readOutput(t.Context(), &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: "artifact://j1/merged?offset=10"}})
	require.NoError(t, err)
	require.Equal(t, "1\n2\n[… 77 bytes not kept …]\n3\n4\n[… 6 bytes not kept …]\n", r.Contents[0].Text)
	require.Equal(t, []core.Gap{{From: 13, To: 90}, {From: 93, To: 99}}, r.Contents[0].Meta["troupe/missing"])
	n.bytes = &Bytes{Data: []byte("end"), Next: 93, Size: 93, Gaps: []messages.OutputGap{{From: 10, To: 90}}}
	r, err = c.readOutput(t.Context(), &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: "artifact://j1/merged?offset=10"}})
	require.NoError(t, err)
	require.Equal(t, "\n[… 80 bytes not kept …]\nend", r.Contents[0].Text)
}

// The name of a stream that is none is shown in short.
func TestBadInputLongNameOfAnMCPStream(t *testing.T) {
	_, err := streamOf(messages.Record{ID: "j1", Output: []messages.StreamOutput{{Stream: messages.Merged}}}, strings.Repeat("x", 100_000))
	require.ErrorContains(t, err, "it has merged")
	require.Less(t, len(err.Error()), 1000)
}
