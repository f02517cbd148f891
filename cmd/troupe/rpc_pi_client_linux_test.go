package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// piSteps is how many steps tools/node/pi has at least: a run that ends early has failed.
const piSteps = 16

// The published RpcClient of pi works with troupe in place of pi: its cliPath is the shim of
// contrib/pi.
func TestPiRPCClient(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	client := need.Unpacked(t, "@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js")
	d := serves(t, nil)
	require.NoError(t, syscall.Mkfifo(d.file("fifo"), 0o600))
	shim, err := filepath.Abs("../../contrib/pi/rpc.mjs")
	require.NoError(t, err)
	p := d.piServer()
	p.Path, p.Args = node, []string{"node", filepath.Join(modules, "..", "pi", "main.mjs"), client, shim}
	p.Env = append(p.Env, "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH")) // the client starts node
	steps := p.start().steps()
	p.ends(0)
	require.GreaterOrEqual(t, steps, piSteps)
}
