package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// post sends a request over HTTP as it likes.
func (p *port) post(change func(r *http.Request)) (status int, text string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url, strings.NewReader(listTools))
	require.NoError(p.t, err)
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": withRounds, "Mcp-Method": "tools/list",
		"Authorization": "Bearer " + p.token,
	} {
		r.Header.Set(key, value)
	}
	change(r)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	require.NoError(p.t, err)
	return answer.StatusCode, string(b)
}

// callOf calls a tool as a client with this name and without a session.
func callOf(name, tool string) func(*http.Request) {
	return func(r *http.Request) {
		body := strings.Replace(listTools, `"method":"tools/list","params":{`, `"method":"tools/call","params":{"name":"`+tool+`","arguments":{},`, 1)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", tool)
		r.Header.Set(mcp.ClientHeader, name)
	}
}

// Over HTTP the server refuses requests without the token, for another host name, or from
// a page of another site. It listens on a loopback address only.
func TestSecurityMCPOverHTTP(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	info, err := os.Stat(web.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.GreaterOrEqual(t, len(web.token), 43) // 256 bits

	status, text := web.post(func(*http.Request) {})
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"name":"run"`)
	for name, change := range map[string]func(r *http.Request){
		"no token":        func(r *http.Request) { r.Header.Del("Authorization") },
		"an empty token":  func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
		"a wrong token":   func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("a", len(web.token))) },
		"a shorter token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+web.token[1:]) },
		"a token twice":   func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+web.token) },
		"another scheme":  func(r *http.Request) { r.Header.Set("Authorization", "Basic "+web.token) },
		"a token in the URL": func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery = "token=" + web.token
		},
		"a foreign Host":   func(r *http.Request) { r.Host = "evil.example" },
		"a Host like ours": func(r *http.Request) { r.Host = "127.0.0.1.evil.example" },
		"a foreign Origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a null Origin":    func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another site":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		for _, session := range []string{"", "x"} {
			status, text := web.post(func(r *http.Request) {
				if session != "" {
					r.Header.Set("Mcp-Session-Id", session)
					r.Header.Set("Mcp-Protocol-Version", withSessions)
				}
				change(r)
			})
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, status, "%s: %s", name, text)
			require.NotContains(t, text, "run", name)
			require.NotContains(t, text, web.token, name)
		}
	}
	status, _ = web.post(func(r *http.Request) { r.URL.Path = "/" })
	require.Equal(t, http.StatusNotFound, status)

	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:80", "127.0.0.1", "nonsense"} {
		p := d.beside("mcp", "--http", address).start()
		<-p.ended
		require.NotZero(t, p.ProcessState.ExitCode(), address)
		require.NotContains(t, p.err.String(), "serving", address)
	}
}

// A token file that other users may read, or that belongs to another user, is not used.
func TestSecurityMCPTokenFile(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	web.dies()
	again := d.port()
	require.Equal(t, web.token, again.token)
	again.dies()
	require.NoError(t, os.Chmod(web.file, 0o644))
	p := d.beside("mcp", "--http", "127.0.0.1:0").start()
	<-p.ended
	require.NotZero(t, p.ProcessState.ExitCode())
	require.NotContains(t, p.err.String(), web.token)
	require.NoError(t, os.Remove(web.file))
	require.NoError(t, os.Symlink(d.file("elsewhere"), web.file))
	p = d.beside("mcp", "--http", "127.0.0.1:0").start()
	<-p.ended
	require.NotZero(t, p.ProcessState.ExitCode())
	require.NoFileExists(t, d.file("elsewhere"))
}

// What a model starts has neither the secrets of the server's environment nor of the
// daemon's, and cannot have itself preloaded.
func TestSecurityMCPEnvironment(t *testing.T) {
	t.Parallel()
	d := serves(t, []string{"DAEMON_SECRET=hunter2", "OTHER_API_KEY=hunter3"})
	d.Env = append(d.Env, "ANTHROPIC_API_KEY=hunter4", "AWS_SECRET_ACCESS_KEY=hunter5", "GITHUB_TOKEN=hunter6", "LD_PRELOAD_PATH=hunter7", "BASH_ENV="+d.file("evil"), "SSH_AUTH_SOCK=/hunter8")
	require.NoError(t, os.WriteFile(d.file("evil"), []byte("echo hunter9\n"), 0o600))
	for _, flags := range [][]string{nil, {"--no-daemon"}} {
		a := d.agent(withSessions, nil, flags...)
		for _, args := range []params{
			{"command": "env"}, {"command": "env", "session": "s"}, {"command": "env", "pty": true}, {"argv": []string{"env"}},
		} {
			r := a.run(args)
			require.Equal(t, 0, *r.ExitCode)
			require.NotContains(t, r.Output, "hunter", args)
			require.Contains(t, r.Output, "PATH=", args)
		}
		if flags == nil { // else the parent of a job is the server
			require.NotContains(t, a.run(params{"command": "cat /proc/$PPID/environ; true"}).Output, "hunter")
		}
		require.Contains(t, a.run(params{"command": "echo $MINE", "env": params{"MINE": "given"}}).Output, "given")
		for _, name := range []string{"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "BASH_ENV"} {
			require.Contains(t, a.refused("run", params{"command": "true", "env": params{name: "/tmp/evil.so"}}), "env_refused", name)
			require.Contains(t, a.refused("run", params{"command": "true", "session": "s2", "env": params{name: "/tmp/evil.so"}}), "env_refused", name)
		}
		a.leaves()
	}
}

// Connections of clients with the token are bounded, and the refusal names the setting;
// they get in again when others have gone. Those without the token take none of theirs.
func TestSecurityMCPConnections(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	const files = 200 // a quarter of them are for connections
	web := serving(d.server().bash(fmt.Sprintf("ulimit -n %d; exec troupe mcp --http 127.0.0.1:0", files)))
	address := strings.TrimSuffix(strings.TrimPrefix(web.url, "http://"), "/mcp")
	for range 2 * files {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer c.Close()
	}
	var inside []net.Conn
	for range files / 4 {
		c, status := web.knocks(address)
		require.Equal(t, http.StatusNotFound, status)
		inside = append(inside, c)
	}
	c, status := web.knocks(address)
	require.Equal(t, http.StatusServiceUnavailable, status)
	text, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(text), "it allows fewer connections than limits.http_connections")
	for _, c := range inside {
		require.NoError(t, c.Close())
	}
	settles(t, "who is let in", http.StatusNotFound, func() int {
		c, status := web.knocks(address)
		_ = c.Close()
		return status
	})
	require.Equal(t, "in\n", web.agent("late", withRounds, nil).run(params{"command": "echo in"}).Output)
}

// knocks asks for nothing that there is, and keeps the connection.
func (p *port) knocks(address string) (c net.Conn, status int) {
	p.t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", address, p.token)
	require.NoError(p.t, err)
	_, err = fmt.Fscanf(c, "HTTP/1.1 %d", &status)
	require.NoError(p.t, err)
	return c, status
}
