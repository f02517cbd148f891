package main

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp/tasks"
)

// scribe is a client of MCP that writes what it likes.
type scribe struct {
	t      *testing.T
	server *process
	in     io.WriteCloser
	out    *bufio.Reader
	id     int
	meta   params // of each request
}

// said is a line of the server.
type said struct {
	ID     any
	Method string
	Params params
	Result params
	Error  *jsonrpc.Error
}

// scribe starts a server beside a daemon. Nothing is said yet.
func (p *process) scribe(flags ...string) *scribe {
	p.t.Helper()
	return p.server(flags...).scribed()
}

// scribed starts a server, and writes to it.
func (p *process) scribed() *scribe {
	p.t.Helper()
	in, err := p.StdinPipe()
	require.NoError(p.t, err)
	p.start()
	return &scribe{t: p.t, server: p, in: in, out: bufio.NewReaderSize(p.out, 1<<20)}
}

// initialized begins a session of the last revision that has them.
func (w *scribe) initialized() *scribe {
	w.t.Helper()
	r := w.ask("initialize", params{"protocolVersion": withSessions, "capabilities": params{}, "clientInfo": params{"name": "wire", "version": "1"}})
	require.Nil(w.t, r.Error)
	w.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

// taking is a client without sessions that takes tasks, and shows forms.
func (w *scribe) taking() *scribe {
	w.meta = params{sdk.MetaKeyProtocolVersion: withRounds, sdk.MetaKeyClientCapabilities: params{
		"elicitation": params{"form": params{}}, "extensions": params{tasks.Extension: params{}},
	}, sdk.MetaKeyClientInfo: params{"name": "wire", "version": "1"}}
	return w
}

// line writes a line.
func (w *scribe) line(text string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, text+"\n")
	require.NoError(w.t, err, w.server.err)
}

// hear reads a line.
func (w *scribe) hear() said {
	w.t.Helper()
	text, err := w.out.ReadBytes('\n')
	require.NoError(w.t, err, w.server.err)
	var s said
	require.NoError(w.t, json.Unmarshal(text, &s), string(text))
	return s
}

// ask sends a request, and waits for its answer.
func (w *scribe) ask(method string, p params) said {
	w.t.Helper()
	id := w.send(method, p)
	for {
		if s := w.hear(); s.ID == float64(id) && s.Method == "" {
			return s
		}
	}
}

// send sends a request, and gives its id.
func (w *scribe) send(method string, p params) int {
	w.t.Helper()
	w.id++
	if p == nil {
		p = params{}
	}
	if w.meta != nil {
		p["_meta"] = w.meta
	}
	b, err := json.Marshal(params{"jsonrpc": "2.0", "id": w.id, "method": method, "params": p})
	require.NoError(w.t, err)
	w.line(string(b))
	return w.id
}

// call calls a tool.
func (w *scribe) call(tool string, args params) said {
	w.t.Helper()
	return w.ask("tools/call", params{"name": tool, "arguments": args})
}

// text is what the answer of a tool says, and whether it refuses.
func (s said) text(t *testing.T) (string, bool) {
	t.Helper()
	require.Nil(t, s.Error)
	refused, _ := s.Result["isError"].(bool)
	return s.Result["content"].([]any)[0].(params)["text"].(string), refused
}
