package dialecthost

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"troupe/backends/keeper"
	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// WithoutDaemon reports whether jobs run in this process: the settings say so, or it is in a
// sandbox that the daemon is not in. A daemon that does not answer is an error.
func WithoutDaemon(m *cli.Main, at *config.Settings) (bool, error) {
	if at.NoDaemon {
		return true, nil
	}
	c, err := connect.DialDaemon(context.Background(), at)
	switch {
	case err == nil:
		return false, c.Close()
	case connect.IsConfined(err):
		terminal.NewPrinter(m).Notef("running in this process, without the daemon: %v", err)
		return true, nil
	case errors.Is(err, &messages.Error{Code: messages.Busy}):
		return false, err
	}
	return false, nil
}

// Open returns the host of the jobs and a function that ends it. Without the daemon it is a
// node of this process, whose jobs stop with it.
func Open(m *cli.Main, at *config.Settings, noDaemon bool) (*Host, func(), error) {
	if !noDaemon {
		s := terminal.NewPrinter(m)
		h := &Host{Find: func() (*client.Client, error) { return connect.FindDaemon(m, connect.Required, s) }, Kept: func() bool {
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
	dir, err := os.MkdirTemp("", "troupe-")
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

// Scope returns the parent of the clients' scopes: the scope of the job that runs us, or the
// server's own.
func Scope(m *cli.Main, own messages.ScopePath) messages.ScopePath {
	if outer, ok := m.Getenv(shelltext.ScopeVar); ok && messages.ScopePath(outer).Check() == nil {
		return messages.ScopePath(outer)
	}
	return own
}
