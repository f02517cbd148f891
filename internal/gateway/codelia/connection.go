package codelia

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"

	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/gateway/jsonrpc"
)

// Options configures the connection of a client.
type Options struct {
	Version string // of the server
	// Open opens the session of the client.
	Open func(Confirm) *codelia.Session
	Log  *slog.Logger
}

// connection is the connection of a client.
type connection struct {
	version string
	server  *jsonrpc.Server
	asks    atomic.Bool // the client shows questions
}

// Serve serves a client until its input ends and its requests have their responses, or ctx
// ends. Then it cancels the tasks that run, and ends the session.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	c := &connection{version: o.Version}
	s := o.Open(c.confirm)
	c.server = jsonrpc.New(out, jsonrpc.Options{Log: o.Log, Methods: map[string]jsonrpc.Handler{
		"initialize":   c.initialize,
		"shell.exec":   method(s.Exec),
		"shell.start":  method(s.Start),
		"shell.list":   method(s.List),
		"shell.status": method(s.Status),
		"shell.output": method(s.Output),
		"shell.wait":   method(waiting(s)),
		"shell.detach": method(s.Detach),
		"shell.cancel": method(s.Cancel),
		"tool.call":    method(s.CallTool),
	}})
	err := c.server.Serve(ctx, in)
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialect.LeavePatience)
	defer cancel()
	return errors.Join(err, s.Close(leaving))
}
