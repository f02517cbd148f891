package main

import (
	"fmt"
	stdhttp "net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/gateways/http"
	"troupe/gateways/mcp/fixtures"
	"troupe/gateways/mcp/tasks"
	"troupe/gateways/mcp/web"
	"troupe/messages"
)

// readConformance is how long the suite may take to send a request.
const readConformance = 10 * time.Second

// serveConformance serves the fixtures of MCP's conformance suite until a signal
// comes, and says on stdout where. The suite can send no token, so none is asked
// for: what is served runs no command, and on a loopback address only.
func (m *Main) serveConformance(address string) error {
	if address == "" {
		return messages.Invalid("http", "--conformance needs --http, such as --http 127.0.0.1:0")
	}
	listener, err := http.ListenTCP(address)
	if err != nil {
		return err
	}
	ended := listen()
	defer ended.close()
	store := tasks.New(tasks.Options{Poll: 100 * time.Millisecond})
	defer store.Close()
	server, err := fixtures.New(store, m.describe().Version)
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(web.EndCalls)
	endpoint := web.Handler(func(*stdhttp.Request) *mcp.Server { return server }, web.Options{})
	defer endpoint.Close()
	if _, err := fmt.Fprintf(m.Out, "http://%s/mcp\n", listener.Addr()); err != nil {
		return err
	}
	mux := stdhttp.NewServeMux()
	mux.Handle("/mcp", stdhttp.NewCrossOriginProtection().Handler(tasks.Handler(web.DefaultMaxBody, endpoint)))
	on := &stdhttp.Server{Handler: mux, ReadHeaderTimeout: readConformance}
	failed := make(chan error, 1)
	go func() { failed <- on.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ended.heard:
		return on.Close()
	}
}
