package http_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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

	"troupe/client"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// Connections above the limit wait, and idle ones make room for them. A stream too many
// is refused by the name of the setting.
func TestFaultTooManyConnections(t *testing.T) {
	const most = 16
	d := start(t, func(_ *node.Options, o *http.Options) { o.Limits.Connections = most })
	ask := func(path string) (net.Conn, int) {
		conn, err := net.Dial("unix", d.socket)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: t\r\n\r\n", path)
		require.NoError(t, err)
		var status int
		_, err = fmt.Fscanf(conn, "HTTP/1.1 %d", &status)
		require.NoError(t, err)
		return conn, status
	}
	for range 3 * most { // each stays open
		_, status := ask("/v1/health")
		require.Equal(t, 200, status)
	}
	var streams []net.Conn
	for range most - most/8 {
		stream, status := ask("/v1/events?now=true")
		require.Equal(t, 200, status)
		streams = append(streams, stream)
	}
	status, body := d.raw("GET", "/v1/events?now=true", "")
	require.Equal(t, 503, status, body)
	require.Contains(t, body, `"code":"resource_exhausted","reason":"connections"`)
	require.Contains(t, body, "or set limits.connections higher")
	for range 3 * most {
		_, status := ask("/v1/health")
		require.Equal(t, 200, status)
	}
	for _, stream := range streams {
		require.NoError(t, stream.Close())
	}
	require.Eventually(t, func() bool {
		_, status := ask("/v1/events?now=true")
		return status == 200
	}, patience, patience/1000)
}

// One owner meets no rate limit: a thousand starts and a thousand questions over one
// connection, while it has a hundred streams of each kind.
func TestFaultOneOwnerMeetsNoRateLimit(t *testing.T) {
	d := start(t, nil)
	lasts := d.background(messages.RunCommand{Program: messages.Program{Text: "exec sleep 600"}})
	for i := range 200 {
		path := "/v1/events?now=true"
		if i%2 == 0 {
			path = "/v1/jobs/" + string(lasts.ID) + "/output?follow=true"
		}
		reply := d.reply("GET", path, "")
		t.Cleanup(func() { _ = reply.Body.Close() })
		require.Equal(t, 200, reply.StatusCode, "stream %d", i)
	}
	conn, err := net.Dial("unix", d.socket)
	require.NoError(t, err)
	defer conn.Close()
	replies := bufio.NewReader(conn)
	for i := range 1000 {
		const body = `{"command":"true","mode":"async"}`
		for _, request := range []string{"GET /v1/health HTTP/1.1\r\nHost: t\r\n\r\n", fmt.Sprintf("POST /v1/jobs HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)} {
			_, err := io.WriteString(conn, request)
			require.NoError(t, err)
			reply, err := nethttp.ReadResponse(replies, nil)
			require.NoError(t, err)
			text, err := io.ReadAll(reply.Body)
			require.NoError(t, err)
			require.Less(t, reply.StatusCode, 300, "request %d: %s", i, text)
		}
	}
}

// Silent connections to the port shut out nobody at the socket, and no client with the token.
func TestFaultSilentConnectionsToThePort(t *testing.T) {
	const token = "0123456789012345678901234567890123456789012"
	d := start(t, func(_ *node.Options, o *http.Options) { o.Token = http.Token{Secret: token} })
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
	c, err := client.DialTCP(t.Context(), port, token)
	require.NoError(t, err, "they hold no place of it")
	require.NoError(t, c.Close())
}

// A client of the port that asks too often is refused by the name of the setting, and
// learns when to ask again; the Go client does that.
func TestFaultTooManyRequests(t *testing.T) {
	const token = "0123456789012345678901234567890123456789012"
	d := start(t, func(_ *node.Options, o *http.Options) { o.Token, o.Limits.PortRequests = http.Token{Secret: token}, 20 })
	port := d.startTCP()
	c, err := client.DialTCP(t.Context(), port, token)
	require.NoError(t, err)
	defer c.Close()
	conn, err := net.Dial("tcp", port)
	require.NoError(t, err)
	defer conn.Close()
	replies, served := bufio.NewReader(conn), 0
	for {
		_, err := fmt.Fprintf(conn, "GET /v1/health HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", port, token)
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
		require.Contains(t, string(body), "set limits.http_requests higher")
		break
	}
	require.GreaterOrEqual(t, served, 99) // the client has asked once
	require.Equal(t, "hello", func() string {
		result, err := c.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "printf hello"}}, client.WithText(100))
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
