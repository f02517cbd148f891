package codelia

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/artifact"
	"troupe/internal/test/dialect"
)

// shows calls a shell tool, and returns what the model reads.
func (r *rig) shows(tool string, arguments args) args {
	r.t.Helper()
	result := r.call(tool, arguments)
	require.False(r.t, result.IsError, result.Text)
	var shown args
	require.NoError(r.t, json.Unmarshal([]byte(result.Text), &shown), result.Text)
	return shown
}

// fails calls a shell tool that refuses, and returns why.
func (r *rig) fails(tool string, arguments args) string {
	r.t.Helper()
	result := r.call(tool, arguments)
	require.True(r.t, result.IsError, result.Text)
	return result.Text
}

// The tools of codelia 0.1.80 with their parameters and results.
func TestTheShellFamily(t *testing.T) {
	r := newRig(t)
	done := r.shows("shell", args{"command": "echo out;  echo err >&2"})
	key := done["key"].(string)
	require.Regexp(t, `^shell-[0-9a-z]{8}$`, key)
	require.Equal(t, args{"key": key, "state": "completed", "command": "echo out; echo err >&2", "exit_code": 0.0, "stdout": "out", "duration_ms": done["duration_ms"]}, done)
	require.Equal(t, "err", r.shows("shell_result", args{"key": key, "include_stderr_on_success": true})["stderr"])
	require.Equal(t, "err\n", r.shows("shell_logs", args{"key": key, "stream": "stderr"})["content"])

	failed := r.shows("shell", args{"command": "echo err >&2; exit 3", "label": "My  Build!"})
	require.Regexp(t, `^my-build-[0-9a-z]{8}$`, failed["key"])
	require.Equal(t, []any{"failed", 3.0, "err", "command exited with code 3"}, []any{failed["state"], failed["exit_code"], failed["stderr"], failed["failure_message"]})

	g := dialecttest.NewGate(t)
	begun := r.shows("shell", args{"command": "echo begun; " + g.Wait() + "; exit 5", "label": "waits", "detached_wait": true})
	key = begun["key"].(string)
	require.Equal(t, args{"key": key, "state": "running", "command": begun["command"], "detached_wait": true}, begun)
	require.Equal(t, args{"key": key, "state": "running", "command": begun["command"]}, r.shows("shell_status", args{"key": key}))
	require.Equal(t, "running", r.shows("shell_result", args{"key": key})["state"])
	still := r.shows("shell_wait", args{"key": key, "wait_timeout": 1})
	require.Equal(t, true, still["still_running"])
	live := r.shows("shell_logs", args{"key": key})
	require.Equal(t, []any{true, "begun\n", false, "stdout", "waits"}, []any{live["live"], live["content"], live["truncated"], live["stream"], live["label"]})

	list := r.shows("shell_list", args{})
	require.Equal(t, []any{1.0, 20.0, nil, false}, []any{list["returned"], list["limit"], list["state"], list["include_terminal"]})
	require.Equal(t, args{"key": key, "label": "waits", "command": begun["command"], "state": "running"}, args(list["tasks"].([]any)[0].(map[string]any)))
	require.Equal(t, 3.0, r.shows("shell_list", args{"include_terminal": true})["returned"])
	require.Equal(t, 2.0, r.shows("shell_list", args{"include_terminal": true, "limit": 2})["returned"])
	require.Equal(t, 1.0, r.shows("shell_list", args{"state": "failed"})["returned"])
	g.Open()
	ended := r.shows("shell_wait", args{"key": key})
	require.Equal(t, []any{"failed", 5.0, "begun"}, []any{ended["state"], ended["exit_code"], ended["stdout"]})

	long := r.shows("shell", args{"command": "sleep 600", "detached_wait": true})
	cancelled := r.shows("shell_cancel", args{"key": long["key"]})
	require.Equal(t, []any{"cancelled", "cancelled by a request"}, []any{cancelled["state"], cancelled["cancellation_reason"]})
	require.Equal(t, cancelled, r.shows("shell_cancel", args{"key": long["key"]}), "it does not change")
}

func TestR251_TheModelWritesToATask(t *testing.T) {
	r := newRig(t)
	task := args{"key": r.shows("shell", args{"command": "cat", "detached_wait": true, "stdin_mode": "pipe"})["key"]}
	with := func(more args) args {
		all := args{"key": task["key"]}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	wrote := r.shows("shell_stdin_write", with(args{"text": "hello", "append_newline": true}))
	require.Equal(t, args{"key": task["key"], "state": "running", "bytes_written": 6.0, "stdin_closed": false}, wrote)
	require.Contains(t, r.fails("shell_stdin_write", with(args{"text": ""})), "text is empty")
	require.Contains(t, r.fails("shell_stdin_write", with(args{"text": strings.Repeat("x", 64<<10), "append_newline": true})), "at most 65536")
	require.Equal(t, true, r.shows("shell_stdin_write", with(args{"text": "there", "close": true}))["stdin_closed"])
	require.Equal(t, "hello\nthere", r.shows("shell_wait", task)["stdout"])
	closed := r.shows("shell", args{"command": "sleep 600", "detached_wait": true})
	require.Contains(t, r.fails("shell_stdin_write", args{"key": closed["key"], "text": "x"}), "no standard input")
	require.Contains(t, r.fails("shell", args{"command": "cat", "stdin_mode": "pipe"}), "stdin_mode pipe needs")
}

// What a model does wrong is said, and starts nothing.
func TestBadInputOfCodeliasTools(t *testing.T) {
	r := newRig(t)
	key := r.shows("shell", args{"command": "true"})["key"]
	for _, c := range []struct {
		tool string
		args args
		says string
	}{
		{"shell", args{}, "command is required"},
		{"shell", args{"command": " "}, "command is required"},
		{"shell", args{"command": 7}, "command"},
		{"shell", args{"comand": "true"}, `did you mean "command"?`},
		{"shell", args{"command": "a\x00b"}, "NUL"},
		{"shell", args{"command": "true", "timeout": 0}, "positive"},
		{"shell", args{"command": "true", "timeout": 1.5}, "whole number"},
		{"shell", args{"command": "true", "timeout": 301}, "needs detached_wait"},
		{"shell", args{"command": "true", "timeout": 2147484, "detached_wait": true}, "at most 2147483"},
		{"shell", args{"command": "true", "stdin_mode": "tty", "detached_wait": true}, "closed or pipe"},
		{"shell", args{"command": "true", "label": strings.Repeat("é", 81)}, "at most 80 characters"},
		{"shell_list", args{"limit": 0}, "from 1 to 100"},
		{"shell_list", args{"limit": 101}, "from 1 to 100"},
		{"shell_list", args{"state": "lost"}, "state must be"},
		{"shell_status", args{}, "key is required"},
		{"shell_status", args{"key": "shell-none"}, "no shell task has the key shell-none"},
		{"shell_logs", args{"key": key, "stream": "both"}, "stdout or stderr"},
		{"shell_logs", args{"key": key, "tail_lines": 501}, "from 1 to 500"},
		{"shell_logs", args{"key": key, "tail_lines": 0}, "from 1 to 500"},
		{"shell_wait", args{"key": key, "wait_timeout": 301}, "from 1 to 300"},
		{"shell_wait", args{"key": key, "wait_timeout": 0}, "from 1 to 300"},
		{"shell_result", args{"key": " "}, "key is required"},
		{"shell_cancel", args{"key": "x"}, "no shell task"},
		{"shell_stdin_write", args{"key": key, "text": "x"}, "no standard input"},
		{"shell_stdin_write", args{"key": "x", "text": "x"}, "no shell task"},
	} {
		require.Contains(t, r.fails(c.tool, c.args), c.says, "%s %v", c.tool, c.args)
	}
	require.Equal(t, 1.0, r.shows("shell_list", args{"include_terminal": true})["returned"])
}

// A long result is cut in its streams, so that it stays JSON, and says where all of it is.
func TestR263_ALongResultIsCutAndCached(t *testing.T) {
	r := newRig(t)
	long := r.call("shell", args{"command": "for i in 1 2 3 4 5 6; do head -c 9999 /dev/zero | tr '\\0' x; echo; done"}).Text
	require.LessOrEqual(t, len(long), artifact.NoteBytes)
	var shown args
	require.NoError(t, json.Unmarshal([]byte(long), &shown))
	ref := shown["stdout_cache_id"].(string)
	require.Contains(t, shown["stdout"], "[The output was cut. All of it is in the tool output cache: ref_id="+ref+"]")
	require.Contains(t, r.call("tool_output_cache", args{"ref_id": ref, "tail": 2}).Text, "    6  xxx")
	require.Equal(t, ref, r.shows("shell_result", args{"key": shown["key"]})["stdout_cache_id"])

	hostile := r.call("shell", args{"command": "head -c 30000 /dev/zero; head -c 30000 /dev/zero >&2; exit 1"}).Text
	require.LessOrEqual(t, len(hostile), artifact.NoteBytes, "control bytes are six in JSON")
	require.NoError(t, json.Unmarshal([]byte(hostile), &shown))
	require.Contains(t, shown["stderr"], "ref_id=")
}

func TestTheEndOfALongOutputIsShown(t *testing.T) {
	r := newRig(t)
	key := r.shows("shell", args{"command": "seq 100000"})["key"]
	tail := r.shows("shell_logs", args{"key": key, "tail_lines": 2})
	require.Equal(t, []any{"99999\n100000\n", 2.0, 100000.0, 99998.0, true, false}, []any{tail["content"], tail["tail_lines"], tail["total_lines"], tail["omitted_lines"], tail["truncated"], tail["live"]})
	all := r.shows("shell_logs", args{"key": key})
	require.True(t, strings.HasSuffix(all["content"].(string), "\n100000\n"))
	require.LessOrEqual(t, len(all["content"].(string)), logBytes)
	require.Equal(t, 588895.0, all["total_bytes"])
	wide := r.shows("shell", args{"command": "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"})["key"]
	require.Equal(t, "end\n", r.shows("shell_logs", args{"key": wide, "tail_lines": 1})["content"])
	require.Equal(t, true, r.shows("shell_logs", args{"key": wide})["truncated"])
}

// Keys are unique, whatever the ids are.
func TestKeysAreUnique(t *testing.T) {
	s := New(Options{})
	for _, id := range []string{"01AAAAAAAABBBBBBBB", "01CCCCCCCCBBBBBBBB"} {
		one := &task{id: id, label: "Ünï cödé 7"}
		require.Nil(t, s.admit(one))
	}
	require.Equal(t, []string{"n-c-d-7-bbbbbbbb", "n-c-d-7-01ccccccccbbbbbbbb"}, []string{s.tasks[0].key, s.tasks[1].key})
	require.Equal(t, "shell", keyBase("日本"))
}

// tool.call answers with what a tool returns: an object or a text.
func TestAToolIsCalledByName(t *testing.T) {
	r := newRig(t)
	result, err := r.CallTool(t.Context(), ToolCallParams{Name: "shell", Arguments: []byte(`{"command":"echo '<out>'"}`)})
	require.NoError(t, err)
	require.Equal(t, "<out>", dialecttest.Fields(t, result)["result"].(map[string]any)["stdout"])
	r.cached("a", "text")
	result, err = r.CallTool(t.Context(), ToolCallParams{Name: "tool_output_cache", Arguments: []byte(`{"ref_id":"a"}`)})
	require.NoError(t, err)
	require.Equal(t, ToolCallResult{OK: true, Result: "    1  text"}, result)
	for name, arguments := range map[string]string{"": `{}`, "sudo": `{}`, "tool_output_cache_line": `{"ref_id":"a"}`, "shell_status": `[]`, "tool_output_cache_grep": `{"ref_id":"none","pattern":"x"}`} {
		_, err := r.CallTool(t.Context(), ToolCallParams{Name: name, Arguments: []byte(arguments)})
		require.Equal(t, CodeInvalidParams, code(t, err), name)
	}
	var names []string
	for _, tool := range r.Tools() {
		names = append(names, tool.Name)
	}
	require.Equal(t, strings.Fields("shell shell_list shell_status shell_logs shell_wait shell_result shell_cancel shell_stdin_write tool_output_cache tool_output_cache_line tool_output_cache_grep"), names)
}
