package jsonrpc

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// peer is the client of a server under test, over a pipe without a buffer.
type peer struct {
	t      *testing.T
	conn   net.Conn
	out    *bufio.Reader
	server *Server
	served chan error
	stop   context.CancelFunc
}

// serves starts a server with these methods.
func serves(t *testing.T, methods map[string]Handler) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &peer{t: t, conn: theirs, out: bufio.NewReaderSize(theirs, 1<<20), server: New(ours, Options{Methods: methods}), served: make(chan error, 1), stop: cancel}
	go func() {
		p.served <- p.server.Serve(ctx, ours)
		_ = ours.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = theirs.Close()
	})
	return p
}

// says writes lines beside the test, which reads.
func (p *peer) says(lines ...string) *peer {
	go func() { _, _ = io.WriteString(p.conn, strings.Join(lines, "\n")+"\n") }()
	return p
}

// line reads a line.
func (p *peer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSuffix(line, "\n")
}

// echo answers with its parameters.
func echo(_ context.Context, params json.RawMessage) (any, error) { return params, nil }
