package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// desktop prepares a server as a desktop starts it: with a PATH of the system, and a user whose
// start file adds a directory that has a program.
func (p *process) desktop(path, shell, start, text string, flags ...string) (server *process, tools string) {
	p.t.Helper()
	home := p.t.TempDir()
	tools = filepath.Join(home, "the user's tools")
	require.NoError(p.t, os.Mkdir(tools, 0o700))
	require.NoError(p.t, os.WriteFile(filepath.Join(tools, "theirs"), []byte("#!/bin/sh\necho found\n"), 0o700))
	require.NoError(p.t, os.WriteFile(filepath.Join(home, start), []byte(text), 0o600))
	server = p.server(flags...)
	server.Env = slices.DeleteFunc(slices.Clone(server.Env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	server.Env = append(server.Env, "HOME="+home, "SHELL="+shell, "TROUPE_SOCKET="+p.socket(), "TROUPE_STATE="+p.file("troupe"))
	if path != "" {
		server.Env = append(server.Env, path)
	}
	return server, tools
}

const addsTools = "case $- in *i*) ;; *) return ;; esac\necho noise\nexport PATH=\"$HOME/the user's tools:.:$PATH\"\n"

// A server that a desktop starts gives its jobs the PATH of the user's shell after its own, with
// or without a daemon, in sessions and on terminals, and in each dialect.
func TestFaultMCPOfADesktop(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, c := range map[string]struct {
		path, shell, start string
		flags              []string
		own                string
	}{
		"bash":            {"PATH=/usr/bin:/bin", "/bin/bash", ".bashrc", nil, "/usr/bin:/bin"},
		"no shell":        {"PATH=/usr/bin:/bin", "", ".bashrc", nil, "/usr/bin:/bin"},
		"another shell":   {"PATH=/usr/bin:/bin", "/usr/bin/fish", ".bashrc", nil, "/usr/bin:/bin"},
		"own directories": {"PATH=/of/client:/usr/bin:/bin", "/bin/bash", ".bashrc", []string{"--keep"}, "/of/client:/usr/bin:/bin"},
		"no daemon":       {"PATH=/usr/bin:/bin", "/bin/bash", ".bashrc", []string{"--no-daemon"}, "/usr/bin:/bin"},
		"no PATH":         {"", "/bin/bash", ".bashrc", nil, ""},
		"an empty PATH":   {"PATH=", "/bin/bash", ".bashrc", nil, ""},
	} {
		server, tools := d.desktop(c.path, c.shell, c.start, addsTools, c.flags...)
		a := server.speaks(withSessions, nil)
		for how, args := range map[string]params{"alone": {}, "a terminal": {"pty": true}, "a session": {"session": "s"}} {
			args["command"] = "theirs; echo $PATH"
			found, path, _ := strings.Cut(strings.ReplaceAll(a.run(args).Output, "\r", ""), "\n")
			require.Equal(t, "found", found, "%s, %s", name, how)
			if c.own != "" {
				require.Equal(t, c.own+":"+tools+"\n", path, "%s, %s", name, how)
			}
			require.NotContains(t, strings.Split(strings.TrimSpace(path), ":"), ".", "%s, %s", name, how)
		}
		require.NotContains(t, server.err.String(), "cannot get", name)
	}
	for _, dialect := range []string{"omp", "opencode", "copilot"} {
		server, _ := d.desktop("PATH=/usr/bin:/bin", "/bin/bash", ".bashrc", addsTools, "--dialect", dialect)
		server.Env = append(server.Env, "TROUPE_SHELL_NO_LOGIN=1") // /etc/profile may set PATH anew
		args := params{"command": "theirs"}
		if dialect != "omp" {
			args["description"] = "runs the user's program"
		}
		said, failed, _ := server.speaks(withSessions, nil).says("bash", args)
		require.False(t, failed, "%s: %v", dialect, said)
		require.Contains(t, said[0], "found", dialect)
	}
}

// So does a user of zsh, whose start file is elsewhere.
func TestFaultMCPOfADesktopWithZsh(t *testing.T) {
	t.Parallel()
	zsh := need.Program(t, "zsh")
	d := serves(t, nil)
	server, tools := d.desktop("PATH=/usr/bin:/bin:/usr/sbin:/sbin", zsh, ".zshrc", "path=(\"$HOME/the user's tools\" $path)\ntypeset -U path\n")
	require.Equal(t, "found\n/usr/bin:/bin:/usr/sbin:/sbin:"+tools+"\n", server.speaks(withSessions, nil).run(params{"command": "theirs; echo $PATH"}).Output)
}

// Its own PATH is all that there is if the user wants no snapshot, has no start file, or has one
// that does not come to its end; only the last is reported.
func TestFaultMCPWithoutAUsersPath(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, c := range map[string]struct {
		start, text, config string
		warns               bool
	}{
		"no snapshot": {".bashrc", addsTools, "snapshot = false\n", false},
		"another":     {".zshrc", addsTools, "", false},
		"a fish":      {".bashrc", addsTools, "shell = '/usr/bin/fish'\n", false},
		"ends":        {".bashrc", "exit 3\n", "", true},
		"hangs":       {".bashrc", "sleep 600\n", "", true},
	} {
		server, _ := d.desktop("PATH=/usr/bin:/bin", "/bin/bash", c.start, c.text)
		server.Env = append(server.Env, d.configures(c.config))
		require.Equal(t, "/usr/bin:/bin\n", server.speaks(withSessions, nil).run(params{"command": "echo $PATH"}).Output, name)
		require.Equal(t, c.warns, strings.Contains(server.err.String(), "cannot get that of the user's shell"), "%s: %s", name, server.err)
	}
	left, err := filepath.Glob(d.file("troupe-*/mcp-*"))
	require.NoError(t, err)
	require.Empty(t, left, "what made the snapshots is gone")
}
