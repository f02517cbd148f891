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
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/cli/terminal"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/http"
	"troupe/internal/gateway/mcp"
	"troupe/internal/gateway/mcp/web"
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
	if err := dialectconfig.Check(m, f.Dialect, at, dir); err != nil {
		return err
	}
	log := daemon.Slogger(daemon.NewLog(m, at))
	m.Env = dialecthost.WithUserPath(ctx, m.Env, at, log)
	if f.NoDaemon, err = f.withoutDaemon(m, at); err != nil {
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
	host, done, err := dialecthost.Open(m, at, f.NoDaemon)
	if err != nil {
		return err
	}
	defer done()
	server := mcp.New(mcp.Options{
		Dialect: dialect,
		Host:    host, Version: m.Describe().Version, Scope: dialecthost.Scope(m, "mcp"), Beside: f.Tools, Keep: f.Keep, Many: f.HTTP != "", Log: log, Window: int(at.MCP.Shown),
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

// withoutDaemon reports whether jobs run in this process. Kept jobs need the daemon.
func (f *Flags) withoutDaemon(m *cli.Main, at *config.Settings) (bool, error) {
	if f.NoDaemon || f.Keep {
		return f.NoDaemon, nil
	}
	return dialecthost.WithoutDaemon(m, at)
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
