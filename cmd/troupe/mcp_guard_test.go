package main

import (
	"context"
	stdhttp "net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/http"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/internal/gateway/mcp/web"
)

// The guard of the API serves clients with the token, in each revision, and answers
// nothing to others.
func TestSecurityMCPToken(t *testing.T) {
	store := tasks.New(tasks.Options{})
	defer store.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "greets", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name + "!"}}}, nil, nil
	})
	require.NoError(t, store.Serve(server))
	endpoint := web.Handler(func(*stdhttp.Request) *mcp.Server { return server }, web.Options{})
	at := httptest.NewServer(http.RequireToken(http.Token{Secret: "secret"}, tasks.Handler(web.DefaultMaxBody, endpoint)))
	defer at.Close()
	defer endpoint.Close()

	connect := func(token, revision string) (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		transport := &mcp.StreamableClientTransport{Endpoint: at.URL, HTTPClient: &stdhttp.Client{Transport: bearer{token: token}}, MaxRetries: -1}
		return client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	}
	for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		session, err := connect("secret", revision)
		require.NoError(t, err, revision)
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ann"}})
		require.NoError(t, err, revision)
		require.Equal(t, "Hello, Ann!", result.Content[0].(*mcp.TextContent).Text)
		require.NoError(t, session.Close())
		for _, token := range []string{"", "guess"} {
			_, err := connect(token, revision)
			require.Error(t, err, "%s with the token %q", revision, token)
		}
	}
}
