package main

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell calls a tool of the shell family, and gives what a model reads.
func (a *agent) shell(tool string, args params) (shown params) {
	a.t.Helper()
	said, failed, _ := a.says(tool, args)
	require.False(a.t, failed, said)
	require.NoError(a.t, json.Unmarshal([]byte(said[0]), &shown), said[0])
	return shown
}

// What a client of codelia's tools gets, through the daemon.
func TestGoldenMCPOfCodelia(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := wired(d, "codelia", "[codelia]\ndeny = ['mkfs']\n")
	shell := func(args params) string {
		r := w.calls("shell", args)
		return regexp.MustCompile(`"key":"([^"]*)"`).FindStringSubmatch(r["content"].([]any)[0].(params)["text"].(string) + `"key":""`)[1]
	}
	shell(params{"command": "echo out; echo err >&2"})
	failed := shell(params{"command": "echo err >&2; exit 3", "label": "fails"})
	shell(params{"command": "echo begun; sleep 60", "timeout": 1})
	shell(params{"command": "mkfs x"})
	shell(params{"command": "true", "timeout": 301})
	shell(params{"command": "true", "colour": "red"})
	open := gate(t, d.file("work/gate"))
	build := shell(params{"command": "read x < gate; echo built; exit 2", "label": "build", "detached_wait": true})
	w.calls("shell_list", params{})
	w.calls("shell_status", params{"key": build})
	w.calls("shell_wait", params{"key": build, "wait_timeout": 1})
	open()
	w.calls("shell_wait", params{"key": build})
	w.calls("shell_logs", params{"key": failed, "stream": "stderr"})
	w.calls("shell_result", params{"key": failed})
	cat := shell(params{"command": "cat", "detached_wait": true, "stdin_mode": "pipe"})
	w.calls("shell_stdin_write", params{"key": cat, "text": "typed", "append_newline": true})
	w.calls("shell_cancel", params{"key": cat})
	long := shell(params{"command": "sleep 600", "detached_wait": true, "label": "long"})
	w.calls("shell_cancel", params{"key": long})
	w.calls("shell_list", params{"state": "cancelled"})
	w.calls("shell_status", params{"key": "shell-none"})
	r := w.calls("shell", params{"command": "seq 400"})
	ref := regexp.MustCompile(`"stdout_cache_id":"([^"]+)"`).FindStringSubmatch(r["content"].([]any)[0].(params)["text"].(string))[1]
	w.calls("tool_output_cache", params{"ref_id": ref, "tail": 2})
	w.calls("tool_output_cache_line", params{"ref_id": ref, "line_number": 7})
	w.calls("tool_output_cache_grep", params{"ref_id": ref, "pattern": "399"})
	w.golden(d, "codelia")
}

// Tasks and files of a session end with their client, in the daemon and without.
func TestMCPTasksOfCodeliaEndWithTheirClient(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"daemon": nil, "alone": {"--no-daemon"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			a := d.set("codelia", "", flags...)
			begun := post(t, d.file("begun"))
			a.shell("shell", params{"command": "echo $$ > pid; echo > begun; exec sleep 600", "detached_wait": true})
			begun()
			require.NotEmpty(t, a.shell("shell", params{"command": "seq 400"})["stdout_cache_id"])
			require.NoError(t, a.in.Close())
			a.server.ends(0)
			leaveNothing(t, d.pidsIn(d.file("pid")))
		})
	}
}

// The daemon is killed over a call and between calls: the command goes on, the task is there, and
// each call has its result.
func TestFaultTheDaemonOfCodeliasToolsDies(t *testing.T) {
	t.Parallel()
	m := begins(t)
	open, passed := gate(t, m.file("gate")), post(t, m.file("passed"))
	a := m.set("codelia", "")
	key := a.shell("shell", params{"command": "echo > passed; read x < gate; echo through; exit 5", "detached_wait": true})["key"]
	passed()
	m.killed()
	require.Equal(t, "after", a.shell("shell", params{"command": "echo after"})["stdout"])
	require.Equal(t, "running", a.shell("shell_status", params{"key": key})["state"])
	open()
	require.Equal(t, []any{5.0, "through"}, pick(a.shell("shell_wait", params{"key": key}), "exit_code", "stdout"))
}

// Each setting of codelia is seen by its clients, over MCP and over RPC.
func TestSettingsOfCodelia(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	require.NoError(t, os.MkdirAll(d.file("root/sub"), 0o700))
	config := "[codelia]\nroot = '" + d.file("root") + "'\ndeny = ['mkfs', 'reboot']\nwrap = ['env', 'WRAPPED=yes']\nenv = ['MY_TOKEN']\n"
	env := func(p *process, config string) *process {
		p.Dir = d.file("root/sub")
		p.Env = append(p.Env, d.configures(config), "MY_TOKEN=mine", "OTHER_TOKEN=other")
		return p
	}
	a := env(d.server("--dialect", "codelia"), config).speaks(withSessions, nil)
	require.Equal(t, "<yes> mine\n"+d.file("root/sub"), a.shell("shell", params{"command": "echo \"<$WRAPPED> $MY_TOKEN\" $OTHER_TOKEN; pwd"})["stdout"])
	said, failed, _ := a.says("shell", params{"command": "reboot"})
	require.True(t, failed)
	require.Equal(t, `the command "reboot" is denied`, said[0])

	c := env(d.codeliaServer(), config).speaksCodelia()
	require.Equal(t, d.file("root")+"\n", c.gets("shell.exec", params{"command": "pwd", "cwd": ".."})["stdout"])
	require.Equal(t, -32602, c.ask("shell.exec", params{"command": "pwd", "cwd": "../.."}).Error.Code)
	require.Equal(t, -32000, c.ask("shell.start", params{"command": "mkfs"}).Error.Code)
	require.Equal(t, "yes mine other\n", c.gets("shell.exec", params{"command": "echo $WRAPPED $MY_TOKEN $OTHER_TOKEN"})["stdout"], "what a user types has the user's environment")
	asks := params{"protocol_version": "0", "client": params{"name": "wire", "version": "1"}, "ui_capabilities": params{"supports_confirm": true}}
	c.gets("initialize", asks)
	c.send("shell.start", params{"command": "true"})
	require.Contains(t, string(c.hear()), `"method":"ui.confirm.request"`)
	c.leaves()

	c = env(d.codeliaServer(), "[codelia]\nconfirm = false\n").speaksCodelia()
	c.gets("initialize", asks)
	require.NotEmpty(t, c.gets("shell.start", params{"command": "true"})["task_id"])
	c.leaves()
}
