package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/shelltext"
)

// configures writes a configuration that only programs have to which it is given.
func (p *process) configures(text string) (env string) {
	p.t.Helper()
	file := p.file("mcp.toml")
	require.NoError(p.t, os.WriteFile(file, []byte(text), 0o600))
	return "TROUPE_CONFIG=" + file
}

// Commands, also those of a live shell, have the limits that the client has started its server with.
func TestMCPLimits(t *testing.T) {
	t.Parallel()
	server := serves(t, nil).server()
	server.Args = append([]string{"sh", "-c", `ulimit -n 77; exec "$0" "$@"`, server.Path}, server.Args[1:]...)
	server.Path = "/bin/sh"
	a := server.speaks(withSessions, nil)
	for name, args := range map[string]params{"alone": {"command": "ulimit -n"}, "a session": {"command": "ulimit -n", "session": "s"}} {
		require.Equal(t, "77\n", a.run(args).Output, name)
	}
}

// Commands begin where the client has started its server, and have of its environment
// what the page says, what the settings name, and nothing else; of the daemon's nothing.
func TestMCPSurroundings(t *testing.T) {
	t.Parallel()
	d := serves(t, []string{"LANG=en_US.UTF-8", "LC_TIME=daemon", "XDG_OF_DAEMON=1", "NAMED=daemon"})
	server := d.server()
	server.Dir = d.file("workspace")
	require.NoError(t, os.MkdirAll(filepath.Join(server.Dir, "below"), 0o700))
	let := []string{
		"PATH=" + os.Getenv("PATH") + ":/of/client", "HOME=" + server.Dir, "LANG=C", "LC_TIME=client", "TERM=screen", "SHELL=/bin/sh", "USER=me", "LOGNAME=me",
		"TMPDIR=" + server.Dir, "XDG_ANYTHING=here", "NAMED=client", "NAMED_TOKEN=secret",
	}
	server.Env = append(append([]string{"TROUPE_SOCKET=" + d.socket(), "TROUPE_STATE=" + d.file("troupe"), "OTHER=1", "NAMED_NOT=1", "EDITOR=emacs"}, let...),
		d.configures("[mcp]\nenv = ['NAMED', 'NAMED_TOKEN', 'NOT_SET']\n"))
	a := server.speaks(withSessions, nil)
	for name, args := range map[string]params{
		"alone": {"command": "env"}, "argv": {"argv": []string{"env"}}, "a terminal": {"command": "env", "pty": true}, "a session": {"command": "env", "session": "s"},
	} {
		r := a.run(args)
		require.Equal(t, 0, *r.ExitCode, name)
		require.Equal(t, server.Dir, r.Cwd, name)
		have := map[string]string{}
		for line := range strings.Lines(r.Output) {
			key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
			have[key] = value
		}
		want := map[string]string{"PWD": server.Dir}
		for _, entry := range shelltext.NonInteractive(true) {
			if key, value, _ := strings.Cut(entry, "="); name != "a terminal" {
				want[key] = value
			}
		}
		for _, entry := range let {
			if key, value, _ := strings.Cut(entry, "="); key != "TERM" {
				want[key] = value
			}
		}
		if name == "a terminal" {
			want["TERM"] = "xterm-256color"
		}
		for key := range have { // of the shell, and of the job itself
			if _, is := want[key]; !is && (key == "_" || key == "SHLVL" || key == "OLDPWD" || strings.HasPrefix(key, "TROUPE_")) {
				delete(have, key)
			}
		}
		if name == "argv" {
			delete(want, "PWD") // is a shell's
			delete(have, "PWD")
		}
		require.Equal(t, want, have, name)
	}
	require.Equal(t, server.Dir+"/below\n", a.run(params{"command": "pwd", "cwd": "below"}).Output)
	require.Equal(t, "mine\n", a.run(params{"command": "echo $NAMED", "env": params{"NAMED": "mine"}}).Output)
}

// A session tells where it is now, and where the command began.
func TestMCPSessionTellsWhereItIs(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withRounds, nil)
	at, err := filepath.EvalSymlinks(d.dir)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(d.file("below"), 0o700))
	r := a.run(params{"command": "cd below", "session": "s"})
	require.Equal(t, []string{"s", at, at + "/below"}, []string{r.Session, r.Cwd, r.SessionCwd})
	_, text, err := ask[core.RunResult](t.Context(), a, "run", params{"command": "pwd", "session": "s"})
	require.NoError(t, err)
	require.Contains(t, text, at+"/below\n[job ")
	require.Contains(t, text, "[session s is in "+at+"/below]")
	r = a.run(params{"command": "cd /", "session": "s"})
	require.Equal(t, []string{at + "/below", "/"}, []string{r.Cwd, r.SessionCwd})
	sessions := mustCall[core.Jobs](a, "list", nil).Sessions
	require.Len(t, sessions, 1)
	require.Equal(t, "/", sessions[0].Cwd)
	r = a.run(params{"command": "true"})
	require.Equal(t, []string{"", ""}, []string{r.Session, r.SessionCwd})
}

// The server describes the host's other tools to the model, and mentions them in the
// descriptions of its own. Without any it says nothing.
func TestMCPToolsBeside(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	const said = "This host has other tools, which are better than a command for what they do: read_file, grep, edit."
	web := d.port("--tools", "read_file,grep", "--tools", "edit")
	for _, revision := range []string{withSessions, withRounds} {
		for a, is := range map[*agent]bool{
			d.agent(revision, nil, "--tools", "read_file,grep,edit"): true, web.agent("a", revision, nil): true, d.agent(revision, nil): false,
		} {
			require.Equal(t, is, strings.Contains(a.InitializeResult().Instructions, said))
			list, err := a.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, list.Tools, 8)
			for _, tool := range list.Tools {
				require.Equal(t, is && tool.Name == "run", strings.HasSuffix(tool.Description, said), tool.Name)
				require.Nil(t, tool.OutputSchema, tool.Name)
			}
		}
	}
}

// The settings bound each client, and what is refused says what there is, how much of
// it, and what to do.
func TestMCPSettings(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.Env = append(d.Env, d.configures("[mcp]\njobs = 3\nsessions = 2\noutput = '64KiB'\n"))
	web := d.port()
	for name, a := range map[string]*agent{
		"stdio": d.agent(withSessions, nil), "stdio again": d.agent(withRounds, nil, "--keep"), "http": web.agent("", withSessions, nil), "http again": web.agent("b", withRounds, nil),
		"no daemon": d.agent(withSessions, nil, "--no-daemon"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a.t = t
			r := a.run(params{"command": "seq 1 100000; exit 3", "streams": "separate"})
			require.Equal(t, 3, *r.ExitCode)
			require.NotEmpty(t, mustCall[core.RunResult](a, "read", params{"job_id": r.JobID, "from": 100_000}).Missing)
			require.Equal(t, "1\n2\n", mustCall[core.RunResult](a, "read", params{"job_id": r.JobID, "head": 2}).Output)

			a.run(params{"command": "true", "session": "one"}) // and there is the place of the others
			text := a.refused("run", params{"command": "true", "session": "two"})
			require.Regexp(t, `^\[?.*scope mcp/\S*day-agent-\w{6}: limit of 2 sessions reached`, text)
			require.Contains(t, text, "(resource_exhausted, sessions)")
			require.Contains(t, text, "close one or raise the quota")
			mustCall[core.StopResult](a, "stop", params{"session": "one"})
			a.run(params{"command": "true", "session": "two"})

			var ids []string
			for range 3 {
				ids = append(ids, a.run(params{"command": "exec sleep 600", "background": true}).JobID)
			}
			text = a.refused("run", params{"command": "true"})
			require.Regexp(t, `scope mcp/\S*day-agent-\w{6}: limit of 3 jobs reached`, text)
			require.Contains(t, text, "(resource_exhausted, jobs)")
			mustCall[core.StopResult](a, "stop", params{"job_ids": ids[:1], "grace_seconds": 0})
			require.Equal(t, "room\n", a.run(params{"command": "echo room"}).Output)
			mustCall[core.StopResult](a, "stop", params{"all": true, "grace_seconds": 0})
		})
	}
}

// A server that is run as a job has its clients below the scope of that job.
func TestMCPBelowAScope(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.Env = append(d.Env, "TROUPE_SCOPE=main/outer")
	web := d.port()
	for a, below := range map[*agent]string{
		d.agent(withSessions, nil): "main/outer/", d.agent(withRounds, nil, "--keep"): "main/outer/", web.agent("x", withSessions, nil): "main/outer/http-",
	} {
		r := a.run(params{"command": "echo $TROUPE_SCOPE"})
		require.Regexp(t, "^"+below+"(....../)?day-agent-......\n$", r.Output)
		require.Equal(t, strings.TrimSpace(r.Output), d.record(r.JobID)["scope"])
	}
	for _, bad := range []string{"../x", "", "/"} { // none that could be one
		p := d.server()
		p.Env = append(p.Env, "TROUPE_SCOPE="+bad)
		require.Regexp(t, "^mcp/day-agent-......\n$", p.speaks(withSessions, nil).run(params{"command": "echo $TROUPE_SCOPE"}).Output, bad)
	}
}
