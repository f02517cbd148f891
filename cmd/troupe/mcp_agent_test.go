package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp"
)

// The revisions of the protocol: the last one with sessions, and the one without.
const (
	withSessions = "2025-11-25"
	withRounds   = "2026-07-28"
)

// agent is a client of troupe mcp, by the official SDK.
type agent struct {
	*sdk.ClientSession
	t      *testing.T
	server *process
	in     io.Closer // over stdio: what it writes to
}

// params are those of a tool.
type params = map[string]any

// server is troupe mcp beside a daemon, for as long as a test may last.
func (p *process) server(flags ...string) *process {
	q := programFor(p.t, long, append([]string{"mcp"}, flags...)...)
	q.Dir, q.dir, q.Env = p.dir, p.dir, append(slices.Clip(p.Env), "TROUPE_NO_DAEMON=")
	return q
}

// agent starts a server of its own beside a daemon, and speaks with it over stdio.
func (p *process) agent(revision string, o *sdk.ClientOptions, flags ...string) *agent {
	p.t.Helper()
	return p.server(flags...).speaks(revision, o)
}

// speaks starts a server, and speaks with it over stdio.
func (p *process) speaks(revision string, o *sdk.ClientOptions) *agent {
	p.t.Helper()
	in, err := p.StdinPipe()
	require.NoError(p.t, err)
	p.start()
	a := p.connects(p, revision, o, &sdk.IOTransport{Reader: io.NopCloser(p.out), Writer: in})
	a.in = in
	return a
}

func (p *process) connects(server *process, revision string, o *sdk.ClientOptions, over sdk.Transport) *agent {
	p.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "Day Agent", Version: "1"}, o)
	session, err := client.Connect(p.t.Context(), over, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(p.t, err, server.err)
	require.Equal(p.t, revision, session.InitializeResult().ProtocolVersion)
	p.t.Cleanup(func() { _ = session.Close() }) // it may have left
	return &agent{ClientSession: session, t: p.t, server: server}
}

// port is a server over HTTP.
type port struct {
	*process
	url, token, file string
}

// port starts a server over HTTP beside a daemon.
func (p *process) port(flags ...string) *port {
	p.t.Helper()
	return serving(p.server(append([]string{"--http", "127.0.0.1:0"}, flags...)...))
}

// serving starts a server over HTTP, and reads where it is.
func serving(server *process) *port {
	server.t.Helper()
	server.start()
	it := &port{process: server, url: server.awaitText("serving MCP at ", ";"), file: server.awaitText("the token in ", "\n")}
	token, err := os.ReadFile(it.file)
	require.NoError(server.t, err)
	it.token = strings.TrimSpace(string(token))
	return it
}

// agent connects to the server under a name, which the client sends where there are no
// sessions.
func (p *port) agent(name, revision string, o *sdk.ClientOptions) *agent {
	p.t.Helper()
	return p.connects(p.process, revision, o, &sdk.StreamableClientTransport{
		Endpoint: p.url, MaxRetries: -1, HTTPClient: &http.Client{Transport: bearer{p.token, name}},
	})
}

// bearer adds what a client shows.
type bearer struct{ token, name string }

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	r.Header.Set(mcp.ClientHeader, b.name)
	return http.DefaultTransport.RoundTrip(r)
}

// waitedEnd matches what follows the output of a job in the text of a wait.
var waitedEnd = regexp.MustCompile(`(?m)^(\[|(\* )?job j)|\z`)

// ask calls a tool. What it refuses is an error, whose text is all it says.
func ask[T any](ctx context.Context, a *agent, tool string, args params) (T, string, error) {
	var v T
	r, err := a.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return v, "", err
	}
	text := r.Content[0].(*sdk.TextContent).Text
	if r.IsError {
		return v, text, errors.New(text)
	}
	if r.StructuredContent != nil {
		return v, text, errors.New("the result has a structure, which some clients show instead of its text")
	}
	b, err := json.Marshal(r.Meta[mcp.DetailsKey])
	if err != nil {
		return v, text, err
	}
	err = json.Unmarshal(b, &v)
	switch v := any(&v).(type) { // what only the text has
	case *core.RunResult:
		v.Output = text[:v.Shown]
	case *core.WaitResult:
		for i, job := range v.Jobs {
			_, after, _ := strings.Cut(text, "job "+job.JobID+" ")
			_, after, _ = strings.Cut(after, "\n")
			v.Jobs[i].Output = after[:waitedEnd.FindStringIndex(after)[0]]
		}
	case *core.Screen:
		v.Screen = strings.Split(text, "\n")
	}
	return v, text, err
}

// mustCall calls a tool and fails the test if the call fails.
func mustCall[T any](a *agent, tool string, args params) T {
	a.t.Helper()
	v, _, err := ask[T](a.t.Context(), a, tool, args)
	require.NoError(a.t, err, a.server.err)
	return v
}

// run runs a command.
func (a *agent) run(args params) core.RunResult {
	a.t.Helper()
	return mustCall[core.RunResult](a, "run", args)
}

// refused is what a tool says that must refuse.
func (a *agent) refused(tool string, args params) string {
	a.t.Helper()
	_, text, err := ask[any](a.t.Context(), a, tool, args)
	require.Error(a.t, err)
	require.NotEmpty(a.t, text, err)
	return text
}

// ended waits until a job has ended, and gives what the wait says of it.
func (a *agent) ended(job string) core.WaitResult {
	a.t.Helper()
	w := mustCall[core.WaitResult](a, "wait", params{"job_ids": []string{job}, "timeout_seconds": 55})
	require.True(a.t, w.Satisfied)
	return w
}

// leaves ends the client, and waits for its server.
func (a *agent) leaves() {
	a.t.Helper()
	require.NoError(a.t, a.Close(), a.server.err)
	a.server.ends(0)
}

// dies ends a client that is at work, as its server sees it: the streams are closed.
func (a *agent) dies() {
	a.t.Helper()
	_, _ = a.in.Close(), a.server.pipe.Close()
	a.server.ends(0)
}
