package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// asking is a server whose method ask asks its client.
func asking(t *testing.T) *peer {
	var p *peer
	p = serves(t, map[string]Handler{"echo": echo, "ask": func(ctx context.Context, params json.RawMessage) (any, error) {
		var answer struct{ OK bool }
		err := p.server.Call(ctx, "question", params, &answer)
		return answer.OK, err
	}})
	return p
}

// asked begins a request, and returns the id of the question that comes.
func (p *peer) asked(id int) string {
	p.t.Helper()
	p.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ask","params":{"x":1}}`, id))
	var q struct {
		ID, Method string
		Params     json.RawMessage
	}
	require.NoError(p.t, json.Unmarshal([]byte(p.line()), &q))
	require.Equal(p.t, "question", q.Method)
	require.JSONEq(p.t, `{"x":1}`, string(q.Params))
	return q.ID
}

func TestAServerAsksItsClient(t *testing.T) {
	t.Parallel()
	p := asking(t)
	first, second := p.asked(1), p.asked(2)
	require.NotEqual(t, first, second)
	p.says(`{"jsonrpc":"2.0","id":"` + second + `","result":{"ok":true}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":true}`, p.line())
	p.says(`{"jsonrpc":"2.0","id":"` + second + `","result":{"ok":false}}`) // again
	p.says(`{"jsonrpc":"2.0","id":"` + first + `","error":{"code":-1,"message":"no user is there"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no user is there"}}`, p.line())
	third := p.asked(3)
	p.says(`{"jsonrpc":"2.0","id":"` + third + `","result":"nonsense"}`)
	require.Contains(t, p.line(), `"id":3,"error":{"code":-32000`)
	fourth := p.asked(4)
	p.says(`{"jsonrpc":"2.0","id":"` + fourth + `","error":7}`)
	require.Contains(t, p.line(), `"id":4,"error":{"code":0,"message":"an error without a message"}`)
	require.Empty(t, p.server.caller.pending)
}

// A question has no answer when the client has ended its input, or the server ends.
func TestAQuestionEndsWithTheInput(t *testing.T) {
	t.Parallel()
	in, lines := io.Pipe()
	out, theirs := io.Pipe()
	var s *Server
	s = New(theirs, Options{Methods: map[string]Handler{"ask": func(ctx context.Context, _ json.RawMessage) (any, error) {
		err := s.Call(ctx, "question", nil, nil)
		require.ErrorIs(t, err, ErrLeft)
		require.ErrorIs(t, s.Call(ctx, "question", nil, nil), ErrLeft, "at once")
		return nil, err
	}}})
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), in) }()
	_, err := io.WriteString(lines, `{"jsonrpc":"2.0","id":1,"method":"ask"}`+"\n")
	require.NoError(t, err)
	p := &peer{t: t}
	p.out = newLineReader(out).in
	require.Contains(t, p.line(), `"method":"question"`)
	require.NoError(t, lines.Close())
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the client has left without an answer"}}`, p.line())
	require.NoError(t, <-served)

	q := asking(t)
	q.asked(1)
	q.stop()
	require.Contains(t, q.line(), "the server ends")
}
