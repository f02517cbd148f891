package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/tasks"
	"troupe/internal/gateway/mcp/web"
)

// readTimeout bounds the header of a request from the suite.
const readTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mcpfixtures:", err)
		os.Exit(1)
	}
}

// serve serves the fixtures until ctx ends and prints their URL. The suite cannot send
// a token, so the address is a loopback one without a token.
func serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	store := tasks.New(tasks.Options{Poll: 100 * time.Millisecond})
	defer store.Close()
	server, err := newServer(store)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server.AddReceivingMiddleware(web.EndCalls)
	endpoint := web.Handler(func(*http.Request) *mcp.Server { return server }, web.Options{})
	defer endpoint.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(tasks.Handler(web.DefaultMaxBody, endpoint)))
	on := &http.Server{Handler: mux, ReadHeaderTimeout: readTimeout}
	defer context.AfterFunc(ctx, func() { _ = on.Close() })()
	if _, err := fmt.Printf("http://%s/mcp\n", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := on.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
