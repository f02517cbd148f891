package omp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR089_AnEmptyOutputIsSaid(t *testing.T) {
	r := newRig(t)
	require.True(t, strings.HasPrefix(r.run("true"), "(no output)\n\n"))
	require.Equal(t, "(no output)", body(r.bash(args{"command": "exit 1"})))
}

func TestR090_NonZeroExitIsAnErrorResult(t *testing.T) {
	r := newRig(t)
	result, err := r.Bash(context.Background(), Params{Command: "echo out; exit 3"}, nil)
	require.NoError(t, err, "it is not thrown")
	require.True(t, result.IsError)
	require.True(t, strings.HasSuffix(result.Text, "\n\nCommand exited with code 3"), result.Text)
	require.Equal(t, 3.0, dialecttest.Fields(t, result.Details)["exitCode"])
	cut := r.bash(args{"command": "seq 20000; exit 4"})
	require.True(t, strings.HasSuffix(cut.Text, "]\n\nCommand exited with code 4"), "the notice of the cut is before it")
	require.NotContains(t, dialecttest.Fields(t, r.bash(args{"command": "true"}).Details), "exitCode")
}

func TestR091_TheLayoutHasItsOrder(t *testing.T) {
	r := newRig(t)
	r.run("exit 0") // so that there is another notice
	result := r.bash(args{"command": "echo out; false", "timeout": 5000})
	require.Regexp(t, `^out\n\nWall time: \d+\.\d\d seconds\nTimeout: 5000 seconds asked for, 3600 seconds used \(allowed: 1 to 3600\)\nThe shell was made anew [^\n]*\n\nCommand exited with code 1$`, result.Text)
}

func TestR092_TheDetailsHaveTheirFields(t *testing.T) {
	r := newRig(t, async)
	got := dialecttest.Fields(t, r.bash(args{"command": "exit 2", "timeout": 4000}).Details)
	require.Contains(t, got, "wallTimeMs")
	delete(got, "wallTimeMs")
	require.Equal(t, map[string]any{"timeoutSeconds": 3600.0, "requestedTimeoutSeconds": 4000.0, "exitCode": 2.0}, got)
	require.Equal(t, map[string]any{"state": "running", "jobId": "bg_1", "type": "bash"}, dialecttest.Fields(t, r.bash(args{"command": "true", "async": true}).Details)["async"])
	require.Equal(t, true, dialecttest.Fields(t, r.bash(args{"command": "sleep 9", "timeout": 1}).Details)["timedOut"])
	require.Contains(t, dialecttest.Fields(t, r.bash(args{"command": "seq 20000"}).Details)["meta"], "truncation")
}

func TestR093_AMissingExitStatusIsAnError(t *testing.T) {
	result := ended{how: statusless, out: Captured{Text: "some\n"}}.result()
	require.True(t, result.IsError)
	require.Equal(t, "some\n\nCommand failed: missing exit status", result.Text)
	require.Equal(t, "Command failed: missing exit status", ended{how: statusless}.result().Text)
	r := newRig(t)
	r.options.Host = codeless{r.options.Host}
	lost := r.bash(args{"command": "echo some"})
	require.True(t, lost.IsError)
	require.Equal(t, "some\n\nCommand failed: missing exit status", lost.Text)
}

func TestR094_ATimeoutTellsTheOutputAndItself(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "echo got; sleep 60", "timeout": 1})
	require.True(t, result.IsError)
	require.Equal(t, "got\n\nCommand timed out after 1 seconds", result.Text)
	silent := r.bash(args{"command": "sleep 60", "timeout": 1.5})
	require.Equal(t, "Command timed out after 1.5 seconds", strings.ReplaceAll(silent.Text, textShellReplaced+"\n\n", ""))
	alone := newRig(t).bash(args{"command": "echo got; sleep 60", "timeout": 1, "env": args{"A": "1"}})
	require.Equal(t, "got\n\nCommand timed out after 1 seconds", alone.Text)
}

func TestR095_AnAbortIsAnErrorOfItsOwn(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := r.Bash(ctx, Params{Command: "echo got; sleep 60"}, func(u dialect.Result) {
		if u.Text == "got\n" {
			cancel()
		}
	})
	var abort *AbortError
	require.ErrorAs(t, err, &abort)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "[Command cancelled]\ngot", abort.Text)

	other := make(chan dialect.Result, 1)
	up := make(chan struct{}, 1)
	r.beside.Go(func() {
		result, err := r.Bash(context.Background(), Params{Command: "echo got; sleep 60"}, func(dialect.Result) { up <- struct{}{} })
		if err == nil {
			other <- result
		}
	})
	<-up
	jobs := r.ran()
	_, err = host.Ask(context.Background(), r.node.Host(), messages.StopCommand{Job: jobs[len(jobs)-1].ID})
	require.NoError(t, err)
	result := <-other
	require.True(t, result.IsError, "somebody else has ended it: a plain error")
	require.True(t, strings.HasSuffix(result.Text, "\ngot"), result.Text)
	require.Equal(t, "Command aborted", ended{how: aborted}.result().Text)
}

func TestR096_TheTruncationSaysWhichPartIsShown(t *testing.T) {
	r := newRig(t)
	got := dialecttest.Fields(t, r.bash(args{"command": "seq 20000"}).Details)["meta"].(map[string]any)["truncation"].(map[string]any)
	shown := got["outputLines"].(float64)
	require.Equal(t, map[string]any{
		"direction": "tail", "truncatedBy": "bytes", "totalLines": 20001.0, "totalBytes": 108894.0, "outputLines": shown, "outputBytes": 51200.0,
		"maxBytes": 51200.0, "shownRange": map[string]any{"start": 20001 - shown + 1, "end": 20001.0}, "artifactId": "0",
	}, got)
	by := func(c Captured) string { c.Truncated = true; return c.truncation().TruncatedBy }
	require.Equal(t, "bytes", by(Captured{TotalBytes: 2, OutputBytes: 1, TotalLines: 9, OutputLines: 1}))
	require.Equal(t, "lines", by(Captured{TotalBytes: 2, OutputBytes: 2, TotalLines: 9, OutputLines: 1}))
	require.Equal(t, "bytes", by(Captured{}))
	require.Contains(t, r.run("seq 20000 | tail -n 3"), "\n\n[Showing lines 19998-20001 of 20001. Full: artifact://1]", "the limit decided")
}

func TestR097_TheNoticeOfACutIsTheLastOfTheText(t *testing.T) {
	for want, cut := range map[string]Truncation{
		"[Showing lines 5-9 of 9 (50.0KB limit). Full: artifact://3]": {Direction: "tail", TruncatedBy: "bytes", TotalLines: 9, MaxBytes: 51200, ShownRange: Range{5, 9}, ArtifactID: "3"},
		"[Showing lines 5-9 of 9 (512B limit)]":                       {TruncatedBy: "bytes", TotalLines: 9, OutputBytes: 512, ShownRange: Range{5, 9}},
		"[Showing lines 1-4 of 9. Use offset=5 to continue]":          {Direction: "head", TruncatedBy: "lines", TotalLines: 9, ShownRange: Range{1, 4}, NextOffset: 5},
		"[Showing 0 of 9 lines]":                                      {TruncatedBy: "lines", TotalLines: 9, ShownRange: Range{10, 9}},
	} {
		result := notice(dialect.Result{Text: "text", Details: &Details{Meta: &Meta{Truncation: &cut}}})
		require.Equal(t, "text\n\n"+want, result.Text)
	}
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0KB", 51200: "50.0KB", 3 << 20: "3.0MB", 5 << 30: "5.0GB", 2 << 40: "2048.0GB"} {
		require.Equal(t, want, size(n))
	}
}

func TestR097_ACutThatAModelSeesHasItsNotice(t *testing.T) {
	r := newRig(t)
	require.Regexp(t, `\n\n\[Showing lines \d+-20001 of 20001 \(50\.0KB limit\)\. Full: artifact://0\]$`, r.run("seq 20000"))
}

func TestR098_TheNoticeIsAddedOnce(t *testing.T) {
	cut := &Details{Meta: &Meta{Truncation: &Truncation{TruncatedBy: "lines", TotalLines: 9, ShownRange: Range{5, 9}}}}
	once := notice(dialect.Result{Text: "text", Details: cut})
	require.Equal(t, once, notice(once))
	empty := notice(dialect.Result{Details: cut})
	require.Equal(t, "[Showing lines 5-9 of 9]", empty.Text)
	require.Equal(t, empty, notice(empty))
	code := 3
	failed := *cut
	failed.ExitCode = &code
	once = notice(dialect.Result{Text: "text\n\nCommand exited with code 3", Details: &failed})
	require.Equal(t, "text\n\n[Showing lines 5-9 of 9]\n\nCommand exited with code 3", once.Text)
	require.Equal(t, once, notice(once))

	r, err := answered(dialect.Result{}, &ToolError{Text: "plain"})
	require.NoError(t, err)
	require.Equal(t, dialect.Result{Text: "plain", IsError: true}, r, "an error is told by its text")
	_, err = answered(dialect.Result{}, &AbortError{Text: "t", Cause: errors.ErrUnsupported})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestR099_AResultIsDrawn(t *testing.T) {
	var text strings.Builder
	for i := range 12 {
		text.WriteString(strings.Repeat(string(rune('a'+i)), 10) + "\n")
	}
	asked := 5000.0
	r := dialect.Result{Text: text.String(), Details: &Details{
		TimeoutSeconds: 3600, RequestedTimeoutSeconds: &asked,
		Meta: &Meta{Truncation: &Truncation{TruncatedBy: "bytes", ArtifactID: "4"}},
	}}
	got := Render(r, View{Width: 5, ExpandKey: "ctrl+e"})
	require.Len(t, got, 13)
	require.Equal(t, "… 14 lines hidden, 10 of 24 shown (ctrl+e to expand)", got[0])
	require.Equal(t, []string{"hhhhh", "hhhhh"}, got[1:3], "the lines of the screen are counted")
	require.Equal(t, []string{"Timeout: 3600s (asked for 5000s)", "Output truncated by bytes: artifact://4 has all of it"}, got[11:])
	expanded := Render(r, View{Width: 80, Expanded: true})
	require.Len(t, expanded, 14)
	require.Equal(t, []string{"x", "Timeout: 300s"}, Render(dialect.Result{Text: "x", Details: &Details{TimeoutSeconds: 300}}, View{Width: 80}))
	ran := newRig(t).bash(args{"command": "seq 15", "timeout": 5000})
	drawn := Render(ran, View{Width: 80, ExpandKey: "ctrl+e"})
	require.Len(t, drawn, 12)
	require.Regexp(t, `^… \d+ lines hidden, 10 of \d+ shown \(ctrl\+e to expand\)$`, drawn[0])
	require.Equal(t, "Timeout: 3600s (asked for 5000s)", drawn[11])
	require.Equal(t, []string{"世界", "世"}, Render(dialect.Result{Text: "世界世"}, View{Width: 5}))
}

func TestR100_TheExpandedViewHasTheWholeArtifact(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "seq 20000"})
	given := Render(result, View{Width: 80, Expanded: true, Full: "given", IsFull: true})
	require.Equal(t, "given", given[0])
	loaded := r.Show(context.Background(), result, View{Width: 80, Expanded: true})
	require.Equal(t, []string{"1", "2"}, loaded[:2])
	require.Len(t, loaded, 20000+2)
	require.Less(t, len(r.Show(context.Background(), result, View{Width: 80})), 20)
	require.NoError(t, errors.Join(nil))
}

func TestR283_TheTimesAreThoseOfTheFamily(t *testing.T) {
	r := newRig(t)
	r.run("true")
	require.Equal(t, 300*time.Second, r.ran()[0].Timeout)
	require.Equal(t, [2]int{1, 3600}, [2]int{minTimeout, maxTimeout})
}

func TestR284_ANonZeroExitIsReturned(t *testing.T) {
	r := newRig(t)
	result, err := r.Bash(context.Background(), Params{Command: "exit 9"}, nil)
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.True(t, strings.HasSuffix(result.Text, "Command exited with code 9"))
}

func TestR285_TheViewIsATail(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "seq 20000"})
	require.Equal(t, "tail", details(t, result).Meta.Truncation.Direction)
	require.True(t, strings.HasSuffix(body(result), "\n20000"))
}

func TestR286_TheStreamsAreMerged(t *testing.T) {
	r := newRig(t)
	r.run("echo 1; echo 2 >&2")
	jobs := r.ran()
	require.Len(t, jobs[0].Output, 1)
	require.Equal(t, messages.Merged, jobs[0].Output[0].Stream)
}

func TestR287_TheArtifactIsSanitizedAndTheLogIsRaw(t *testing.T) {
	r := newRig(t)
	r.run("for i in $(seq 10000); do printf '\\033[31mred\\033[0m %s\\n' $i; done")
	require.NotContains(t, r.file("0"), "\x1b")
	job := r.ran()[0]
	raw, err := r.options.Host.Bytes(context.Background(), messages.JobID(job.UID), messages.Merged, 0, 14, false)
	require.NoError(t, err)
	require.Equal(t, "\x1b[31mred\x1b[0m 1", string(raw.Data))
}

func TestR290_TheSearchToolIsASetting(t *testing.T) {
	for tool, set := range map[string]string{"search": "", "grep": "grep"} {
		r := newRig(t, settings(func(s *Settings) { s.Interceptor, s.SearchTool = true, set }), func(o *Options, _ *JobsOptions) { o.Tools = []string{tool} })
		require.Equal(t, tool, details(t, r.bash(args{"command": "rg x ."})).SuggestedTool)
	}
}

func TestR292_UpdatesComeEvery50ms(t *testing.T) {
	require.Equal(t, 50*time.Millisecond, updateEvery)
	r := newRig(t)
	last := ""
	_, err := r.call(context.Background(), "bash", args{"command": "echo a; sleep 0.01; echo b"}, func(u dialect.Result) { last = u.Text })
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", last, "the last call has the end")
}
