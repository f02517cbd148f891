package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// codeliaServer prepares an RPC server of codelia beside a daemon.
func (p *process) codeliaServer(flags ...string) *process {
	p.t.Helper()
	q := programFor(p.t, long, append([]string{"rpc", "--dialect", "codelia"}, flags...)...)
	q.Dir, q.dir, q.Env = p.dir, p.dir, append(slices.Clip(p.Env), "TROUPE_NO_DAEMON=", "SHELL=/bin/bash")
	return q
}

// codeliaClient is a client of it that writes what it likes.
type codeliaClient struct {
	t      *testing.T
	server *process // nil: at a socket
	in     io.WriteCloser
	out    *bufio.Reader
	ids    int
	early  map[string]rpcSaid // responses that came while another one was waited for
}

// rpcSaid is what the server says.
type rpcSaid struct {
	ID     any
	Method string
	Params params
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// codelia starts a server beside a daemon, and speaks with it on its streams.
func (p *process) codelia(flags ...string) *codeliaClient {
	p.t.Helper()
	return p.codeliaServer(flags...).speaksCodelia()
}

// speaksCodelia starts a server.
func (p *process) speaksCodelia() *codeliaClient {
	p.t.Helper()
	in, err := p.StdinPipe()
	require.NoError(p.t, err)
	p.start()
	return &codeliaClient{t: p.t, server: p, in: in, out: bufio.NewReaderSize(p.out, 1<<20)}
}

// dialsCodelia connects to the socket of a server.
func dialsCodelia(t *testing.T, path string) *codeliaClient {
	t.Helper()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &codeliaClient{t: t, in: conn, out: bufio.NewReaderSize(conn, 1<<20)}
}

// line writes a line.
func (c *codeliaClient) line(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, text+"\n")
	require.NoError(c.t, err)
}

// hear reads a line as it is.
func (c *codeliaClient) hear() []byte {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil && c.server != nil {
		<-c.server.ended
		require.NoError(c.t, err, c.server.err)
	}
	require.NoError(c.t, err)
	return line
}

// send sends a request, and returns its id.
func (c *codeliaClient) send(method string, p any) string {
	c.t.Helper()
	c.ids++
	id := fmt.Sprint(c.ids)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(c.t, e.Encode(params{"jsonrpc": "2.0", "id": id, "method": method, "params": p}))
	_, err := c.in.Write(b.Bytes())
	require.NoError(c.t, err)
	return id
}

// response waits for the response to a request; others may come before it.
func (c *codeliaClient) response(id string) rpcSaid {
	c.t.Helper()
	for {
		if s, came := c.early[id]; came {
			delete(c.early, id)
			return s
		}
		line := c.hear()
		var s rpcSaid
		require.NoError(c.t, json.Unmarshal(line, &s), string(line))
		require.Empty(c.t, s.Method, string(line))
		if c.early == nil {
			c.early = map[string]rpcSaid{}
		}
		c.early[fmt.Sprint(s.ID)] = s
	}
}

// ask sends a request, and waits for its response.
func (c *codeliaClient) ask(method string, p any) rpcSaid {
	c.t.Helper()
	return c.response(c.send(method, p))
}

// gets is the result of a request that must succeed.
func (c *codeliaClient) gets(method string, p any) params {
	c.t.Helper()
	return c.ask(method, p).result(c.t)
}

func (s rpcSaid) result(t *testing.T) (result params) {
	t.Helper()
	require.Nil(t, s.Error)
	require.NoError(t, json.Unmarshal(s.Result, &result))
	return result
}

// leaves ends the input of the server, and waits for its end.
func (c *codeliaClient) leaves() {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	c.server.ends(0)
}
