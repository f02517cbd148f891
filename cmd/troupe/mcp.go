package main

import (
	"context"
	"errors"
	"net"
	stdhttp "net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe"
	"troupe/backends/keeper"
	"troupe/client"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/http"
	"troupe/internal/gateway/mcp"
	"troupe/internal/gateway/mcp/web"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// mcpFlags are the flags of mcp as they were typed.
type mcpFlags struct {
	dialect, http  string
	tools          []string
	keep, noDaemon bool
}

const mcpLong = `Serve the Model Context Protocol on stdin and stdout, for one client: an agent runs
its commands as jobs of the daemon, which is started if none runs. A person sees
them with troupe ps, joins them with troupe attach, and lets the agent go on without
waiting with troupe promote. They end when the client leaves or dies, but for those
that were detached or that a person promoted. docs/mcp.md has what clients need.`

// By how much the heap of a server on stdio may outgrow what is alive, and the memory
// above which it may not. Of each short call the SDK leaves 200 KiB and more behind: by
// the runtime's own 100 a collection comes every 15 calls and takes a third of their
// time. It costs 12 MiB; without the limit a few pages of 1 MiB would cost 40.
const (
	mcpGCPercent   = 400
	mcpMemoryLimit = 48 << 20
)

const mcpExamples = `  claude mcp add troupe -- troupe mcp      in Claude Code
  troupe mcp --http 127.0.0.1:7430         for many clients, with the token
  troupe mcp --no-daemon                   jobs end with this process`

func mcpCommand(m *Main) *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use: "mcp [flags]", Short: "Serve agents (MCP)", Long: mcpLong, Example: mcpExamples, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return serveMCP(m, f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.dialect, "dialect", coreDialect, "the `NAME` of the tools' dialect: "+strings.Join(dialectNames, ", "))
	set.StringVar(&f.http, "http", "", "serve many clients at http://`ADDRESS`/mcp, a loopback address, for who has the token")
	set.StringSliceVar(&f.tools, "tools", nil, "the `NAMES` of tools that the host has beside these, which its model is to prefer")
	set.BoolVar(&f.keep, "keep", false, "jobs outlive their client")
	set.BoolVar(&f.noDaemon, "no-daemon", false, "run jobs in this process, and end them with it")
	return cmd
}

// serveMCP serves until its client leaves, or a signal ends it.
func serveMCP(m *Main, f *mcpFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	signals := listen()
	defer signals.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-signals.heard:
			cancel()
		case <-ctx.Done():
		}
	}()
	at, err := readSettings(m)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return &messages.Error{Code: messages.CwdNotFound, Message: "the current directory cannot be found: " + err.Error(), Hint: "start it in one that exists"}
	}
	dialect, err := newDialect(m, f, at, dir, slogger(newLog(m, at)))
	if err != nil {
		return err
	}
	if f.http == "" { // before a node of its own is opened, which keeps to what is set
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
		Host:    host, Version: m.describe().Version, Scope: mcpScope(m), Beside: f.tools, Keep: f.keep, Many: f.http != "", Log: slogger(newLog(m, at)),
		Quota:  messages.ScopeQuota{Jobs: int(at.MCP.Jobs), Sessions: int(at.MCP.Sessions)},
		Around: core.RunEnv{Dir: dir, Env: m.Env, Pass: at.MCP.Env, Umask: m.umask(), Quota: messages.Quota{Bytes: int64(at.MCP.Output)}},
	})
	defer server.Close()
	if f.http != "" {
		return serveMCPOverHTTP(ctx, m, at, f, server)
	}
	err = server.Serve(ctx, m.In, m.Out)
	if ctx.Err() != nil {
		return nil // a signal asked for it
	}
	return err
}

func (f *mcpFlags) check() error {
	if err := checkDialect(f.dialect); err != nil {
		return err
	}
	if f.keep && f.noDaemon {
		return messages.Invalid("keep", "without a daemon no job outlives this process; leave out --keep or --no-daemon")
	}
	for _, tool := range f.tools {
		if strings.TrimSpace(tool) == "" || len(tool) > messages.MaxNameLength || strings.ContainsAny(tool, "\n\r\x00") {
			return messages.Invalid("tools", "--tools wants names of tools, with commas between them")
		}
	}
	return nil
}

// mcpScope is the scope below which each client has its own: that of the job in which
// we run, or mcp.
func mcpScope(m *Main) messages.ScopePath {
	if outer, ok := m.getenv(shelltext.ScopeVar); ok && messages.ScopePath(outer).Check() == nil {
		return messages.ScopePath(outer)
	}
	return "mcp"
}

// openHost is where jobs run, and what ends it.
func openHost(m *Main, at *settings, f *mcpFlags) (mcp.Host, func(), error) {
	if !f.noDaemon {
		s := newScreen(m)
		h := &mcpHost{find: func() (*client.Client, error) { return findDaemon(m, true, s) }, kept: func() bool {
			sight, err := keeper.Inspect(filepath.Join(at.State, keeperName))
			return err == nil && sight.Live
		}}
		if _, err := h.dial(false); err != nil {
			return nil, nil, err
		}
		return h, func() {}, nil
	}
	node, err := troupe.Open(context.Background(), troupe.Options{JobPrefix: "local-", OwnProcess: true})
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "troupe-mcp-")
	if err != nil {
		return nil, nil, errors.Join(err, node.Shutdown(context.Background(), messages.ShutdownNode{}))
	}
	socket := filepath.Join(dir, "socket")
	server := http.New(http.Options{Node: http.AdaptNode(node), Version: m.describe().Version})
	done := func() {
		_ = node.Shutdown(context.Background(), messages.ShutdownNode{Reason: "its client has left"})
		ctx, cancel := context.WithTimeout(context.Background(), replyPatience)
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
	return &mcpHost{find: func() (*client.Client, error) { return connect(context.Background(), socket) }, kept: func() bool { return false }}, done, nil
}

// Names and bounds of MCP over HTTP.
const (
	mcpTokenName = "mcp-token"
	mcpPath      = "/mcp"
	mcpDoors     = 4 * web.DefaultMaxSessions // connections: of each session a stream and a few calls
)

// serveMCPOverHTTP serves many clients until ctx ends.
func serveMCPOverHTTP(ctx context.Context, m *Main, at *settings, f *mcpFlags, server *mcp.Server) error {
	if err := at.ownState(); err != nil {
		return err
	}
	l, err := http.ListenTCP(f.http)
	if err != nil {
		return err
	}
	defer l.Close()
	file := filepath.Join(at.State, mcpTokenName)
	token, err := http.LoadToken(file)
	if err != nil {
		return err
	}
	handler, endpoint := server.Handler(web.Options{Log: slogger(newLog(m, at))})
	defer endpoint.Close()
	mux := stdhttp.NewServeMux()
	mux.Handle(mcpPath, handler)
	newScreen(m).notef("serving MCP at http://%s%s for who has the token in %s", l.Addr(), mcpPath, file)
	return serveUntil(ctx, http.LimitListener(l, mcpDoors), http.RequireToken(token, mux))
}

// serveUntil serves a handler on a listener until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, handler stdhttp.Handler) error {
	server := &stdhttp.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, stdhttp.ErrServerClosed) {
		return err
	}
	return nil
}
