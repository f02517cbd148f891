package http_test

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// patience bounds what a test waits for; what it waits for is an event.
const patience = time.Minute

// daemon is a node behind the gateway, with real processes, and its client.
type daemon struct {
	t      *testing.T
	node   *node.Node
	server *http.Server
	socket string
	client asker
	served chan error
	over   sync.Once
}

// start serves a node of its own until the test ends. change may be nil.
func start(t *testing.T, change func(*node.Options, *http.Options)) *daemon {
	t.Helper()
	d := &daemon{t: t, socket: filepath.Join(shortDir(t), "s", "troupe.sock"), served: make(chan error, 1)}
	listener, err := http.Listen(d.socket)
	require.NoError(t, err)
	o, options := node.Options{Dir: shortDir(t), WorkDir: t.TempDir()}, http.Options{Version: "test"}
	if change != nil {
		change(&o, &options)
	}
	d.node, err = node.Open(t.Context(), o)
	require.NoError(t, err)
	options.Node = http.AdaptNode(d.node)
	d.server = http.New(options)
	go func() { d.served <- d.server.Serve(listener) }()
	t.Cleanup(d.end)
	d.client.Client, err = client.Dial(t.Context(), d.socket)
	require.NoError(t, err)
	d.client.EndWithDaemon()
	return d
}

func (d *daemon) end() { d.over.Do(d.shutdown) }

func (d *daemon) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if d.client.Client != nil {
		_ = d.client.Close()
	}
	if err := d.node.Shutdown(ctx, messages.ShutdownNode{Grace: -1}); err != nil && !errors.Is(err, node.ErrClosed) {
		d.t.Errorf("the node did not end: %v", err)
	}
	if err := d.server.Close(ctx); err != nil {
		d.t.Errorf("the server did not end: %v", err)
	}
	if err := <-d.served; err != nil {
		d.t.Errorf("the server failed: %v", err)
	}
}

// shortDir is a directory whose name leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// run runs a shell text to its end.
func (d *daemon) run(text string) messages.Record {
	d.t.Helper()
	result, err := d.client.Run(d.t.Context(), messages.RunCommand{Program: messages.Program{Text: text}})
	require.NoError(d.t, err)
	return result.Job
}

// retired waits until a job is over: its processes and its output end a moment after
// its result.
func (d *daemon) retired(id messages.JobID) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for e, err := range d.client.Events(ctx, messages.Subscribe{Filter: messages.Filter{Job: id}}) {
		require.NoError(d.t, err)
		if e.Kind == "command_retired" {
			return
		}
	}
}

// background starts a shell text and leaves it.
func (d *daemon) background(r messages.RunCommand) messages.Record {
	d.t.Helper()
	r.Mode = messages.ModeAsync
	result, err := d.client.Run(d.t.Context(), r)
	require.NoError(d.t, err)
	return result.Job
}

// awaits waits until a job meets a condition.
func (d *daemon) awaits(id messages.JobID, c messages.Condition) messages.Record {
	d.t.Helper()
	ended, err := d.client.Await(d.t.Context(), messages.WaitJobs{Jobs: []messages.JobID{id}, Condition: c, Timeout: patience})
	require.NoError(d.t, err)
	require.True(d.t, ended.Satisfied, "%+v", ended)
	return ended.Jobs[0]
}

// raw sends a request as it stands and gives status and body, which is what
// openapi.yaml says.
func (d *daemon) raw(method, path, body string, header ...string) (int, string) {
	d.t.Helper()
	reply := d.reply(method, path, body, header...)
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	require.NoError(d.t, err)
	conforms(d.t, method, path, reply, b)
	return reply.StatusCode, string(b)
}

func (d *daemon) reply(method, path, body string, header ...string) *nethttp.Response {
	d.t.Helper()
	c := nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.socket)
	}}, CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse }}
	r, err := nethttp.NewRequestWithContext(d.t.Context(), method, "http://troupe"+path, strings.NewReader(body))
	require.NoError(d.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if slices.Contains(header, "Content-Type") { // another one
		r.Header.Del("Content-Type")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	reply, err := c.Do(r)
	require.NoError(d.t, err)
	return reply
}

// coded is the error of a code, and a reason if one is wanted.
func coded(t *testing.T, err error, code messages.Code, reason string) {
	t.Helper()
	require.ErrorIs(t, err, &messages.Error{Code: code, Reason: reason})
}
