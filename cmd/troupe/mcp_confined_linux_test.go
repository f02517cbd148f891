package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// A server in a sandbox that the daemon is not in runs its jobs in its own process.
func TestSecurityMCPInASandbox(t *testing.T) {
	t.Parallel()
	need.Program(t, "setpriv")
	need.Feature(t, need.Free(), "tests that are not confined themselves")
	d := serves(t, nil)
	free := d.agent(withSessions, nil)
	require.Contains(t, free.run(params{"command": "grep NoNewPrivs /proc/self/status"}).Output, "NoNewPrivs:\t0")
	server := d.server().bash("exec setpriv --no-new-privs troupe mcp")
	confined := server.speaks(withSessions, nil)
	require.Contains(t, confined.run(params{"command": "grep NoNewPrivs /proc/self/status"}).Output, "NoNewPrivs:\t1")
	server.err.has(t, "running in this process, without the daemon")
}
