package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp"
	"troupe/internal/test/need"
	"troupe/messages"
)

// An unknown parameter of a tool is answered with the one that may be meant, in each dialect.
func TestUnknownParametersAreAnsweredWithTheNearest(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for dialect, c := range map[string]struct {
		tool, typed, meant string
	}{
		"core": {"run", "timeout_secnds", "timeout_seconds"}, "omp": {"bash", "timeuot", "timeout"}, "opencode": {"bash", "workdr", "workdir"},
		"copilot": {"bash", "Descripton", "description"}, "codelia": {"shell", "detached_wiat", "detached_wait"},
	} {
		a := d.agent(withSessions, nil, "--dialect", dialect)
		for typed, hint := range map[string]string{c.typed: fmt.Sprintf("there is no parameter %q; did you mean %q?", c.typed, c.meant), "colour": `there is no parameter "colour"`} {
			_, text, err := ask[any](t.Context(), a, c.tool, params{"command": "true", typed: "1"})
			if err == nil || !strings.Contains(text, hint) || typed == "colour" && strings.Contains(text, "mean") {
				t.Errorf("%s, %s: %q", dialect, typed, text)
			}
		}
	}
}

// What is wrong with the parameters of a tool is said by their names, with a code that
// the text has, and starts nothing.
func TestBadInputOfMCPTools(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil)
	for _, c := range []struct {
		tool string
		args params
		says string
	}{
		{"run", params{}, "invalid_params"},
		{"run", params{"command": ""}, "invalid_params"},
		{"run", params{"command": 7}, "command"},
		{"run", params{"command": []string{"a"}}, "command"},
		{"run", params{"command": "true", "argv": []string{"true"}}, "invalid_params"},
		{"run", params{"argv": "true"}, "argv"},
		{"run", params{"argv": []any{"true", 1}}, "argv"},
		{"run", params{"argv": []string{}}, "invalid_params"},
		{"run", params{"command": "true", "comand": "x"}, `did you mean "command"?`},
		{"run", params{"command": "tr\x00ue"}, "NUL"},
		{"run", params{"argv": []string{"a\x00b"}}, "NUL"},
		{"run", params{"command": "true", "cwd": "/nowhere/at/all"}, "cwd"},
		{"run", params{"command": "true", "cwd": "a\x00b"}, "NUL"},
		{"run", params{"command": "true", "cwd": strings.Repeat("d/", 5000)}, "cwd"},
		{"run", params{"command": "true", "env": params{"A=B": "c"}}, "env_refused"},
		{"run", params{"command": "true", "env": params{"": "c"}}, "env_refused"},
		{"run", params{"command": "true", "env": params{"A": "c\x00d"}}, "env_refused"},
		{"run", params{"command": "true", "env": params{"A": 1}}, "env"},
		{"run", params{"command": "true", "env": []string{"A=B"}}, "env"},
		{"run", params{"command": "true", "shell": "/bin/evil"}, "shell"},
		{"run", params{"command": "true", "session": "../x"}, "session"},
		{"run", params{"command": "true", "session": strings.Repeat("s", 1000)}, "session"},
		{"run", params{"command": "true", "name": "a/b"}, "name"},
		{"run", params{"command": "true", "key": strings.Repeat("k", 10_000)}, "key"},
		{"run", params{"command": "true", "streams": "three"}, "streams"},
		{"run", params{"command": "true", "rows": 10}, "pty"},
		{"run", params{"command": "true", "pty": true, "rows": -1}, "rows"},
		{"run", params{"command": "true", "pty": true, "cols": 1 << 20}, "rows"},
		{"run", params{"command": "true", "pty": true, "stdin": "x"}, "stdin"},
		{"run", params{"command": "true", "interactive": true, "stdin": "x"}, "stdin"},
		{"run", params{"command": "true", "wait_seconds": -1}, "wait_seconds"},
		{"run", params{"command": "true", "wait_seconds": "NaN"}, "wait_seconds"},
		{"run", params{"command": "true", "timeout_seconds": -0.5}, "timeout_seconds"},
		{"run", params{"command": "true", "timeout_seconds": 1e300}, "timeout_seconds"},
		{"run", params{"command": "true", "grace_seconds": -5}, "grace_seconds"},
		{"run", params{"command": "true", "max_bytes": -5}, "max_bytes"},
		{"run", params{"command": "true", "max_bytes": 1 << 40}, "max_bytes"},
		{"run", params{"command": "true", "max_bytes": 1.5}, "max_bytes"},
		{"run", params{"command": "true", "max_bytes": json.Number("99999999999999999999")}, "max_bytes"},
		{"run", params{"command": "true", "background": "yes"}, "background"},
		{"run", params{"command": "true", "detach": true, "session": "s"}, "detach"},
		{"read", params{}, "job_id"},
		{"read", params{"job_id": 1}, "job_id"},
		{"read", params{"job_id": ""}, "invalid_params"},
		{"read", params{"job_id": "j1", "line": -1}, "line"},
		{"read", params{"job_id": "j1", "from": -1}, "from"},
		{"read", params{"job_id": "j1", "from": 1, "tail": 1}, "from"},
		{"read", params{"job_id": "j1", "head": 1, "tail": 2}, "head"},
		{"read", params{"job_id": "j1", "line": 1, "tail": 2}, "line"},
		{"read", params{"job_id": "j1", "wait_seconds": 1}, "wait_seconds"},
		{"read", params{"job_id": "j1", "from": json.Number("9223372036854775808")}, "from"},
		{"write", params{"job_id": "j1"}, "invalid_params"},
		{"write", params{"job_id": "j1", "text": "a", "keys": "b"}, "invalid_params"},
		{"stop", params{}, "job_ids"},
		{"stop", params{"job_ids": []string{"j1"}, "all": true}, "job_ids"},
		{"stop", params{"session": "nothing"}, "session"},
		{"stop", params{"session": "../x"}, "session"},
		{"stop", params{"all": true, "signal": "KILL"}, "signal"},
		{"wait", params{"until": "never", "job_ids": []string{"j1"}}, "(not_found, job)"},
		{"wait", params{"job_ids": "j1"}, "job_ids"},
		{"list", params{"al": true}, "al"},
		{"promote", params{}, "job_id"},
		{"screen", params{"job_id": "j1"}, "(not_found, job)"},
	} {
		_, text, err := ask[any](t.Context(), a, c.tool, c.args)
		if err == nil || !strings.Contains(text, c.says) {
			t.Errorf("%s %.200v: %q", c.tool, c.args, text)
		}
	}
	require.Empty(t, mustCall[core.Jobs](a, "list", params{"all": true}).Jobs)

	_, _, err := ask[any](t.Context(), a, "sudo", params{})
	require.ErrorContains(t, err, "sudo")
	job := a.run(params{"command": "echo hi; exec sleep 600", "background": true})
	for _, c := range []struct {
		tool string
		args params
		says string
	}{
		{"write", params{"text": "x\n"}, "run it with interactive"},
		{"write", params{"keys": "{nokey}"}, "is not a key"},
		{"write", params{"keys": "{enter}"}, "run it with interactive"},
		{"screen", nil, "terminal"},
		{"read", params{"stream": "stderr"}, "it has merged"},
		{"wait", params{"until": "match", "pattern": "("}, "pattern"},
		{"wait", params{"until": "match"}, "pattern"},
		{"wait", params{"until": "port", "port": 70000}, "port"},
		{"wait", params{"until": "never"}, "until"},
		{"wait", params{"timeout_seconds": -1}, "timeout_seconds"},
		{"wait", params{"quiet_seconds": -1}, "quiet"},
		{"stop", params{"signal": "NOSIGNAL"}, "signal"},
		{"stop", params{"grace_seconds": -1}, "grace_seconds"},
	} {
		args := params{"job_id": job.JobID}
		if c.tool == "wait" || c.tool == "stop" {
			args = params{"job_ids": []string{job.JobID}}
		}
		for k, v := range c.args {
			args[k] = v
		}
		_, text, err := ask[any](t.Context(), a, c.tool, args)
		if err == nil || !strings.Contains(text, c.says) {
			t.Errorf("%s %v: %q", c.tool, args, text)
		}
	}
	far := mustCall[core.RunResult](a, "read", params{"job_id": job.JobID, "from": int64(1) << 62})
	require.Empty(t, far.Output)
	far = mustCall[core.RunResult](a, "read", params{"job_id": job.JobID, "line": int64(1) << 62})
	require.Empty(t, far.Output)
	require.True(t, mustCall[core.RunResult](a, "read", params{"job_id": job.JobID}).Running)
}

// Lines that are no requests are refused; the same server answers the next one, and its
// jobs run on.
func TestBadInputOfMCPLines(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.scribe().initialized()
	job := w.runs()
	for _, c := range []struct {
		text string
		code int64 // 0: it is passed over
	}{
		{`{`, -32700},
		{"\x00\x01\x02", -32700},
		{"\xff\xfe", -32700},
		{strings.Repeat("[", 100_000), -32700},
		{`{}{}`, -32700},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run","arguments":{"command":"echo x > bad"`, -32700},
		{`[]`, -32600},
		{`null`, -32600},
		{`7`, -32600},
		{`"x"`, -32600},
		{`{}`, -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`[{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"run","arguments":{"command":"echo x > bad"}}},{}]`, -32600},
		{``, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, 0},
		{`{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}`, 0},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`, 0},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, 0},
		{`{"jsonrpc":"2.0","method":"notifications/nothing"}`, 0},
		{`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, 0},
	} {
		w.line(c.text)
		w.refuses(c.code, c.text)
		require.True(t, w.running(job), "%.100q", c.text)
	}
	require.NoError(t, w.in.Close())
	w.server.ends(0)
	require.NotContains(t, w.server.err.String(), "panic")
	require.NotContains(t, w.server.err.String(), "goroutine")
	require.NoFileExists(t, d.file("bad"))
}

// runs starts a job that does not end, and gives its id.
func (w *scribe) runs() string {
	w.t.Helper()
	r := w.call("run", params{"command": "exec sleep 600", "background": true})
	require.Nil(w.t, r.Error)
	return r.Result["_meta"].(params)[mcp.DetailsKey].(params)["job_id"].(string)
}

// answer is the next line that is no notification.
func (w *scribe) answer() said {
	w.t.Helper()
	for {
		if s := w.hear(); s.Method == "" {
			return s
		}
	}
}

// running asks whether a job runs.
func (w *scribe) running(job string) bool {
	w.t.Helper()
	id := w.send("tools/call", params{"name": "read", "arguments": params{"job_id": job}})
	s := w.answer()
	require.Equal(w.t, float64(id), s.ID, "%v", s)
	return s.Result["_meta"].(params)[mcp.DetailsKey].(params)["running"] == true
}

// refuses reads the refusal of a line with this code; 0: there is none.
func (w *scribe) refuses(code int64, line string) {
	w.t.Helper()
	if code == 0 {
		return
	}
	s := w.answer()
	require.NotNil(w.t, s.Error, "%.100q", line)
	require.Equal(w.t, code, s.Error.Code, "%.100q", line)
	require.Nil(w.t, s.ID)
}

// A line that never ends costs no more than its bound, and none of the jobs; one just
// above the longest text is refused by name.
func TestBadInputLongMCPLines(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.scribe().initialized()
	job := w.runs()
	endless := []byte(strings.Repeat("x", 1<<20))
	for written := range 256 {
		_, err := w.in.Write(endless)
		require.NoError(t, err)
		most := procNumber(w.server.Process.Pid, "status", "VmHWM") // in KiB
		require.True(t, most < 200<<10 || need.Race, "%d KiB after %d MiB", most, written)
	}
	w.refuses(-32600, "x")
	w.line("")
	require.True(t, w.running(job))

	text, refused := w.call("run", params{"command": "#" + strings.Repeat("x", messages.MaxText)}).text(t)
	require.True(t, refused)
	require.Contains(t, text, "too_large")
	require.Less(t, len(text), 1000)
	text, refused = w.call("run", params{"command": "cat >/dev/null", "stdin": strings.Repeat("x", messages.MaxInput+1)}).text(t)
	require.True(t, refused)
	require.Contains(t, text, "too_large")
	text, refused = w.call("run", params{"command": "echo $0; exit 2 #" + strings.Repeat("x", messages.MaxText/2)}).text(t)
	require.False(t, refused, text)
	require.Contains(t, text, "exited with code 2")
	require.NoError(t, w.in.Close())
	w.server.ends(0)
}

// Two requests with one id, one that is cancelled before it comes, and a stream that
// ends within a line: whatever is answered, nothing is left.
func TestBadInputOfMCPRequests(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.scribe().initialized()
	file := d.file("pids")
	begun := post(t, file+"-begun")
	call := func(id int, command string) string {
		b, err := json.Marshal(params{"command": command, "grace_seconds": 0.2})
		require.NoError(t, err)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run","arguments":%s}}`, id, b)
	}
	w.line(call(50, stubborn(file)))
	begun()
	w.line(call(50, "echo again > again")) // an id that is in use
	w.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":51}}`)
	w.line(call(51, "echo one"))
	for {
		if s := w.hear(); s.ID == float64(51) {
			break
		}
	}
	_, err := io.WriteString(w.in, `{"jsonrpc":"2.0","id":52,"method":"tools/call","params":{"name":"run","argum`)
	require.NoError(t, err)
	require.NoError(t, w.in.Close())
	w.server.ends(cli.StatusOwn)
	leaveNothing(t, d.pidsIn(file))
}
