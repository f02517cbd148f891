package omp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// gate is a command that goes on when it is opened.
type gate struct {
	t    *testing.T
	path string
}

func (r *rig) gate(name string) gate {
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, syscall.Mkfifo(path, 0o600))
	return gate{r.t, path}
}

// wait is the part of a command that waits for the gate.
func (g gate) wait() string { return "read -r _ < " + g.path }

func (g gate) open() {
	g.t.Helper()
	f, err := os.OpenFile(g.path, os.O_WRONLY, 0)
	require.NoError(g.t, err)
	_, err = f.WriteString("go\n")
	require.NoError(g.t, err)
	require.NoError(g.t, f.Close())
}

func TestR118_AsyncReturnsAtOnce(t *testing.T) {
	r := newRig(t, async)
	g := r.gate("g")
	result := r.bash(args{"command": "echo a; " + g.wait(), "async": true})
	require.False(t, result.IsError)
	require.Equal(t, &Async{State: "running", JobID: "bg_1", Type: "bash"}, details(t, result).Async)
	g.open()
	require.Equal(t, "bg_1", (<-r.told).Details.JobID)
}

func TestR119_TheStartTextHasItsParts(t *testing.T) {
	r := newRig(t, async, autoBackground(time.Minute))
	g := r.gate("g")
	command := r.late("printf 'seen  \\n\\n'; "+g.wait(), "seen  \n\n")
	result := r.bash(args{"command": command, "timeout": 5000})
	require.Equal(t, "seen\n\nTimeout: 5000 seconds asked for, 3600 seconds used (allowed: 1 to 3600)\n\nBackground job bg_1 started: "+command+"\n"+
		`Its result comes by itself when it ends. The job tool shows it (list: true) or waits for it (poll: ["bg_1"]); until then other work is a better use of the time.`, result.Text)
	g.open()
	<-r.told
}

func TestR120_IdsAndLabels(t *testing.T) {
	taken := map[string]bool{"bg_1": true, "bg_3": true, "mine": true, "mine-2": true}
	has := func(id string) bool { return taken[id] }
	require.Equal(t, "bg_2", newID("", has))
	require.Equal(t, "mine-3", newID("mine", has))
	require.Equal(t, "free", newID("free", has))
	exact, long := strings.Repeat("ä", 120), strings.Repeat("ä", 121)
	require.Equal(t, exact, label(exact))
	require.Equal(t, strings.Repeat("ä", 117)+"...", label(long))
	require.Equal(t, strings.Repeat("𝄞", 117)+"...", label(strings.Repeat("𝄞", 1<<20)))
	r := newRig(t, async)
	g := r.gate("g")
	require.Equal(t, "bg_1", details(t, r.bash(args{"command": g.wait(), "async": true})).Async.JobID)
	require.Equal(t, "bg_2", details(t, r.bash(args{"command": g.wait(), "async": true})).Async.JobID)
	r.job(args{"cancel": []string{"bg_1", "bg_2"}})
}

func TestR121_ARecordHasItsFields(t *testing.T) {
	r := newRig(t, async)
	before := time.Now()
	r.bash(args{"command": "echo out", "async": true})
	<-r.told
	record := r.jobs.records("main", nil, false)[0]
	require.WithinRange(t, record.StartTime, before, time.Now())
	require.WithinRange(t, record.EndTime, record.StartTime, time.Now())
	require.NotEmpty(t, record.Job)
	require.True(t, strings.HasPrefix(record.ResultText, "out\n\nWall time: "))
	record.StartTime, record.EndTime, record.Job, record.ResultText = time.Time{}, time.Time{}, "", ""
	require.Equal(t, JobRecord{ID: "bg_1", Type: "bash", Status: "completed", Label: "echo out", OwnerID: "main"}, record)
}

func TestR122_ProgressSaysWhereAJobStands(t *testing.T) {
	progress := make(chan dialect.Result, 1000)
	r := newRig(t, async, autoBackground(time.Minute), func(_ *Options, j *JobsOptions) {
		j.Progress = func(_, _ string, u dialect.Result) { progress <- u }
	})
	g := r.gate("g")
	command := "echo early; " + g.wait() + "; echo late; exit 3"
	var early []dialect.Result
	shown := make(chan struct{}, 1000)
	r.options.Host = dialecttest.Late{Host: r.options.Host, Beside: r.beside, Until: map[string]string{command: "early"}, Waited: func(time.Duration) { <-shown }}
	result, err := r.call(context.Background(), "bash", args{"command": command}, func(u dialect.Result) {
		early = append(early, u)
		shown <- struct{}{}
	})
	require.NoError(t, err)
	require.NotNil(t, details(t, result).Async)
	require.NotEmpty(t, early)
	for _, u := range early {
		require.Nil(t, details(t, u).Async, "it is not in the background yet")
	}
	g.open()
	var states []string
	for {
		u := <-progress
		state := details(t, u).Async.State
		states = append(states, state)
		if state != "running" {
			require.True(t, strings.HasPrefix(u.Text, "early\nlate\n"), u.Text)
			require.True(t, u.IsError)
			break
		}
	}
	require.Equal(t, "failed", states[len(states)-1], "a non-zero exit is a failed job")
	<-r.told
	require.Equal(t, JobFailed, r.jobs.records("main", nil, false)[0].Status)
}

func TestR123_TheNumberOfJobsIsBounded(t *testing.T) {
	require.Equal(t, []int{100, 1, 1, 100, 7}, []int{MaxJobs(0), MaxJobs(-1), MaxJobs(1), MaxJobs(1000), MaxJobs(7)})
	require.Equal(t, 15, NewJobs(JobsOptions{}).o.Limit)
	r := newRig(t, async, func(_ *Options, j *JobsOptions) { j.Limit = 1 })
	g := r.gate("g")
	r.bash(args{"command": g.wait(), "async": true})
	result := r.bash(args{"command": "true", "async": true})
	require.True(t, result.IsError)
	require.Equal(t, "The limit of 1 background jobs is reached. Wait for one to end, or cancel one with the job tool.", result.Text)
	r.jobs.Dispose(context.Background())
	require.Equal(t, "The job manager has ended; no job can be started any more.", r.bash(args{"command": "true", "async": true}).Text)
}

// begin adds a job that a test plays.
func begin(t *testing.T, j *Jobs, owner string) *job {
	t.Helper()
	b, err := j.register("make", owner, func(string) string { return "7" }, false)
	require.NoError(t, err)
	j.goesOn(b)
	return b
}

func TestR124_EndedJobsStayForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJobs(JobsOptions{Beside: &sync.WaitGroup{}})
		defer j.Dispose(context.Background())
		j.finish(begin(t, j, "main"), dialect.Result{Text: "x"})
		time.Sleep(5*time.Minute - time.Second)
		require.Len(t, j.records("main", nil, false), 1)
		time.Sleep(time.Second)
		require.Empty(t, j.records("main", nil, false))
		for range 300 {
			j.finish(begin(t, j, "main"), dialect.Result{})
		}
		require.Len(t, j.records("main", nil, false), mostFinished)
	})
}

func TestR125_AnEndIsDelivered(t *testing.T) {
	r := newRig(t, async)
	r.bash(args{"command": "echo out; exit 3", "async": true})
	d := <-r.told
	require.Equal(t, "async-result", d.CustomType)
	require.Equal(t, DeliveryDetails{JobID: "bg_1", Type: "bash", Label: "echo out; exit 3", DurationMs: d.Details.DurationMs}, d.Details)
	require.True(t, strings.HasPrefix(d.Text, "Background job bg_1 (echo out; exit 3) has failed. Resume the work that waited for it. Its result:\n\nout\n\nWall time: "), d.Text)
	require.True(t, strings.HasSuffix(d.Text, "Command exited with code 3"))

	r.bash(args{"command": "for i in $(seq 12001); do printf x; done", "async": true})
	cut := (<-r.told).Text
	require.Equal(t, 4000, strings.Count(cut, "x")-strings.Count("has completed. artifact for i in $(seq 12001); do printf x; done", "x"))
	require.Regexp(t, `\n\n\[Cut: the first 4000 of 12\d\d\d characters\. The rest is in artifact://0\]$`, cut)
	require.True(t, strings.HasPrefix(r.file("0"), strings.Repeat("x", 12001)))
	path, err := r.store.Find("0")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(path, ".async.log"))

	g := r.gate("g")
	r.bash(args{"command": g.wait(), "async": true})
	r.job(args{"cancel": []string{"bg_3"}})
	r.bash(args{"command": "true", "async": true})
	require.Equal(t, "bg_4", (<-r.told).Details.JobID, "a cancelled job is not delivered")
}

func TestR126_ADeliveryIsTriedAgain(t *testing.T) {
	for attempt, want := range map[int]time.Duration{1: 500, 2: 1000, 3: 2000, 6: 16000, 7: 30000, 100: 30000} {
		require.Equal(t, want*time.Millisecond, retryAfter(attempt, 0))
	}
	require.Equal(t, 699*time.Millisecond, retryAfter(1, 199*time.Millisecond))
	for range 1000 {
		require.Less(t, chance(), 200*time.Millisecond)
	}
	synctest.Test(t, func(t *testing.T) {
		var beside sync.WaitGroup
		began, tried := time.Now(), []string{}
		j := NewJobs(JobsOptions{Beside: &beside, Jitter: func() time.Duration { return 100 * time.Millisecond }, Deliver: func(_ context.Context, d Delivery) error {
			tried = append(tried, fmt.Sprintf("%s at %s", d.Details.JobID, time.Since(began)))
			if d.Details.JobID == "bg_1" && len(tried) < 5 {
				return errors.New("not now")
			}
			return nil
		}})
		first, second := begin(t, j, "main"), begin(t, j, "main")
		j.finish(first, dialect.Result{Text: "x"})
		j.finish(second, dialect.Result{Text: "x"})
		beside.Wait()
		require.Equal(t, []string{"bg_1 at 0s", "bg_2 at 0s", "bg_1 at 600ms", "bg_1 at 1.7s", "bg_1 at 3.8s"}, tried, "what failed goes to the back")
		j.Dispose(context.Background())
	})
}

func TestR127_WhatSomebodyTellsIsNotDelivered(t *testing.T) {
	r := newRig(t, async, autoBackground(time.Minute))
	require.True(t, strings.HasPrefix(r.run("echo quick"), "quick\n"), "its call has told it")
	g := r.gate("g")
	r.bash(args{"command": g.wait(), "async": true})
	polled := make(chan dialect.Result, 1)
	polls := make(chan struct{}, 100)
	r.beside.Go(func() {
		result, err := r.Job(context.Background(), JobParams{}, func(dialect.Result) { polls <- struct{}{} })
		if err == nil {
			polled <- result
		}
	})
	<-polls
	g.open()
	require.Contains(t, (<-polled).Text, "## Completed (1)")
	r.bash(args{"command": "true", "async": true})
	require.Equal(t, "bg_3", (<-r.told).Details.JobID, "neither of the others was delivered")

	synctest.Test(t, func(t *testing.T) {
		var beside sync.WaitGroup
		told := 0
		j := NewJobs(JobsOptions{Beside: &beside, Deliver: func(context.Context, Delivery) error { told++; return nil }})
		b := begin(t, j, "main")
		watched := j.watch("main", []string{b.ID})
		j.finish(b, dialect.Result{Text: "x"})
		synctest.Wait()
		require.Zero(t, told)
		j.unwatch(watched, false)
		beside.Wait()
		require.Equal(t, 1, told, "a poll that was aborted has told nothing")
		j.Dispose(context.Background())

		tried := 0
		j = NewJobs(JobsOptions{Beside: &beside, Deliver: func(context.Context, Delivery) error { tried++; return errors.New("not now") }})
		j.finish(begin(t, j, "main"), dialect.Result{Text: "x"})
		synctest.Wait()
		j.records("main", nil, true) // as the tool job does with list
		beside.Wait()
		require.Equal(t, 1, tried, "what a tool has told is not tried again")
		j.Dispose(context.Background())
	})
}

func TestR128_CancelIsForRunningJobsOfTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJobs(JobsOptions{Beside: &sync.WaitGroup{}})
		b := begin(t, j, "main")
		during := JobStatus("")
		j.arm(b, func() { during = j.records("main", nil, false)[0].Status })
		what, _ := j.cancel("other", "bg_1")
		require.Equal(t, CancelledJob{"bg_1", "not_found"}, what)
		what, _ = j.cancel("main", "bg_1")
		require.Equal(t, CancelledJob{"bg_1", "cancelled"}, what)
		require.Equal(t, JobCancelled, during, "the record first, then the signal")
		j.finish(b, dialect.Result{Text: "late"})
		record := j.records("main", nil, false)[0]
		require.Equal(t, JobCancelled, record.Status, "a late result does not change it")
		require.Empty(t, record.ResultText)
		what, status := j.cancel("main", "bg_1")
		require.Equal(t, CancelledJob{"bg_1", "already_completed"}, what)
		require.Equal(t, JobCancelled, status)
		j.Dispose(context.Background())
	})
	r := newRig(t, async)
	r.bash(args{"command": "sleep 60", "async": true})
	require.Contains(t, r.job(args{"cancel": []string{"bg_1"}}).Text, "bg_1: cancelled")
	<-r.jobs.table["bg_1"].settled
	require.Equal(t, messages.Cancelled, r.ran()[0].End.Outcome)
}

func TestR129_DisposeEndsEverything(t *testing.T) {
	r := newRig(t, async)
	r.bash(args{"command": "sleep 60", "async": true})
	r.jobs.Dispose(context.Background())
	require.Equal(t, messages.Cancelled, r.ran()[0].End.Outcome, "it was waited for")
	require.Equal(t, "The job manager has ended; no job can be started any more.", r.bash(args{"command": "true", "async": true}).Text)
	require.Empty(t, r.jobs.records("main", nil, false))

	synctest.Test(t, func(t *testing.T) {
		var beside sync.WaitGroup
		tries := 0
		j := NewJobs(JobsOptions{Beside: &beside, Deliver: func(context.Context, Delivery) error { tries++; return errors.New("never") }})
		j.finish(begin(t, j, "main"), dialect.Result{Text: "x"})
		synctest.Wait()
		began := time.Now()
		j.Dispose(context.Background())
		require.Equal(t, 3*time.Second, time.Since(began), "deliveries are drained for so long")
		require.Greater(t, tries, 1)
		beside.Wait()
	})
}

func TestR130_WhatTakesLongGoesOnInTheBackground(t *testing.T) {
	at := func(seconds float64, threshold time.Duration) time.Duration {
		return autoWait(timeout(&seconds, DefaultSettings()), threshold)
	}
	require.Equal(t, time.Minute, at(300, time.Minute))
	require.Equal(t, 29*time.Second, at(30, time.Minute))
	require.Equal(t, time.Duration(0), at(1, time.Minute))
	require.Equal(t, time.Duration(0), at(300, -5))
	require.Equal(t, time.Minute, DefaultSettings().AutoBackgroundThreshold)
	require.False(t, DefaultSettings().AutoBackground)

	short := newRig(t, autoBackground(100*time.Millisecond))
	held := short.gate("g")
	require.NotNil(t, details(t, short.bash(args{"command": held.wait()})).Async)
	held.open()
	<-short.told

	r := newRig(t, autoBackground(time.Minute))
	g := r.gate("g")
	command := r.late("echo $$; "+g.wait()+"; echo $$", "\n")
	require.True(t, strings.HasPrefix(r.run("echo quick"), "quick\n\nWall"))
	result := r.bash(args{"command": command})
	require.Equal(t, "running", details(t, result).Async.State)
	require.Equal(t, "bg_2", details(t, result).Async.JobID)
	pid := strings.SplitN(result.Text, "\n", 2)[0]
	g.open()
	require.Contains(t, (<-r.told).Text, pid+"\n"+pid+"\n", "the same process")

	ctx, cancel := context.WithCancel(context.Background())
	r = newRig(t, autoBackground(time.Minute))
	_, err := r.Bash(ctx, Params{Command: "echo begun; sleep 60"}, func(u dialect.Result) {
		if u.Text == "begun\n" {
			cancel()
		}
	})
	var abort *AbortError
	require.ErrorAs(t, err, &abort)
	require.True(t, strings.HasSuffix(abort.Text, "\nbegun"), abort.Text)
	require.Equal(t, JobCancelled, r.jobs.records("main", nil, false)[0].Status)

	zero := newRig(t, autoBackground(0))
	require.Contains(t, zero.run("echo x"), "Background job bg_1 started: echo x")
	<-zero.told
}

func TestR131_TheJobToolHasItsParameters(t *testing.T) {
	r := newRig(t, async)
	for _, wrong := range []args{{"list": true, "poll": []string{"bg_1"}}, {"list": true, "cancel": []string{"bg_1"}}} {
		result := r.job(wrong)
		require.True(t, result.IsError)
		require.Equal(t, "list shows all jobs and does nothing else: leave out poll and cancel, or leave out list", result.Text)
	}
	g := r.gate("g")
	r.bash(args{"command": g.wait(), "async": true})
	r.bash(args{"command": "sleep 60", "async": true})
	require.Contains(t, r.job(args{"list": true}).Text, "## Still running (2)")
	require.Equal(t, "## Cancelled (1)\n- bg_2: cancelled", r.job(args{"cancel": []string{"bg_2"}}).Text, "it returns at once")
	r.beside.Go(g.open)
	require.Contains(t, r.job(args{}).Text, "### bg_1 [bash] completed", "nothing given waits for what runs")
}

func TestR132_APollEndsByItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beside sync.WaitGroup
		j := NewJobs(JobsOptions{Beside: &beside})
		set := DefaultSettings()
		set.AsyncEnabled, set.PollWait = true, 5*time.Second
		s := New(Options{Settings: set, Jobs: j, Owner: "main", Beside: &beside})
		b := begin(t, j, "main")
		updates, began := 0, time.Now()
		result, err := s.Job(context.Background(), JobParams{Poll: []string{b.ID}}, func(dialect.Result) { updates++ })
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.InDelta(t, 9, updates, 1, "every 500 ms")
		require.Contains(t, result.Text, "## Still running (1)")
		require.Equal(t, JobRunning, j.records("main", nil, false)[0].Status)

		time.AfterFunc(1200*time.Millisecond, func() { j.finish(b, dialect.Result{Text: "x"}) })
		began = time.Now()
		result, err = s.Job(context.Background(), JobParams{Poll: []string{b.ID}}, nil)
		require.NoError(t, err)
		require.Equal(t, 1200*time.Millisecond, time.Since(began), "it ends with the job")
		require.Contains(t, result.Text, "## Completed (1)")

		other := begin(t, j, "main")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = s.Job(ctx, JobParams{Poll: []string{other.ID}}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		j.finish(other, dialect.Result{})
		j.Dispose(context.Background())
	})
	for given, want := range map[time.Duration]time.Duration{5 * time.Second: 5 * time.Second, 5 * time.Minute: 5 * time.Minute, 7 * time.Second: 30 * time.Second, 0: 30 * time.Second} {
		require.Equal(t, want, Settings{PollWait: given}.pollWait())
	}
}

func TestR133_TheTextsOfTheJobToolTellApart(t *testing.T) {
	r := newRig(t, async)
	require.Equal(t, "No background job is running; there is nothing to wait for.", r.job(args{}).Text)
	require.Equal(t, "There are no background jobs.", r.job(args{"list": true}).Text)
	require.Equal(t, "None of these is a job of this session: bg_7, x", r.job(args{"poll": []string{"bg_7", "x"}}).Text)
	r.bash(args{"command": "echo 'a ```b'; false", "async": true})
	<-r.told
	g := r.gate("g")
	r.bash(args{"command": g.wait(), "async": true})
	text := r.job(args{"poll": []string{"bg_1", "bg_2", "bg_9"}, "cancel": []string{"bg_8", "bg_1"}}).Text
	require.Regexp(t, "(?s)^## Not cancelled \\(2\\)\n- bg_8: no such job\n- bg_1: has ended before \\(failed\\)\n\n"+
		"## Completed \\(1\\)\n### bg_1 \\[bash\\] failed\necho 'a ```b'; false\nError:\n````\na ```b\n.*Command exited with code 1\n````\n\n"+
		"## Still running \\(1\\)\n### bg_2 \\[bash\\] running\nread .*\n\n## Not found \\(1\\)\n- bg_9: no such job$", text)
	g.open()
	<-r.told
	off := newRig(t, settings(func(s *Settings) { s.AutoBackground = false }))
	_, err := off.Job(context.Background(), JobParams{}, nil)
	require.EqualError(t, err, "Background jobs are disabled for this session. They are enabled by the settings async.enabled and bash.autoBackground.enabled.")
	require.Len(t, off.Tools(), 1)
	require.Len(t, r.Tools(), 2)
}

func TestR134_TheDetailsOfTheJobTool(t *testing.T) {
	r := newRig(t, async)
	r.bash(args{"command": "echo a", "async": true})
	<-r.told
	g := r.gate("g")
	r.bash(args{"command": g.wait(), "async": true})
	got := dialecttest.Fields(t, r.job(args{"poll": []string{"bg_1"}, "cancel": []string{"bg_2", "bg_1", "no"}}).Details)
	require.Equal(t, []any{
		map[string]any{"id": "bg_2", "status": "cancelled"}, map[string]any{"id": "bg_1", "status": "already_completed"}, map[string]any{"id": "no", "status": "not_found"},
	}, got["cancelled"])
	entry := got["jobs"].([]any)[0].(map[string]any)
	require.Contains(t, entry["resultText"], "a\n")
	require.NotContains(t, entry, "errorText")
	require.Subset(t, entry, map[string]any{"id": "bg_1", "type": "bash", "status": "completed", "label": "echo a"})
	require.Contains(t, entry, "durationMs")
	sub := New(func() Options { o := r.options; o.Owner = "sub"; return o }())
	list, err := sub.Job(context.Background(), JobParams{List: true}, nil)
	require.NoError(t, err)
	require.Equal(t, "There are no background jobs.", list.Text, "a job is its owner's alone")
}

func TestR135_AStartNamesItsCommand(t *testing.T) {
	r := newRig(t, async)
	starts := make(chan string, 3)
	for _, command := range []string{"echo one", "echo two", "echo three"} {
		r.beside.Go(func() { starts <- command + "|" + r.bash(args{"command": command, "async": true}).Text })
	}
	for range 3 {
		command, text, _ := strings.Cut(<-starts, "|")
		require.Contains(t, text, " started: "+command+"\n")
	}
	for range 3 {
		<-r.told
	}
}

// A person lets a command go on: the call ends, and the next one does not wait for it.
func TestACommandThatAPersonLetsGoOn(t *testing.T) {
	r := newRig(t, async)
	g := r.gate("g")
	up, started := make(chan struct{}, 100), make(chan dialect.Result, 1)
	r.beside.Go(func() {
		result, err := r.Bash(context.Background(), Params{Command: "echo up; " + g.wait()}, func(dialect.Result) { up <- struct{}{} })
		if err == nil {
			started <- result
		}
	})
	<-up
	_, err := dialect.Promote(context.Background(), r.options.Host, r.ran()[0].ID)
	require.NoError(t, err)
	require.Contains(t, (<-started).Text, "Background job bg_1 started: ")
	require.Contains(t, r.run("echo next"), "next\n")
	g.open()
	require.Contains(t, (<-r.told).Text, "has completed")
}

// What a job leaves behind in its shell stays; a shell with nothing in it is closed.
func TestTheShellOfAJobIsClosedBehindIt(t *testing.T) {
	r := newRig(t, async)
	r.bash(args{"command": "true", "async": true})
	<-r.told
	r.bash(args{"command": "sleep 60 & true", "async": true})
	<-r.told
	sessions := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.opened)
	}
	require.Equal(t, 1, sessions())
}

// Many jobs end in any order, and one question is open for all of them.
func TestTheEndsOfManyJobsAreOneQuestion(t *testing.T) {
	r := newRig(t, async, func(_ *Options, j *JobsOptions) { j.Limit = 40 })
	counting := &counted{Host: r.options.Host}
	r.options.Host = counting
	var gates []gate
	for i := range 20 {
		gates = append(gates, r.gate(fmt.Sprint("g", i)))
		require.False(t, r.bash(args{"command": gates[i].wait(), "async": true}).IsError)
	}
	for _, g := range gates {
		r.beside.Go(g.open)
	}
	for range gates {
		require.Contains(t, (<-r.told).Text, "has completed")
	}
	require.Equal(t, int32(1), counting.most.Load())
}

// counted counts the waits that are open at a time.
type counted struct {
	dialect.Host
	open, most atomic.Int32
}

func (c *counted) Do(ctx context.Context, r messages.Refusable) (any, error) {
	if _, waits := r.(messages.WaitJobs); waits {
		c.most.Store(max(c.most.Load(), c.open.Add(1)))
		defer c.open.Add(-1)
	}
	return c.Host.Do(ctx, r)
}

// A wait that fails says so of the jobs that it was for, and of no others.
func TestAnEndThatCannotBeKnown(t *testing.T) {
	r := newRig(t, async)
	forgets := make(chan struct{})
	r.options.Host = &forgetful{Host: r.options.Host, forgets: forgets}
	g := r.gate("g")
	r.bash(args{"command": "true; " + g.wait(), "async": true})
	close(forgets)
	require.Contains(t, (<-r.told).Text, "What became of the job is not known: ")
	g.open()
}

// forgetful is a host that knows no job any more.
type forgetful struct {
	dialect.Host
	forgets chan struct{}
}

func (f *forgetful) Do(ctx context.Context, r messages.Refusable) (any, error) {
	switch r.(type) {
	case messages.WaitJobs:
		<-f.forgets
	case messages.FindJob:
	default:
		return f.Host.Do(ctx, r)
	}
	return nil, &messages.Error{Code: messages.NotFound, Message: "there is no such job"}
}
