package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// codeliaSteps is how many steps the client on Node has at least: one that ends early has failed.
const codeliaSteps = 7

// A client on Node, with the pipes that Node makes, uses the server.
func TestCodeliaClientOnNode(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	d := serves(t, nil)
	p := d.beside("client")
	p.Path, p.Args = node, []string{"node", filepath.Join(modules, "..", "codelia", "client.mjs")}
	p.Env = append(p.Env, "TROUPE_NO_DAEMON=", "SHELL=/bin/bash")
	steps := p.start().steps()
	p.ends(0)
	require.GreaterOrEqual(t, steps, codeliaSteps)
}

// The published terminal of codelia has troupe as its runtime: a person types ! commands, is asked
// about them, detaches one with Ctrl+B, and leaves, with which it ends.
func TestTheTerminalOfCodelia(t *testing.T) {
	t.Parallel()
	need.Feature(t, runtime.GOARCH == "amd64", "a terminal of codelia for this processor")
	_, modules := need.Node(t)
	d := serves(t, nil)
	terminal, err := filepath.Abs(filepath.Join(modules, "@codelia", "tui-linux-x64", "bin", "codelia-tui"))
	require.NoError(t, err)
	for name, config := range map[string]string{"asked": "", "unasked": "[codelia]\nconfirm = false\n"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(d.dir, name)
			require.NoError(t, os.Mkdir(dir, 0o700))
			file := filepath.Join(dir, "config.toml")
			require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
			s := newTmux(t, d.Env).sits(name, "trap '' INT\nexport TROUPE_NO_DAEMON= TROUPE_CONFIG="+file+" SHELL=/bin/bash CODELIA_RUNTIME_CMD=troupe\n"+
				"CODELIA_RUNTIME_ARGS='rpc --dialect codelia' "+terminal)
			s.has("idle")
			types := func(command string) {
				s.keys("!")
				s.keys("-l", command)
				s.keys("Enter")
				if name == "asked" {
					s.has("Run this command?")
					s.keys("Enter")
				}
			}
			types("echo out; echo err >&2; exit 3")
			s.has("bang exec done: exit=3")
			s.has("queued=1")
			require.Regexp(t, `bang stdout:\s+out\s+bang stderr:\s+err`, s.shows())
			types("seq 500")
			s.has("truncated; full output: tool_output_cache ref")
			types("echo $$ > pid; exec sleep 600")
			settles(t, "files that are empty", 0, func() int {
				if text, _ := os.ReadFile(s.dir + "/pid"); len(text) > 0 {
					return 0
				}
				return 1
			})
			settles(t, "tasks that are not detached", 0, func() int {
				if strings.Contains(s.shows(), "Detached shell task") {
					return 0
				}
				s.keys("C-b") // it is passed over until the terminal waits
				return 1
			})
			pid := strings.TrimSpace(s.reads("pid"))
			require.True(t, alive(pid))
			settles(t, "terminals of codelia that run", 0, func() int {
				if after, _ := os.ReadFile(s.dir + "/after"); len(after) > 0 {
					return 0
				}
				s.keys("C-c") // two in a row end it, one if it is idle
				return 1
			})
			s.awaitEnd()
			leaveNothing(t, []string{pid})
		})
	}
}
