package codelia

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR242_ShellExecHasTheFieldsOfTheProtocol(t *testing.T) {
	r := newRig(t)
	f := dialecttest.Fields(t, r.exec("echo out; echo err >&2; exit 3"))
	require.InDelta(t, 3, f["exit_code"], 0)
	require.Contains(t, f, "signal")
	require.Nil(t, f["signal"])
	require.Equal(t, "out\n", f["stdout"])
	require.Equal(t, "err\n", f["stderr"])
	require.Equal(t, map[string]any{"stdout": false, "stderr": false, "combined": false}, f["truncated"])
	require.Contains(t, f, "duration_ms")
	require.Equal(t, "echo out; echo err >&2; exit 3", f["command_preview"])
	require.NotContains(t, f, "stdout_cache_id")
	require.Equal(t, 120*time.Second, r.job().Timeout)
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "sub"), 0o700))
	in, err := r.Exec(t.Context(), ExecParams{Command: "pwd", Cwd: "sub"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(r.dir, "sub")+"\n", in.Stdout)
	text, err := json.Marshal(Supported())
	require.NoError(t, err)
	require.JSONEq(t, `{"supports_shell_exec":true,"supports_shell_tasks":true,"supports_shell_detach":true,"supports_tool_call":true}`, string(text))
}

func TestR243_ErrorsHaveTheCodesOfJSONRPC(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.Symlink("/", filepath.Join(r.dir, "out")))
	for name, p := range map[string]ExecParams{
		"no command": {Command: "  "}, "NUL": {Command: "echo a\x00b"}, "NUL in cwd": {Command: "true", Cwd: "a\x00b"}, "zero": {Command: "true", TimeoutSeconds: ptr(0.0)}, "negative": {Command: "true", TimeoutSeconds: ptr(-1.0)},
		"no number": {Command: "true", TimeoutSeconds: ptr(math.NaN())}, "outside": {Command: "true", Cwd: "/"}, "above": {Command: "true", Cwd: ".."},
		"through a link": {Command: "true", Cwd: "out"}, "missing": {Command: "true", Cwd: "missing"},
	} {
		_, err := r.Exec(t.Context(), p)
		require.Equal(t, -32602, code(t, err), name)
	}
	for asked, want := range map[float64]int64{1.9: 1, 0.1: 1, 299.9: 299, 300: 300, 301: 300, 1e300: 300, math.Inf(1): 300} {
		got, bad := seconds(&asked, textTimeout)
		require.Nil(t, bad)
		require.Equal(t, want, got)
	}
	require.Equal(t, []int{-32602, -32000, -32001}, []int{CodeInvalidParams, CodeInternal, CodeBusy})
	require.NoError(t, r.Close(t.Context()))
	_, err := r.Exec(t.Context(), ExecParams{Command: "true"})
	require.Equal(t, -32001, code(t, err))
}

func TestR244_PreviewsAndLogEvents(t *testing.T) {
	require.Equal(t, strings.Repeat("é", 400), CommandPreview("  "+strings.Repeat("é", 400)+" "))
	require.Equal(t, strings.Repeat("é", 400)+"...[truncated]", CommandPreview(strings.Repeat("é", 401)))
	require.Equal(t, "a b "+strings.Repeat("x", 196)+"...[truncated]", logCommand("a\n\t b  "+strings.Repeat("x", 300)))
	r := newRig(t)
	r.exec("exit   4")
	logs := r.logs.String()
	require.Contains(t, logs, `msg=shell.exec.start origin=ui_bang cwd=`+r.dir+` timeout=120 command="exit 4"`)
	require.Regexp(t, `msg=shell.exec.done origin=ui_bang duration_ms=\d+ exit_code=4 signal=<nil>`, logs)
}

func TestR245_ExecDoesNotAskAndTheLimitsHold(t *testing.T) {
	asked := 0
	answer, why := false, ""
	r := newRig(t, func(o *Options) {
		o.Confirm = func(context.Context, string, string) (bool, string, error) { asked++; return answer, why, nil }
		o.Policy = Rules{FS: o.FS, Root: o.Dir, Deny: []string{"mkfs"}, Wrap: []string{"env", "WRAPPED=yes"}}
	})
	require.Equal(t, "yes\n", r.exec("echo $WRAPPED").Stdout)
	require.Zero(t, asked)
	_, err := r.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "true"}})
	require.Equal(t, -32000, code(t, err))
	require.EqualError(t, err, "the command was not confirmed")
	require.Equal(t, 1, asked, "only exec does not ask")
	why = " use the other one "
	_, err = r.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "true"}})
	require.EqualError(t, err, "the command was not confirmed: use the other one")
	answer = true
	i, err := r.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "echo $WRAPPED"}})
	require.NoError(t, err)
	require.Equal(t, "yes\n", r.wait(i.TaskID).Stdout)
	for _, command := range []string{"mkfs /dev/x", "true && /sbin/mkfs x", "echo $(mkfs)"} {
		_, err := r.Exec(t.Context(), ExecParams{Command: command})
		require.Equal(t, -32000, code(t, err), command)
		require.ErrorContains(t, err, "mkfs")
		_, err = r.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: command}})
		require.ErrorContains(t, err, "mkfs")
	}
	require.Equal(t, "mkfs\n", r.exec("echo mkfs").Stdout)
}

func TestR246_TheUsersLoginShellRunsIt(t *testing.T) {
	r := newRig(t)
	r.exec("true")
	require.Equal(t, []string{"/bin/bash", "-lc", "true"}, r.job().Argv)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, ".bash_profile"), []byte("export FROM_LOGIN=yes\n"), 0o600))
	require.Equal(t, "yes\n", r.exec("echo $FROM_LOGIN").Stdout)
	require.Equal(t, "closed\n", r.exec("read x || echo closed").Stdout)
	group := strings.Fields(r.exec("ps -o pid=,pgid= -p $$").Stdout)
	require.Equal(t, group[0], group[1], "its own process group")

	other := newRig(t, func(o *Options) { o.Env = []string{"PATH=" + os.Getenv("PATH"), "SHELL=/no/such/shell"} })
	other.exec("true")
	require.Regexp(t, `/sh$`, other.job().Argv[0])
}

func TestR247_LimitsEndACommandAndTheResultIsThereAtOnce(t *testing.T) {
	r := newRig(t)
	late, err := r.Exec(t.Context(), ExecParams{Command: "trap '' TERM; echo begun; while :; do read -t 60 < <(sleep 60); done", TimeoutSeconds: ptr(1.0)})
	require.NoError(t, err)
	require.Equal(t, "command timed out after 1 seconds", late.FailureMessage)
	require.Equal(t, "SIGTERM", *late.Signal)
	require.Nil(t, late.ExitCode)
	require.Equal(t, "begun\n", late.Stdout)
	job := r.job()
	require.Equal(t, messages.Stopping, job.State, "it is killed after two seconds more")
	end, err := host.Ask(t.Context(), r.o.Host, messages.WaitJobs{Jobs: []messages.JobID{job.ID}})
	require.NoError(t, err)
	require.Equal(t, "KILL", end.Jobs[0].End.Cause.Signal)

	for name, command := range map[string]string{
		"one stream": "head -c 11000000 /dev/zero | tr '\\0' 'x'; sleep 60",
		"both":       "head -c 6000000 /dev/zero | tr '\\0' 'x'; head -c 6000000 /dev/zero >&2; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			result, err := r.Exec(t.Context(), ExecParams{Command: command, TimeoutSeconds: ptr(50.0)})
			require.NoError(t, err)
			require.Equal(t, "command output exceeded the capture limit of 10485760 bytes", result.FailureMessage)
			require.Equal(t, "SIGTERM", *result.Signal)
			require.Nil(t, result.ExitCode)
			require.Equal(t, messages.ByQuota, r.job().End.Cause.By)
			if name == "both" { // of one stream, the quota of its log says so, too
				require.Equal(t, "its output outgrew the capture limit", r.job().End.Cause.Reason)
			}
		})
	}
	require.Nil(t, r.exec("head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2").Signal, "that is below the limit")

	bad := r.exec("kill -SEGV $$")
	require.Equal(t, "SIGSEGV", *bad.Signal)
	require.Nil(t, bad.ExitCode)
	require.Equal(t, Failed, r.wait(r.start("exit 7").TaskID).State)
}

func TestR248_LongOutputsAreCutAndCached(t *testing.T) {
	r := newRig(t)
	require.False(t, r.exec("seq 160").Truncated.Stdout)
	require.False(t, r.exec("head -c 65536 /dev/zero | tr '\\0' x").Truncated.Stdout)
	cut := r.exec("seq 1000")
	require.Equal(t, numbers(1, 80)+"...[840 lines omitted]...\n"+numbers(921, 1000), cut.Stdout)
	require.Equal(t, Truncated{Stdout: true, Combined: true}, cut.Truncated)
	require.Equal(t, string(r.job().UID)+"_stdout", cut.StdoutCacheID)
	require.Contains(t, r.call("tool_output_cache", args{"ref_id": cut.StdoutCacheID, "offset": 499, "limit": 1}).Text, "  500  500")

	big := r.exec("printf 'ä%.0s' $(seq 40000) >&2")
	require.Equal(t, Truncated{Stderr: true, Combined: true}, big.Truncated)
	require.Equal(t, strings.Repeat("ä", 16384)+"\n...[14464 bytes omitted: cut by size]...\n"+strings.Repeat("ä", 16384), big.Stderr)
	require.Equal(t, string(r.job().UID)+"_stderr", big.StderrCacheID)

	none := newRig(t, func(o *Options) { o.Files = nil })
	result := none.exec("seq 1000")
	require.True(t, result.Truncated.Stdout)
	require.NotContains(t, dialecttest.Fields(t, result), "stdout_cache_id", "no cache, no id")

	times := make(chan time.Time, 100)
	base := time.Now()
	for i := range 100 {
		times <- base.Add(time.Duration(i) * time.Second)
	}
	clock := newRig(t, func(o *Options) { o.Now = func() time.Time { return <-times } })
	require.Positive(t, clock.exec("true").DurationMS)
}

func TestR249_ShellTasks(t *testing.T) {
	r := newRig(t)
	gate := filepath.Join(r.dir, "gate")
	i := r.start("mkfifo gate; echo out; cat gate; exit 3")
	require.Equal(t, Running, i.State)
	require.Equal(t, r.dir, i.Cwd)
	require.NotEmpty(t, i.CreatedAt)
	require.NotEmpty(t, i.StartedAt)
	require.Nil(t, i.DurationMS)
	require.Zero(t, r.job().Timeout, "no limit")
	status, err := r.Status(t.Context(), TaskParams{i.TaskID})
	require.NoError(t, err)
	require.Equal(t, Running, status.State)

	still, detached, err := r.Wait(t.Context(), WaitParams{TaskID: i.TaskID, WaitTimeoutSeconds: ptr(1.0)})
	require.NoError(t, err)
	require.Nil(t, detached)
	require.True(t, still.StillRunning)

	_, err = r.Detach(t.Context(), TaskParams{i.TaskID})
	require.Equal(t, -32602, code(t, err))
	require.ErrorContains(t, err, i.TaskID, "nobody waits")

	now, err := r.Output(t.Context(), OutputParams{TaskID: i.TaskID, Stream: "stdout"})
	require.NoError(t, err)
	require.False(t, now.Cached)
	require.Contains(t, now.Content, "    1  out")

	pipe, err := os.OpenFile(gate, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	done := r.wait(i.TaskID)
	require.Equal(t, Failed, done.State)
	require.Equal(t, 3, *done.ExitCode)
	require.Equal(t, "command exited with code 3", done.FailureMessage)
	require.NotEmpty(t, done.EndedAt)

	second := r.start("sleep 600")
	cancelled, err := r.Cancel(t.Context(), TaskParams{second.TaskID})
	require.NoError(t, err)
	require.Equal(t, Cancelled, cancelled.State)
	require.NotEmpty(t, cancelled.CancellationReason)
	require.Empty(t, cancelled.FailureMessage)
	list, err := r.List(t.Context(), ListParams{})
	require.NoError(t, err)
	require.Equal(t, []string{second.TaskID, i.TaskID}, []string{list.Tasks[0].TaskID, list.Tasks[1].TaskID})

	r.refusals(i.TaskID)
}

func TestR249_ShellOutputReadsTheCacheOrTheLog(t *testing.T) {
	r := newRig(t)
	long := r.wait(r.start("seq 1000").TaskID)
	out, err := r.Output(t.Context(), OutputParams{TaskID: long.TaskID, Stream: "stdout", Offset: ptr(int64(998)), Limit: ptr(int64(1))})
	require.NoError(t, err)
	require.Equal(t, OutputResult{TaskID: long.TaskID, Stream: "stdout", Cached: true, RefID: long.TaskID + "_stdout", Content: out.Content}, out)
	require.Contains(t, out.Content, "  999  999")
	out, err = r.Output(t.Context(), OutputParams{TaskID: long.TaskID, Stream: "stdout", LineNumber: ptr(int64(10))})
	require.NoError(t, err)
	require.Contains(t, out.Content, "line_number=10\n")
}

func (r *rig) refusals(id string) {
	t := r.t
	for name, call := range map[string]func() error{
		"status": func() error { _, err := r.Status(t.Context(), TaskParams{"nope"}); return err },
		"output": func() error {
			_, err := r.Output(t.Context(), OutputParams{TaskID: "nope", Stream: "stdout"})
			return err
		},
		"wait":      func() error { _, _, err := r.Wait(t.Context(), WaitParams{TaskID: "nope"}); return err },
		"detach":    func() error { _, err := r.Detach(t.Context(), TaskParams{"nope"}); return err },
		"cancel":    func() error { _, err := r.Cancel(t.Context(), TaskParams{"nope"}); return err },
		"no task":   func() error { _, err := r.Status(t.Context(), TaskParams{" "}); return err },
		"stream":    func() error { _, err := r.Output(t.Context(), OutputParams{TaskID: id, Stream: "x"}); return err },
		"list":      func() error { _, err := r.List(t.Context(), ListParams{ptr(0)}); return err },
		"wait time": func() error { _, _, err := r.Wait(t.Context(), WaitParams{id, ptr(0.0)}); return err },
		"line": func() error {
			_, err := r.Output(t.Context(), OutputParams{TaskID: id, Stream: "stdout", LineNumber: ptr(int64(1)), Limit: ptr(int64(1))})
			return err
		},
		"characters": func() error {
			_, err := r.Output(t.Context(), OutputParams{TaskID: id, Stream: "stdout", CharLimit: ptr(int64(1))})
			return err
		},
		"too long": func() error {
			_, err := r.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "true", TimeoutSeconds: ptr(2147484.0)}})
			return err
		},
	} {
		err := call()
		require.Equal(t, -32602, code(t, err), name)
		if name == "status" || name == "cancel" {
			require.Contains(t, err.Error(), "nope")
		}
	}
}

func TestR250_OrphansAreEndedAndTasksEndWithTheirRuntime(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Owner = "dead" })
	lost := r.start("sleep 600")
	job := r.job()
	require.Positive(t, job.PID, "the record has what can be ended")
	require.Equal(t, "codelia dead agent", job.Tag)
	next := rigOn(t, r.node)
	own := next.start("sleep 600")
	n, err := EndOrphans(t.Context(), r.o.Host, "", func(string) bool { return true })
	require.NoError(t, err)
	require.Zero(t, n, "its runtime lives")
	n, err = EndOrphans(t.Context(), r.o.Host, "", func(owner string) bool { return owner == "lives" })
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, Cancelled, r.wait(lost.TaskID).State)

	require.NoError(t, next.Close(t.Context()))
	next.beside.Wait()
	i, err := next.Status(t.Context(), TaskParams{own.TaskID})
	require.NoError(t, err)
	require.Equal(t, Cancelled, i.State)
	require.Equal(t, "the runtime's scope has ended", i.CleanupReason)
	require.NotContains(t, next.logs.String(), "could not be ended")
	end, err := host.Ask(t.Context(), r.o.Host, messages.WaitJobs{Jobs: []messages.JobID{messages.JobID(own.TaskID)}})
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, end.Jobs[0].End.Outcome)
	require.Equal(t, "the runtime's scope has ended", end.Jobs[0].End.Cause.Reason)
}

func TestR251_InputOfATaskIsOptIn(t *testing.T) {
	r := newRig(t)
	pipe := StartParams{ExecParams: ExecParams{Command: "cat"}, StdinMode: "pipe", Detached: true}
	for _, p := range []StartParams{{ExecParams: pipe.ExecParams, StdinMode: "pipe"}, {ExecParams: pipe.ExecParams, StdinMode: "tty", Detached: true}} {
		_, err := r.Start(t.Context(), p)
		require.Equal(t, -32602, code(t, err))
	}
	i, err := r.Start(t.Context(), pipe)
	require.NoError(t, err)
	require.NoError(t, r.Input(t.Context(), InputParams{TaskID: i.TaskID, Data: "hello "}))
	require.NoError(t, r.Input(t.Context(), InputParams{TaskID: i.TaskID, Data: "there", Close: true}))
	require.Equal(t, "hello there", r.wait(i.TaskID).Stdout)

	closed := r.start("sleep 600")
	require.Equal(t, -32602, code(t, r.Input(t.Context(), InputParams{TaskID: closed.TaskID, Data: "x"})))
	second, err := r.Start(t.Context(), pipe)
	require.NoError(t, err)
	long := r.Input(t.Context(), InputParams{TaskID: second.TaskID, Data: strings.Repeat("x", 64<<10+1)})
	require.Equal(t, -32602, code(t, long))
	require.EqualError(t, long, "data has 65537 bytes; one write takes at most 65536")
}

func TestR283_CodeliasTimeoutEndsTheCommand(t *testing.T) {
	r := newRig(t)
	result, err := r.Exec(t.Context(), ExecParams{Command: "sleep 60", TimeoutSeconds: ptr(1.0)})
	require.NoError(t, err)
	require.Contains(t, result.FailureMessage, "1 seconds")
}

func TestR286_CodeliasStreamsAreApart(t *testing.T) {
	r := newRig(t)
	result := r.exec("echo 1; echo 2 >&2; echo 3")
	require.Equal(t, "1\n3\n", result.Stdout)
	require.Equal(t, "2\n", result.Stderr)
}

func TestR287_CodeliasCacheIsRaw(t *testing.T) {
	r := newRig(t)
	ref := r.exec(`printf '\033[1m\377\n'; seq 1000`).StdoutCacheID
	dir, err := r.o.Files.Path()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, ref+".txt"))
	require.NoError(t, err)
	require.Equal(t, "\x1b[1m\xff\n"+numbers(1, 1000), string(text))
}

func TestAbortedExecEndsItsCommand(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	r.beside.Go(func() {
		for fact := range r.o.Host.Events(t.Context(), messages.Filter{}, func() { close(begun) }) {
			if _, ok := fact.(messages.CommandStarted); ok {
				cancel()
				return
			}
		}
	})
	<-begun
	_, err := r.Exec(ctx, ExecParams{Command: "sleep 60"})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, Cancelled, r.wait(string(r.job().UID)).State)
}
