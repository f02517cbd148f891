package mcp

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// A request that was cancelled has no response; every other one has, also if its id was
// cancelled before it came or behind its response.
func TestACancelledRequestHasNoResponse(t *testing.T) {
	fromClient, in, err := os.Pipe()
	require.NoError(t, err)
	out, toClient, err := os.Pipe()
	require.NoError(t, err)
	c, err := newStdioTransport(fromClient, toClient).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _, _, _ = in.Close(), out.Close(), c.Close() })
	heard := func(line string) {
		_, err := in.WriteString(line + "\n")
		require.NoError(t, err)
		_, err = c.Read(t.Context())
		require.NoError(t, err)
	}
	asks := func(id, method string) { heard(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`) }
	cancels := func(id string) {
		heard(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	}
	answers := func(id any) {
		whose, err := jsonrpc.MakeID(id)
		require.NoError(t, err)
		require.NoError(t, c.Write(t.Context(), &jsonrpc.Response{ID: whose, Result: json.RawMessage("{}")}))
	}
	lines := bufio.NewScanner(out)
	tells := func(want any) {
		t.Helper()
		require.True(t, lines.Scan())
		var said struct{ ID any }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &said))
		require.Equal(t, want, said.ID)
	}
	asks("0", "initialize")
	cancels("0")
	cancels("8")
	for _, id := range []string{"7", `"x"`, "8"} {
		asks(id, "ping")
	}
	for _, id := range []string{"7", `"x"`, "99", "null", "{}", `"7"`} {
		cancels(id)
	}
	for _, id := range []any{0., 7., "x", 8.} {
		answers(id)
	}
	tells(0.)
	tells(8.)
	asks("7", "ping")
	cancels("8")
	answers(7.)
	tells(7.)
}

// A request with the id of one that is under way is refused, also if that was cancelled:
// nobody would answer it. Behind the response the id is free.
func TestAnIDIsUsedOnceAtATime(t *testing.T) {
	fromClient, in, err := os.Pipe()
	require.NoError(t, err)
	out, toClient, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, out.SetReadDeadline(time.Now().Add(tooLong)))
	c, err := newStdioTransport(fromClient, toClient).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _, _, _ = in.Close(), out.Close(), c.Close() })
	said := bufio.NewScanner(out)
	for _, id := range []string{"7", `"x"`} {
		ask := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n"
		for _, cancel := range []string{"", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n"} {
			_, err := in.WriteString(ask + cancel + ask + ask)
			require.NoError(t, err)
			asked, err := c.Read(t.Context())
			require.NoError(t, err)
			if cancel != "" {
				_, err = c.Read(t.Context())
				require.NoError(t, err)
			}
			for range 2 {
				require.True(t, said.Scan())
				require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600,"message":"a request with this id is under way; give each one of its own"}}`, said.Text())
			}
			require.NoError(t, c.Write(t.Context(), &jsonrpc.Response{ID: asked.(*jsonrpc.Request).ID, Result: json.RawMessage("{}")}))
			require.True(t, cancel != "" || said.Scan())
		}
	}
}
