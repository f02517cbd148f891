package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// What a client of codelia's runtime gets, through the daemon (R-242, R-243, R-248, R-249, R-259,
//
func TestGoldenRPCOfCodelia(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	server := d.codeliaServer()
	server.Dir = d.file("work")
	require.NoError(t, os.Mkdir(server.Dir, 0o700))
	server.Env = append(server.Env, d.configures("[codelia]\ndeny = ['mkfs']\n"))
	c := server.speaksCodelia()
	var all strings.Builder
	put := func(method string, p params) params {
		s := c.ask(method, p)
		fmt.Fprintf(&all, "> %s %s\n", method, readable(t, p, ""))
		if s.Error != nil {
			fmt.Fprintf(&all, "error %d: %s\n\n", s.Error.Code, s.Error.Message)
			return nil
		}
		var result params
		require.NoError(t, json.Unmarshal(s.Result, &result))
		fmt.Fprintf(&all, "%s\n\n", readable(t, result, "  "))
		return result
	}
	put("initialize", params{"protocol_version": "0", "client": params{"name": "wire", "version": "1"}})
	put("shell.exec", params{"command": "echo out; echo err >&2; exit 3"})
	put("shell.exec", params{"command": "sleep 60", "timeout_seconds": 1})
	put("shell.exec", params{"command": "kill -KILL $$"})
	put("shell.exec", params{"command": "pwd", "cwd": ".."})
	put("shell.exec", params{"command": "true && mkfs x"})
	long := put("shell.exec", params{"command": "seq 161 | tr '\\n' ' '; echo; seq 161"})
	ref := long["stdout_cache_id"]
	for _, tool := range []params{
		{"name": "tool_output_cache", "arguments": params{"ref_id": ref, "offset": 1, "limit": 2}},
		{"name": "tool_output_cache", "arguments": params{"ref_id": ref, "head": 2}},
		{"name": "tool_output_cache", "arguments": params{"ref_id": ref, "tail": 2}},
		{"name": "tool_output_cache_line", "arguments": params{"ref_id": ref, "line_number": 1, "char_offset": 10, "char_limit": 10}},
		{"name": "tool_output_cache_grep", "arguments": params{"ref_id": ref, "pattern": "^16.$", "regex": true}},
		{"name": "tool_output_cache", "arguments": params{"ref_id": ref, "head": 1, "tail": 1}},
		{"name": "shell", "arguments": params{"command": "echo out", "label": "says it"}},
	} {
		put("tool.call", tool)
	}
	open := gate(t, d.file("work/gate"))
	task := put("shell.start", params{"command": "read x < gate; echo through; exit 5"})
	id := task["task_id"]
	put("shell.status", params{"task_id": id})
	put("shell.wait", params{"task_id": id, "wait_timeout_seconds": 0.5})
	put("shell.detach", params{"task_id": id})
	open()
	put("shell.wait", params{"task_id": id})
	put("shell.output", params{"task_id": id, "stream": "stdout"})
	put("shell.cancel", params{"task_id": id})
	put("shell.list", params{"limit": 1})
	put("run.start", params{})
	dialecttest.GoldenAt(t, filepath.Join("testdata", "rpc", "codelia.txt"), all.String(),
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(d.dir)), By: "/srv"},
		dialecttest.Scrub{What: regexp.MustCompile(`"duration_ms": \d+`), By: `"duration_ms": 0`},
		dialecttest.Scrub{What: regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), By: "TIME"},
		dialecttest.Scrub{What: regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}`), By: "TASK"},
		dialecttest.Scrub{What: regexp.MustCompile(`says-it-[0-9a-z]{8}`), By: "says-it-KEY"},
		dialecttest.Scrub{What: regexp.MustCompile(`"version": "[^"]*"`), By: `"version": "VERSION"`},
	)
	c.leaves()
	for _, line := range []string{ // the audit log
		`"origin":"ui_bang","cwd":"` + server.Dir + `","timeout":120,"command":"echo out; echo err >&2; exit 3","time":"[^"]+","message":"shell.exec.start"`,
		`"origin":"ui_bang","duration_ms":\d+,"exit_code":3,"signal":null,"time":"[^"]+","message":"shell.exec.done"`,
		`"origin":"agent","cwd":"[^"]+","timeout":0,"command":"read x < gate; echo through; exit 5","time":"[^"]+","message":"shell.start"`,
	} {
		require.Regexp(t, line, server.err.String())
	}
}

// Whatever a client sends gets the error of the protocol, and the server serves on, with nothing
// started.
func TestBadInputRPCCodelia(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	c := d.codelia()
	exec := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"shell.exec","params":{"command":"echo <out>"}}`
	}
	for _, r := range []struct{ says, hears string }{
		{exec(`"a"`), `{"jsonrpc":"2.0","id":"a","result":{"command_preview":"echo <out>",`},
		{exec(`7`), `{"jsonrpc":"2.0","id":7,"result":`},
		{exec(`1.50`), `{"jsonrpc":"2.0","id":1.50,"result":`},
		{exec(`null`), `{"jsonrpc":"2.0","id":null,"result":`},
		{exec(`[1]`), `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"touch bad"`, `"id":null,"error":{"code":-32700,`},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shell.exec\",\"params\":{\"command\":\"touch bad\xff\"}}", `"id":null,"error":{"code":-32700,`},
		{`[]`, `"id":null,"error":{"code":-32600,`},
		{`{"id":1,"method":"shell.exec","params":{"command":"touch bad"}}`, `"id":1,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1,"method":["shell.exec"],"params":{"command":"touch bad"}}`, `"id":1,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":"touch bad"}`, `"id":1,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":["touch bad"]}`, `"id":1,"error":{"code":-32602,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":["touch bad"]}}`, `"id":1,"error":{"code":-32602,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"touch bad","timeout_seconds":true}}`, `"id":1,"error":{"code":-32602,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"touch bad","cwd":"/"}}`, `"id":1,"error":{"code":-32602,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"touch bad","shell":"/bin/sh"}}`, `"id":1,"error":{"code":-32602,`},
		{`{"jsonrpc":"2.0","id":1,"method":"bash","params":{"command":"touch bad"}}`, `"id":1,"error":{"code":-32601,`},
		{`{"jsonrpc":"2.0","id":1,"method":"shell.cancel","params":{"task_id":"nothing"}}`, `"id":1,"error":{"code":-32602,"message":"shell task not found: nothing"}`},
		{`[1,` + exec("2") + `]`, `"id":2,"result":`},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 17<<20) + `"}`, `"id":null,"error":{"code":-32600,"message":"the line has more than 16777216 bytes"}`},
		{`{"jsonrpc":"2.0","id":3,"method":"shell.exec","params":{"command":"` + strings.Repeat("x", 2<<20) + `"}}`, `"id":3,"result":`}, // more than an argument may have
		{`{"jsonrpc":"2.0","method":"shell.exec","params":{"command":"touch bad"}}`, ""},
		{`{"jsonrpc":"2.0","id":"troupe-1","result":{"ok":true}}`, ""},
		{`{"jsonrpc":"2.0","id":"troupe-1","error":{"code":1,"message":"late"}}`, ""},
		{``, ""},
	} {
		c.line(r.says)
		if r.hears == "" {
			c.line(exec(`"next"`))
			r.hears = `"id":"next","result":`
		}
		require.Contains(t, string(c.hear()), r.hears, "to %.200q", r.says)
	}
	c.leaves()
	require.NoFileExists(t, d.file("bad"))
	require.Contains(t, c.server.err.String(), "has answered a request that does not wait")
}

// A command of minutes holds up no other request; many run at a time.
func TestCodeliaRequestsRunConcurrently(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	c := d.codelia()
	exec := c.send("shell.exec", params{"command": "read x < gate; echo through", "timeout_seconds": 300})
	task := c.gets("shell.start", params{"command": "exec sleep 600"})
	wait := c.send("shell.wait", params{"task_id": task["task_id"]})
	var quick []string
	for i := range 20 {
		quick = append(quick, c.send("shell.exec", params{"command": fmt.Sprintf("echo %d", i)}))
	}
	for i, id := range quick {
		require.Equal(t, fmt.Sprintf("%d\n", i), c.response(id).result(t)["stdout"])
	}
	require.Equal(t, "running", c.gets("shell.status", params{"task_id": task["task_id"]})["state"])
	require.Equal(t, "cancelled", c.gets("shell.cancel", params{"task_id": task["task_id"]})["state"])
	require.Equal(t, "cancelled", c.response(wait).result(t)["state"])
	open()
	require.Equal(t, "through\n", c.response(exec).result(t)["stdout"])
	c.leaves()
}

// At the end of its input the server answers what runs, ends the tasks, and exits with 0. With
// SIGTERM, or a client that has died, what runs ends.
func TestCodeliaRequestsAndTasksEnd(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(t *testing.T, c *codeliaClient, exec string, open func()){
		"input": func(t *testing.T, c *codeliaClient, exec string, open func()) {
			require.NoError(t, c.in.Close())
			open()
			require.Equal(t, "through\n", c.response(exec).result(t)["stdout"])
		},
		"SIGTERM": func(t *testing.T, c *codeliaClient, exec string, _ func()) {
			c.server.send(syscall.SIGTERM)
			require.Equal(t, "the server ends, and with it this request", c.response(exec).Error.Message)
		},
		"death": func(t *testing.T, c *codeliaClient, _ string, _ func()) {
			require.NoError(t, c.in.Close())
			require.NoError(t, c.server.pipe.Close())
		},
	} {
		for where, flags := range map[string][]string{"daemon": nil, "alone": {"--no-daemon"}} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				d := serves(t, nil)
				open := gate(t, d.file("gate"))
				begun := post(t, d.file("begun"))
				c := d.codelia(flags...)
				c.gets("shell.start", params{"command": "echo $$ >> pids; echo > begun; exec sleep 600"})
				begun()
				exec := c.send("shell.exec", params{"command": "echo $$ >> pids; echo > begun; read x < gate; echo through"})
				begun()
				ends(t, c, exec, open)
				c.server.ends(0)
				leaveNothing(t, d.pidsIn(d.file("pids")))
				if name != "death" {
					require.Empty(t, c.server.rest())
				}
			})
		}
	}
}

// The daemon is killed while a client waits for commands. They go on, the next daemon has them,
// and each request gets its response: also the one whose command is stopped by its deadline
// then, before its process tree has ended.
func TestFaultTheDaemonOfCodeliaDies(t *testing.T) {
	t.Parallel()
	m := begins(t)
	open, other, passed := gate(t, m.file("gate")), gate(t, m.file("other")), post(t, m.file("passed"))
	c := m.codelia()
	task := c.gets("shell.start", params{"command": "echo > passed; read x < gate; echo through; exit 5"})
	passed()
	wait := c.send("shell.wait", params{"task_id": task["task_id"]})
	exec := c.send("shell.exec", params{"command": "echo > passed; read x < other; echo through; exit 6"})
	passed()
	late := c.send("shell.exec", params{"command": "trap '' TERM; echo > passed; while :; do sleep 600 & wait; done", "timeout_seconds": 3})
	passed()
	m.killed()
	require.Equal(t, "after\n", c.gets("shell.exec", params{"command": "echo after"})["stdout"])
	ended := c.response(late).result(t)
	require.Equal(t, []any{"command timed out after 3 seconds", "SIGTERM"}, []any{ended["failure_message"], ended["signal"]})
	require.Equal(t, "running", c.gets("shell.status", params{"task_id": task["task_id"]})["state"])
	open()
	other()
	require.Equal(t, []any{5.0, "through\n"}, pick(c.response(wait).result(t), "exit_code", "stdout"))
	require.Equal(t, []any{6.0, "through\n"}, pick(c.response(exec).result(t), "exit_code", "stdout"))
	c.leaves()
}

// pick returns some fields of a result.
func pick(p params, names ...string) (values []any) {
	for _, name := range names {
		values = append(values, p[name])
	}
	return values
}

// Daemon and server are killed together, so nothing ends the tasks. The next server does.
func TestFaultCodeliaLeavesOrphans(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"rpc": nil, "mcp": {"--dialect", "codelia"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := begins(t)
			begun := post(t, m.file("begun"))
			command := params{"command": "echo $$ > pid; echo > begun; exec sleep 600"}
			if name == "rpc" {
				c := m.codelia()
				c.gets("shell.start", command)
				begun()
				stops(t, c.server.Process.Pid) // else it starts the next daemon
				m.killed()
				c.server.send(syscall.SIGKILL)
				c.server.ends(128 + int(syscall.SIGKILL))
			} else {
				a := m.agent(withSessions, nil, flags...)
				command["detached_wait"] = true
				_, failed, _ := a.says("shell", command)
				require.False(t, failed)
				begun()
				stops(t, a.server.Process.Pid)
				m.killed()
				a.server.send(syscall.SIGKILL)
				a.server.ends(128 + int(syscall.SIGKILL))
			}
			pids := m.pidsIn(m.file("pid"))
			m.again()
			require.True(t, alive(pids[0]), "nothing has ended it")
			if name == "rpc" {
				c := m.codelia()
				leaveNothing(t, pids)
				c.leaves()
				c.server.err.has(t, "tasks of dead servers were ended")
			} else {
				a := m.agent(withSessions, nil, flags...)
				_, _, _ = a.says("shell", params{"command": "true"})
				leaveNothing(t, pids)
			}
			jobs, err := host.Ask(t.Context(), m.client.Host(), messages.ListJobs{Finished: true})
			require.NoError(t, err)
			require.Equal(t, "its runtime has died", jobs.Jobs[0].End.Cause.Reason)
		})
	}
}
