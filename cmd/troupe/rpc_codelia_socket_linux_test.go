package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// listens starts a server at a socket.
func (p *process) listens(path string, flags ...string) *process {
	p.t.Helper()
	q := p.codeliaServer(append([]string{"--listen", path}, flags...)...).start()
	q.err.has(p.t, "serving codelia at "+path)
	return q
}

// Many clients use the socket of one server. Each has a session, and its tasks end with it.
func TestCodeliaServesManyClientsAtASocket(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	path := d.file("run/rpc")
	server := d.listens(path)
	one, other := dialsCodelia(t, path), dialsCodelia(t, path)
	task := one.gets("shell.start", params{"command": "echo $$ > one; exec sleep 600"})
	other.gets("shell.start", params{"command": "echo $$ > other; exec sleep 600"})
	require.Contains(t, other.ask("shell.status", params{"task_id": task["task_id"]}).Error.Message, "shell task not found")
	for _, file := range []string{"one", "other"} {
		settles(t, "files that are empty", 0, func() int {
			if text, _ := os.ReadFile(d.file(file)); len(text) > 0 {
				return 0
			}
			return 1
		})
	}
	open := gate(t, d.file("gate"))
	exec := one.send("shell.exec", params{"command": "read x < gate; echo through"})
	require.NoError(t, one.in.(interface{ CloseWrite() error }).CloseWrite())
	open()
	require.Equal(t, "through\n", one.response(exec).result(t)["stdout"], "at the end of its input")
	leaveNothing(t, d.pidsIn(d.file("one")))
	require.True(t, alive(d.pidsIn(d.file("other"))[0]))

	third := dialsCodelia(t, path)
	third.send("shell.exec", params{"command": "echo $$ > third; exec sleep 600"})
	settles(t, "files that are empty", 0, func() int {
		if text, _ := os.ReadFile(d.file("third")); len(text) > 0 {
			return 0
		}
		return 1
	})
	require.NoError(t, third.in.Close(), "it has gone, and waits for nothing")
	leaveNothing(t, d.pidsIn(d.file("third")))

	server.send(syscall.SIGTERM)
	server.ends(0)
	leaveNothing(t, d.pidsIn(d.file("other")))
	require.NoFileExists(t, path)
}

// The socket is its user's alone. That of a dead server is replaced, that of a live one is not;
// neither is any other file.
func TestSecuritySocketOfCodelia(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	path := d.file("run/rpc")
	first := d.listens(path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	second := d.codeliaServer("--listen", path).start()
	second.ends(125)
	require.Contains(t, second.err.String(), "another server answers at "+path)
	first.send(syscall.SIGKILL)
	first.ends(128 + int(syscall.SIGKILL))
	require.FileExists(t, path)
	d.listens(path)
	require.Equal(t, "out\n", dialsCodelia(t, path).gets("shell.exec", params{"command": "echo out"})["stdout"])

	for at, says := range map[string]string{d.file("file"): "is not a socket", "relative/" + strings.Repeat("x", 100): "at most 107", "/proc/none/rpc": "cannot be made"} {
		if at == d.file("file") {
			require.NoError(t, os.Chmod(d.dir, 0o700))
			require.NoError(t, os.WriteFile(at, []byte("kept"), 0o600))
		}
		refused := d.codeliaServer("--listen", at).start()
		refused.ends(2, 125)
		require.Contains(t, refused.err.String(), says)
	}
	text, err := os.ReadFile(d.file("file"))
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
}

// A process in a sandbox that the server is not in may not use its socket: its commands would
// leave the sandbox.
func TestSecurityConfinedClientOfCodelia(t *testing.T) {
	t.Parallel()
	setpriv, python := need.Program(t, "setpriv"), need.Program(t, "python3")
	d := serves(t, nil)
	for name, c := range map[string]struct {
		config string
		gets   bool
	}{"refused": {"", false}, "allowed": {"allow_confined = true\n", true}} {
		path := d.file(name + "/rpc")
		server := d.codeliaServer("--listen", path)
		server.Env = append(server.Env, d.configures(c.config))
		server.start()
		server.err.has(t, "serving codelia at "+path)
		client := exec.CommandContext(t.Context(), setpriv, "--no-new-privs", python, "-c", `
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"echo out"}}\n')
    sys.stdout.write(s.makefile().readline())
except (BrokenPipeError, ConnectionResetError):
    pass
`, path)
		out, err := client.Output()
		require.NoError(t, err)
		require.Equal(t, c.gets, strings.Contains(string(out), `"stdout":"out\n"`), "%s: %s", name, out)
		if !c.gets {
			server.err.has(t, "the client is confined and this server is not: no_new_privs is set for it")
		}
	}
}
