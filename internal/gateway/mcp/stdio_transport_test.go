package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// talk is a client on a pair of streams.
type talk struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

// wrote is a line of the server.
type wrote struct {
	ID    any
	Error *struct{ Code int }
}

// talks serves a client that writes what it likes.
func talks(t *testing.T) *talk {
	t.Helper()
	s := New(Options{Host: newNode(), Scope: "mcp"})
	fromClient, in, err := os.Pipe()
	require.NoError(t, err)
	out, toClient, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, out.SetReadDeadline(time.Now().Add(tooLong)))
	w := &talk{t, in, bufio.NewReader(out), make(chan error, 1)}
	go func() {
		err := s.Serve(t.Context(), fromClient, toClient)
		w.done <- err
	}()
	t.Cleanup(func() {
		_, _ = in.Close(), out.Close()
		s.Close()
	})
	return w
}

func (w *talk) write(text string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, text)
	require.NoError(w.t, err)
}

func (w *talk) hear() wrote {
	w.t.Helper()
	text, err := w.out.ReadBytes('\n')
	require.NoError(w.t, err)
	require.True(w.t, json.Valid(text), "%.200q", text)
	var s wrote
	require.NoError(w.t, json.Unmarshal(text, &s))
	require.Contains(w.t, string(text), `"id":`, "an error without one has the id null")
	return s
}

const ping = `{"jsonrpc":"2.0","id":"still","method":"ping"}`

// Whatever a line is, it is answered, once, and the next one is read.
func TestBadInputMCPLinesAreAnswered(t *testing.T) {
	w := talks(t)
	for _, c := range []struct {
		text string
		code int // 0: it is passed over
	}{
		{"{", -32700},
		{"\x00\x01", -32700},
		{"{}{}", -32700},
		{ping + ping, -32700},
		{ping + " x", -32700},
		{strings.Repeat("[", 100_000), -32700},
		{"null", -32600},
		{"7", -32600},
		{"{}", -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, -32600},
		{`{"jsonrpc":"` + strings.Repeat("x", 100_000) + `"}`, -32600},
		{"[]", -32600},
		{"[1]", -32600},
		{"[" + strings.Repeat("1,", 1<<20) + "1]", -32600},
		{"[" + ping + ",{}]", -32600},
		{"[" + strings.Repeat(ping+",", maxBatch) + ping + "]", -32600},
		{`"` + strings.Repeat("x", maxLine) + `"`, -32600},
		{strings.Repeat("x", 2*maxLine), -32600},
		{"", 0},
		{" \t\r", 0},
		{`[{"jsonrpc":"2.0","method":"notifications/a"},{"jsonrpc":"2.0","method":"notifications/b"}]`, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, 0},
	} {
		w.write(c.text + "\n")
		if c.code != 0 {
			said := w.hear()
			require.NotNil(t, said.Error, "%.100q", c.text)
			require.Equal(t, c.code, said.Error.Code, "%.100q", c.text)
			require.Nil(t, said.ID)
		}
		w.write(" " + ping + " \r\n")
		require.Equal(t, "still", w.hear().ID, "%.100q", c.text)
	}
	for id, code := range map[string]int{"9007199254740993": -32600, "-9007199254740993": -32600, "1.5": -32600, "1e3": -32600, "123456789012345678901": -32600, "9007199254740992": 0, "-7": 0, "0": 0} {
		w.write(strings.Replace(ping, `"still"`, id, 1) + "\n")
		text, err := w.out.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, text, `"id":`+id, "it is answered under its own id")
		require.Equal(t, code != 0, strings.Contains(text, "-32600"), text)
	}
	w.write(`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]` + "\n")
	require.ElementsMatch(t, []any{"a", "b"}, []any{w.hear().ID, w.hear().ID})
}

// A stream may end behind its last line without the end of that; one that ends within a
// request has broken.
func TestTheEndOfMCPLines(t *testing.T) {
	for text, err := range map[string]error{"": nil, ping: nil, ping[:len(ping)-1]: io.ErrUnexpectedEOF} {
		w := talks(t)
		w.write(text)
		require.NoError(t, w.in.Close())
		require.ErrorIs(t, <-w.done, err, "%q", text)
	}
}
