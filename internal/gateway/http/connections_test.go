package http_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe"
	"troupe/client"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// More connections than the bound are told so, and serve again when some leave.
func TestFaultTooManyConnections(t *testing.T) {
	d := start(t, nil)
	require.NoError(t, d.client.Close())
	const many = 64
	var held []net.Conn
	for range many {
		conn, err := net.Dial("unix", d.socket)
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET /v1/health HTTP/1.1\r\nHost: t\r\n\r\n")
		require.NoError(t, err)
		held = append(held, conn)
		_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1")))
		require.NoError(t, err)
	}
	status, body := d.raw("GET", "/v1/health", "")
	require.Equal(t, 503, status, body)
	require.Contains(t, body, `"connections"`)
	for _, conn := range held {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool {
		status, _ := d.raw("GET", "/v1/health", "")
		return status == 200
	}, patience, patience/1000)
}

// Silent connections to the port shut out nobody at the socket, and do not last.
func TestFaultSilentConnectionsToThePort(t *testing.T) {
	const token = "0123456789012345678901234567890123456789012"
	d := start(t, func(_ *troupe.Options, o *http.Options) { o.Token = token })
	port := d.startTCP()
	for i := range 200 {
		conn, err := net.Dial("tcp", port)
		require.NoError(t, err)
		defer conn.Close()
		if i%2 == 0 { // without a token a body is not waited for, either
			_, err = io.WriteString(conn, "POST /v1/jobs HTTP/1.1\r\nHost: "+port+"\r\nContent-Length: 9\r\n\r\n")
			require.NoError(t, err)
		}
	}
	status, body := d.raw("GET", "/v1/health", "")
	require.Equal(t, 200, status, body)
	require.Eventually(t, func() bool {
		c, err := client.DialTCP(t.Context(), port, token)
		return err == nil && c.Close() == nil
	}, patience, patience/100)
}

// Who asks too often is told so, and when to ask again; the client does that.
func TestFaultTooManyRequests(t *testing.T) {
	d := start(t, nil)
	conn, err := net.Dial("unix", d.socket)
	require.NoError(t, err)
	defer conn.Close()
	replies, served := bufio.NewReader(conn), 0
	for {
		_, err := io.WriteString(conn, "GET /v1/health HTTP/1.1\r\nHost: t\r\n\r\n")
		require.NoError(t, err)
		reply, err := nethttp.ReadResponse(replies, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		if reply.StatusCode == 200 {
			served++
			continue
		}
		require.Equal(t, 429, reply.StatusCode)
		require.Equal(t, "1", reply.Header.Get("Retry-After"))
		require.Contains(t, string(body), `"code":"resource_exhausted","reason":"rate"`)
		break
	}
	require.GreaterOrEqual(t, served, 490) // some were asked when it started
	require.Equal(t, "hello", func() string {
		result, err := d.client.Run(t.Context(), messages.RunCommand{Text: "printf hello"}, client.WithText(100))
		require.NoError(t, err)
		return result.Text.Text
	}())
}

// exhausted is a listener of a process that has no descriptors for a while.
type exhausted struct {
	net.Listener
	left atomic.Int64
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// F34: without descriptors accept backs off, and goes on when there are some.
func TestFaultNoDescriptorsToAccept(t *testing.T) {
	d := start(t, nil)
	socket := filepath.Join(shortDir(t), "d", "s")
	l, err := http.Listen(socket)
	require.NoError(t, err)
	short := &exhausted{Listener: l}
	short.left.Store(5)
	var warned atomic.Int64
	server := http.New(http.Options{Node: http.AdaptNode(d.node), Log: slog.New(counter{&warned})})
	served := make(chan error, 1)
	go func() { served <- server.Serve(short) }()
	c, err := client.Dial(t.Context(), socket)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, int64(5), warned.Load(), "it said so, and did not spin")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, server.Close(ctx))
	require.NoError(t, errors.Join(<-served))
}

// counter is a log that counts its lines.
type counter struct{ n *atomic.Int64 }

func (c counter) Enabled(context.Context, slog.Level) bool  { return true }
func (c counter) Handle(context.Context, slog.Record) error { c.n.Add(1); return nil }
func (c counter) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c counter) WithGroup(string) slog.Handler             { return c }
