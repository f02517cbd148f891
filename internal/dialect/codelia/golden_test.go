package codelia

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/dialect"
	"troupe/messages"
)

// transcript calls methods and tools one by one, and writes what a front end gets.
type transcript struct {
	*rig
	strings.Builder
}

func (s *transcript) method(name string, params, result any, err error) {
	s.t.Helper()
	fmt.Fprintf(s, "> %s %s\n", name, line1(s.t, params))
	if err != nil {
		fmt.Fprintf(s, "error %s\n\n", line1(s.t, err))
		return
	}
	fmt.Fprintf(s, "%s\n\n", line1(s.t, result))
}

func line1(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

func (s *transcript) tool(name string, arguments args) {
	s.t.Helper()
	result := s.call(name, arguments)
	fmt.Fprintf(s, "> %s %s\n%s\n", name, line1(s.t, arguments), result.Text)
	if result.IsError {
		fmt.Fprintln(s, "--- error")
	}
	fmt.Fprintln(s)
}

func (s *transcript) golden(name string) {
	s.t.Helper()
	dialecttest.Golden(s.t, "codelia/"+name, s.String(),
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(s.dir)), By: "/session"},
		dialecttest.Scrub{What: regexp.MustCompile(`"duration_ms":\d+`), By: `"duration_ms":#`},
		dialecttest.Scrub{What: regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), By: "TIME"},
		dialecttest.Scrub{What: regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}`), By: "TASK"},
	)
}

func TestGoldenExec(t *testing.T) {
	s := &transcript{rig: newRig(t)}
	var q Queue
	var ref string
	for _, p := range []ExecParams{
		{Command: "echo out; echo err >&2"},
		{Command: "true"},
		{Command: "ls missing"},
		{Command: "no-such-program"},
		{Command: "kill -KILL $$"},
		{Command: "sleep 60", TimeoutSeconds: ptr(1.0)},
		{Command: "printf '<b>&</b>\\n'"},
		{Command: "seq 400 | tr '\\n' ' '; echo; seq 161"},
		{},
		{Command: "true", Cwd: "/"},
		{Command: "true", TimeoutSeconds: ptr(-1.0)},
	} {
		r, err := s.Exec(t.Context(), p)
		s.method("shell.exec", p, r, err)
		if err == nil {
			q.Add(r)
			ref = r.StdoutCacheID
		}
	}
	fmt.Fprintf(s, "message\n%s\n\n", q.Snapshot("What do you make of this?").Text)
	s.tool("tool_output_cache", args{"ref_id": ref, "offset": 1, "limit": 2})
	s.tool("tool_output_cache", args{"ref_id": ref, "tail": 2})
	s.tool("tool_output_cache", args{"ref_id": ref, "offset": 1000})
	s.tool("tool_output_cache", args{"ref_id": ref, "head": 1, "tail": 1})
	s.tool("tool_output_cache", args{"ref_id": "call_77"})
	s.tool("tool_output_cache_line", args{"ref_id": ref, "line_number": 1, "char_limit": 10})
	s.tool("tool_output_cache_grep", args{"ref_id": ref, "pattern": "^1[01]0$", "regex": true, "before": 1})
	s.tool("tool_output_cache_grep", args{"ref_id": ref, "pattern": "x"})
	s.golden("exec.txt")
}

func TestGoldenTasks(t *testing.T) {
	s := &transcript{rig: newRig(t)}
	start := StartParams{ExecParams: ExecParams{Command: "echo begun; exec sleep 600"}}
	i, err := s.Start(t.Context(), start)
	s.method("shell.start", start, i, err)
	w := WaitParams{TaskID: i.TaskID, WaitTimeoutSeconds: ptr(1.0)}
	still, _, err := s.Wait(t.Context(), w)
	s.method("shell.wait", w, still, err)
	d, err := s.Detach(t.Context(), TaskParams{i.TaskID})
	s.method("shell.detach", TaskParams{i.TaskID}, d, err)
	o := OutputParams{TaskID: i.TaskID, Stream: "stdout"}
	out, err := s.Output(t.Context(), o)
	s.method("shell.output", o, out, err)
	c, err := s.Cancel(t.Context(), TaskParams{i.TaskID})
	s.method("shell.cancel", TaskParams{i.TaskID}, c, err)
	list, err := s.List(t.Context(), ListParams{})
	s.method("shell.list", ListParams{}, list, err)
	none, err := s.Status(t.Context(), TaskParams{"task_9"})
	s.method("shell.status", TaskParams{"task_9"}, none, err)
	s.golden("tasks.txt")
}

func TestGoldenTools(t *testing.T) {
	s := &transcript{rig: newRig(t)}
	for _, tool := range s.Tools() {
		fmt.Fprintf(s, "%s (%s)\n%s\n%s\n\n", tool.Name, tool.Title, tool.Description, tool.Schema)
	}
	s.golden("tools.txt")
}

func TestGoldenErrors(t *testing.T) {
	s := &transcript{rig: newRig(t, func(o *Options) { o.Policy = Rules{FS: o.FS, Root: o.Dir, Deny: []string{"mkfs"}} })}
	id := s.start("sleep 600").TaskID
	for _, p := range []StartParams{
		{},
		{ExecParams: ExecParams{Command: "x", TimeoutSeconds: ptr(3e6)}},
		{ExecParams: ExecParams{Command: "x"}, StdinMode: "tty"},
		{ExecParams: ExecParams{Command: "x"}, StdinMode: "pipe"},
		{ExecParams: ExecParams{Command: "mkfs x"}},
		{ExecParams: ExecParams{Command: "x", Cwd: "/"}},
	} {
		i, err := s.Start(t.Context(), p)
		s.method("shell.start", p, i, err)
	}
	for _, p := range []OutputParams{
		{},
		{TaskID: id},
		{TaskID: id, Stream: "stdout", LineNumber: ptr(int64(1)), Limit: ptr(int64(1))},
		{TaskID: id, Stream: "stdout", CharLimit: ptr(int64(1))},
		{TaskID: id, Stream: "stdout", LineNumber: ptr(int64(0))},
		{TaskID: id, Stream: "stdout", Offset: ptr(int64(-1))},
		{TaskID: "x", Stream: "stdout"},
		{TaskID: id, Stream: "stdout"},
		{TaskID: id, Stream: "stderr", LineNumber: ptr(int64(7))},
	} {
		o, err := s.Output(t.Context(), p)
		s.method("shell.output", p, o, err)
	}
	w := WaitParams{TaskID: id, WaitTimeoutSeconds: ptr(-1.0)}
	i, _, err := s.Wait(t.Context(), w)
	s.method("shell.wait", w, i, err)
	l, err := s.List(t.Context(), ListParams{ptr(-1)})
	s.method("shell.list", ListParams{ptr(-1)}, l, err)
	in := InputParams{TaskID: id}
	s.method("input", in, nil, s.Input(t.Context(), in))
	for _, a := range []args{{}, {"ref_id": "x", "offset": -1}, {"ref_id": "x"}, {"ref_id": "x", "colour": 1}} {
		s.tool("tool_output_cache", a)
	}
	s.tool("tool_output_cache_line", args{"ref_id": "x"})
	for _, a := range []args{{"ref_id": "x"}, {"ref_id": "x", "pattern": "x", "before": -1}} {
		s.tool("tool_output_cache_grep", a)
	}
	s.cached("empty", "")
	s.tool("tool_output_cache_grep", args{"ref_id": s.cached("a", "x\n"), "pattern": "(", "regex": true})
	s.tool("tool_output_cache", args{"ref_id": "empty"})
	for _, says := range []string{
		Busy(""), Busy("Ctrl+B"), Detached("T"), ExecFailed(invalid(textCommand)),
		CutMessage(strings.Repeat("line\n", 9), "R", 12), CutMessage(strings.Repeat("line\n", 9), "", 12),
	} {
		fmt.Fprintln(s, says)
	}
	for _, job := range []messages.Record{
		{End: messages.End{Outcome: messages.Lost, Err: messages.Error{Message: "why"}}},
		{End: messages.End{Outcome: messages.FailedToStart, Err: messages.Error{Message: "why"}}},
		{End: messages.End{Cause: messages.Cause{By: messages.ByScope, Reason: textOrphan}}},
		{End: messages.End{Cause: messages.Cause{By: messages.ByClient}}},
		{End: messages.End{Cause: messages.Cause{By: messages.ByQuota}}},
		{End: messages.End{Cause: messages.Cause{By: messages.ByDeadline}}},
		{End: messages.End{Code: new(3)}},
		{End: messages.End{Signal: "SEGV"}},
	} {
		one := &task{timeout: 7}
		one.judge(job, nil)
		fmt.Fprintln(s, one.state, one.failure, one.reason)
	}
	require.NoError(t, s.Close(t.Context()))
	_, err = s.Exec(t.Context(), ExecParams{Command: "true"})
	s.method("shell.exec", ExecParams{Command: "true"}, nil, err)
	s.golden("errors.txt")
}

func TestR285_OneRecordHasCodeliasView(t *testing.T) {
	r := newRig(t)
	result := r.exec("seq 1000")
	page, err := r.node.Read(t.Context(), messages.ReadOutput{
		Job: messages.JobID(r.job().UID), Stream: messages.Stdout, View: messages.View{Kind: messages.ViewTailLine, Lines: endLines},
	})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(result.Stdout, "...\n"+page.Text))
}
