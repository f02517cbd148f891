package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli/config"
)

// asker sends requests to a daemon, each over a connection of its own, which it holds.
type asker struct {
	t                       *testing.T
	network, address, token string
}

func (a asker) dial() net.Conn {
	a.t.Helper()
	conn, err := net.Dial(a.network, a.address)
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// send sends a request and reads the header of its reply.
func (a asker) send(conn net.Conn, request, body string) (*http.Response, error) {
	host := a.address
	if a.network == "unix" {
		host = "troupe"
	}
	_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", request, host, a.token, len(body), body)
	if err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), nil)
}

// untilRefused repeats a request that lasts until it is refused, checks that the refusal
// names a setting, and returns how often it was not.
func (a asker) untilRefused(setting, request, body string) (taken int) {
	a.t.Helper()
	for ; ; taken++ {
		reply, err := a.send(a.dial(), request, body)
		require.NoError(a.t, err)
		if reply.StatusCode >= http.StatusBadRequest {
			text := readAll(a.t, reply.Body)
			require.Contains(a.t, text, "set "+setting+" higher")
			return taken
		}
	}
}

// oneIsRefused sends a request over several connections, of which one is too many. The
// others may be answered late.
func (a asker) oneIsRefused(several int, setting, request, body string) {
	a.t.Helper()
	replies := make(chan *http.Response, several)
	for range several {
		conn := a.dial()
		go func() {
			reply, _ := a.send(conn, request, body)
			replies <- reply
		}()
	}
	for {
		reply := <-replies
		require.NotNil(a.t, reply)
		if reply.StatusCode >= http.StatusBadRequest {
			require.Contains(a.t, readAll(a.t, reply.Body), "set "+setting+" higher")
			return
		}
	}
}

// The limits of clients are settings, and each refusal names its setting.
func TestSettingsOfLimits(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(file, []byte("http = '127.0.0.1:0'\n[limits]\nconnections = 16\nhttp_connections = 3\nchannels = 2\nwatches = 1\nunstarted = 2\nparallel = 1\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	token, err := os.ReadFile(d.file("troupe/" + config.TokenName))
	require.NoError(t, err)
	local := asker{t, "unix", d.awaitText(`"address":"`, `"`), ""}
	port := asker{t, "tcp", "127.0.0.1:" + d.awaitText(`"address":"127.0.0.1:`, `"`), strings.TrimSpace(string(token))}

	d.beside("run", "-b", "--name", "lasts", "exec sleep 600").start().ends(0)
	local.oneIsRefused(3, "limits.unstarted", "POST /v1/jobs", `{"command":"exec sleep 600","mode":"async"}`)
	require.Equal(t, 2, local.untilRefused("limits.channels", "GET /v1/events?now=true", ""))
	local.oneIsRefused(2, "limits.watches", "POST /v1/wait", `{"jobs":["lasts"],"timeout_ms":600000}`)
	const follow = "GET /v1/jobs/lasts/output?follow=true"
	require.Positive(t, local.untilRefused("limits.connections", follow, ""))
	require.Equal(t, 3, port.untilRefused("limits.http_connections", follow, ""))
}

// So is the rate of requests over TCP.
func TestSettingOfTheRate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(file, []byte("http = '127.0.0.1:0'\n[limits]\nhttp_requests = 1\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	token, err := os.ReadFile(d.file("troupe/" + config.TokenName))
	require.NoError(t, err)
	a := asker{t, "tcp", "127.0.0.1:" + d.awaitText(`"address":"127.0.0.1:`, `"`), strings.TrimSpace(string(token))}
	conn := a.dial()
	for served := 0; ; served++ {
		reply, err := a.send(conn, "GET /v1/health", "")
		require.NoError(t, err)
		text := readAll(t, reply.Body)
		if reply.StatusCode == http.StatusTooManyRequests {
			require.Contains(t, text, "set limits.http_requests higher")
			require.GreaterOrEqual(t, served, 5)
			return
		}
		require.Equal(t, http.StatusOK, reply.StatusCode)
	}
}
