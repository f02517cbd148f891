package mcpserve

import (
	"cmp"
	"context"
	"errors"
	"net"
	stdhttp "net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"troupe/backends/engine"
	"troupe/backends/keeper"
	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/terminal"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/http"
	"troupe/internal/gateway/mcp"
	"troupe/internal/gateway/mcp/web"
	"troupe/internal/node"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Flags holds the flags of mcp.
type Flags struct {
	Dialect, HTTP  string
	Tools          []string
	Keep, NoDaemon bool
}

// GOGC in percent and the memory limit in bytes of a server on stdio. Each short call leaves
// at least 200 KiB of garbage in the SDK. With GOGC 100 the heap is collected every 15 calls,
// which takes a third of their time. GOGC 400 costs 12 MiB; without the limit, a few pages
// of 1 MiB would cost 40 MiB.
const (
	mcpGCPercent   = 400
	mcpMemoryLimit = 48 << 20
)

// Serve serves until its client leaves or a signal arrives.
func Serve(m *cli.Main, f *Flags) error {
	if err := f.check(); err != nil {
		return err
	}
	signals := cli.Listen()
	defer signals.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-signals.Incoming:
			cancel()
		case <-ctx.Done():
		}
	}()
	at, err := config.Read(m)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return &messages.Error{Code: messages.CwdNotFound, Message: "the current directory cannot be found: " + err.Error(), Hint: "start it in one that exists"}
	}
	if err := checkSettings(m, f.Dialect, at); err != nil {
		return err
	}
	log := daemon.Slogger(daemon.NewLog(m, at))
	m.Env = withUserPath(ctx, m.Env, at, log)
	if err := f.leaveDaemon(m, at); err != nil {
		return err
	}
	dialect, err := newDialect(m, f, at, dir, log)
	if err != nil {
		return err
	}
	if f.HTTP == "" { // before a node of this process opens: it keeps these values
		debug.SetGCPercent(mcpGCPercent)
		debug.SetMemoryLimit(mcpMemoryLimit)
	}
	host, done, err := openHost(m, at, f)
	if err != nil {
		return err
	}
	defer done()
	server := mcp.New(mcp.Options{
		Dialect: dialect,
		Host:    host, Version: m.Describe().Version, Scope: mcpScope(m), Beside: f.Tools, Keep: f.Keep, Many: f.HTTP != "", Log: log, Window: int(at.MCP.Shown),
		Quota:  messages.ScopeQuota{Jobs: int(at.MCP.Jobs), Sessions: int(at.MCP.Sessions)},
		Around: core.RunEnv{Dir: dir, Env: m.Env, Pass: at.MCP.Env, Umask: m.Umask(), Limits: engine.OwnLimits(), Quota: messages.Quota{Bytes: int64(at.MCP.Output)}},
	})
	defer server.Close()
	if f.HTTP != "" {
		return serveMCPOverHTTP(ctx, m, at, f, server)
	}
	err = server.Serve(ctx, m.In, m.Out)
	if ctx.Err() != nil {
		return nil // ended by a signal
	}
	return err
}

func (f *Flags) check() error {
	if err := checkDialect(f.Dialect); err != nil {
		return err
	}
	if f.Keep && f.NoDaemon {
		return messages.Invalid("keep", "--keep and --no-daemon contradict each other: without a daemon, jobs end with this process; give one of them")
	}
	for _, tool := range f.Tools {
		if strings.TrimSpace(tool) == "" || len(tool) > messages.MaxNameLength || strings.ContainsAny(tool, "\n\r\x00") {
			return messages.Invalid("tools", "invalid --tools: use names of tools, separated by commas")
		}
	}
	return nil
}

// mcpScope returns the parent of the clients' scopes: the scope of the job that runs us, or
// mcp.
func mcpScope(m *cli.Main) messages.ScopePath {
	if outer, ok := m.Getenv(shelltext.ScopeVar); ok && messages.ScopePath(outer).Check() == nil {
		return messages.ScopePath(outer)
	}
	return "mcp"
}

// leaveDaemon sets NoDaemon in a sandbox that the daemon is not in, unless jobs must be kept.
// It returns an error for a daemon that does not answer.
func (f *Flags) leaveDaemon(m *cli.Main, at *config.Settings) error {
	if f.NoDaemon || f.Keep {
		return nil
	}
	c, err := connect.DialDaemon(context.Background(), at)
	switch {
	case err == nil:
		return c.Close()
	case connect.IsConfined(err):
		terminal.NewPrinter(m).Notef("running in this process, without the daemon: %v", err)
		f.NoDaemon = true
	case errors.Is(err, &messages.Error{Code: messages.Busy}):
		return err
	}
	return nil
}

// openHost returns the host of the jobs and a function that ends it.
func openHost(m *cli.Main, at *config.Settings, f *Flags) (mcp.Host, func(), error) {
	if !f.NoDaemon {
		s := terminal.NewPrinter(m)
		h := &Host{Find: func() (*client.Client, error) { return connect.FindDaemon(m, true, s) }, Kept: func() bool {
			sight, err := keeper.Inspect(filepath.Join(at.State, config.KeeperName))
			return err == nil && sight.Live
		}}
		if _, err := h.dial(false); err != nil {
			return nil, nil, err
		}
		return h, func() {}, nil
	}
	node, err := node.Open(context.Background(), node.Options{JobPrefix: "local-", OwnProcess: true})
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "troupe-mcp-")
	if err != nil {
		return nil, nil, errors.Join(err, node.Shutdown(context.Background(), messages.ShutdownNode{}))
	}
	socket := filepath.Join(dir, "socket")
	server := http.New(http.Options{Node: http.AdaptNode(node), Version: m.Describe().Version})
	done := func() {
		_ = node.Shutdown(context.Background(), messages.ShutdownNode{Reason: "its client has left"})
		ctx, cancel := context.WithTimeout(context.Background(), connect.ReplyPatience)
		defer cancel()
		_ = server.Close(ctx)
		_ = os.RemoveAll(dir)
	}
	l, err := http.Listen(socket)
	if err != nil {
		done()
		return nil, nil, err
	}
	go func() { _ = server.Serve(l) }()
	return &Host{Find: func() (*client.Client, error) { return connect.Dial(context.Background(), socket) }, Kept: func() bool { return false }}, done, nil
}

// Names and bounds of MCP over HTTP.
const (
	mcpTokenName = "mcp-token"
	mcpPath      = "/mcp"
	mcpDoors     = 4 * web.DefaultMaxSessions // connections: for each session a stream and a few calls
)

// serveMCPOverHTTP serves many clients until ctx ends.
func serveMCPOverHTTP(ctx context.Context, m *cli.Main, at *config.Settings, f *Flags, server *mcp.Server) error {
	if err := at.OwnState(); err != nil {
		return err
	}
	l, err := http.ListenTCP(f.HTTP)
	if err != nil {
		return err
	}
	defer l.Close()
	file := filepath.Join(at.State, mcpTokenName)
	token, err := http.LoadToken(file)
	if err != nil {
		return err
	}
	handler, endpoint := server.Handler(web.Options{Log: daemon.Slogger(daemon.NewLog(m, at))})
	defer endpoint.Close()
	mux := stdhttp.NewServeMux()
	mux.Handle(mcpPath, handler)
	terminal.NewPrinter(m).Notef("serving MCP at http://%s%s; clients need the token in %s", l.Addr(), mcpPath, file)
	return serveUntil(ctx, l, cmp.Or(int(at.Limits.HTTPConnections), mcpDoors), http.RequireToken(token, mux))
}

// serveUntil serves a handler on a listener, over at most so many connections, until ctx
// ends.
func serveUntil(ctx context.Context, l net.Listener, most int, handler stdhttp.Handler) error {
	server := &stdhttp.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(http.LimitConnections(server, l, most)); !errors.Is(err, stdhttp.ErrServerClosed) {
		return err
	}
	return nil
}
