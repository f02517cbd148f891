package copilot

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR193_IdsAreCountedAndCallsQueue(t *testing.T) {
	node := newRig(t).node
	one := rigOn(t, node)
	started := func(r *rig) string {
		return details(t, r.call("bash", args{"command": "true", "description": "", "mode": "async"})).ShellID
	}
	assert.Equal(t, []string{"0", "1", "2"}, []string{started(one), started(one), started(one)})
	one.async("3", "true") // a name that the counter would give
	assert.Equal(t, "4", started(one))

	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		var mu sync.Mutex
		var order []string
		said := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
		}
		run := func(name, command string) {
			r.beside.Go(func() {
				_, _ = r.Execute(t.Context(), ExecuteParams{Command: &command, Description: name, ShellID: "s"}, nil)
				said(name)
			})
			synctest.Wait()
		}
		run("first", "a")
		run("second", "b")
		r.beside.Go(func() {
			r.call("stop_bash", args{"shellId": "s"})
			said("stop")
		})
		synctest.Wait()
		r.call("bash", args{"command": "free", "description": "", "mode": "async"}) // a call without an id does not wait
		first, free := <-h.first, <-h.first
		assert.Equal(t, "a", first.r.Text)
		assert.Equal(t, "free", free.r.Text)
		assert.Empty(t, h.first)
		h.exits(first, 0)
		second := <-h.first
		assert.Equal(t, "b", second.r.Text)
		synctest.Wait()
		assert.Equal(t, []string{"first"}, order)
		h.exits(second, 0)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"first", "second", "stop"}, order)
	})

	synctest.Test(t, func(t *testing.T) { // who leaves gives its place on, and too many are refused
		r, h := playedRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		r.async("s", "long")
		delay := 600.0
		for range mostCalls + 1 {
			r.beside.Go(func() { _, _ = r.Read(ctx, ReadParams{ShellID: "s", Delay: &delay}) })
		}
		synctest.Wait()
		assert.Equal(t, "<the command was not started: too many calls wait for the shell with id s>", r.read("s", 1).Text)
		cancel()
		synctest.Wait()
		assert.Contains(t, r.read("s", 1).Text, "is still running")
		h.exits(<-h.first, 0)
	})
}

func TestR194_OneCommandAtATime(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		r.async("a", "echo first; sleep 100")
		r.wrote("a", "first")
		before := r.job("a")
		busy := r.async("a", "echo second")
		assert.True(t, busy.IsError)
		assert.Equal(t, "<a command with shellId: a is already running. Use read_bash to wait for it, or stop_bash to stop it>", busy.Text)
		assert.Equal(t, before, r.job("a"))
		assert.Equal(t, []string{"a"}, r.listed().CurrentExecutions)
		assert.Contains(t, r.read("a", 0).Text, "first\n<command with shellId: a is still running")
	})
}

func TestR195_ASyncCommandThatEndsInTime(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		result := r.sync(`printf '\n  a  \nb\n\n'; exit_() { return 3; }; exit_`)
		assert.False(t, result.IsError)
		assert.Equal(t, "a  \nb\n<exited with exit code 3>", result.Text)
		assert.Equal(t, 3, *details(t, result).ExitCode)
		assert.Equal(t, StatusFailed, details(t, result).Status)
		assert.Equal(t, "<exited with exit code 0>", r.sync("true").Text) // no output: the status line alone
		assert.Empty(t, r.all())
		assert.Empty(t, r.listed().Sessions)
		r.beside.Wait()
		sessions, err := dialect.Sessions(context.Background(), r.options.Host, "")
		require.NoError(t, err)
		for _, info := range sessions {
			assert.NotContains(t, info.Session, "copilot") // the shell is gone, too
		}
		r.silent()

		r.async("kept", "true") // a sync command shuts a shell down, whoever opened it
		r.over("kept")
		assert.Equal(t, "<exited with exit code 0>", r.call("bash", args{"command": "true", "description": "", "shellId": "kept"}).Text)
		assert.Empty(t, r.listed().Sessions)
	})
}

func TestR196_ASyncCommandThatTakesLonger(t *testing.T) {
	hints := map[string][2]string{
		"pty": {
			"If the output shows that it waits for input, use write_bash to give it some; otherwise use read_bash to wait on, or stop_bash to stop it.",
			"It has written nothing: it may wait for input, or still be working. Use write_bash to give it input, read_bash to wait on, or stop_bash to stop it.",
		},
		"process": {
			"Use read_bash to wait on, or stop_bash to stop it.",
			"It has written nothing yet and may still be working. Use read_bash to wait on, or stop_bash to stop it.",
		},
	}
	for name, change := range map[string]with{"pty": func(*Options) {}, "process": spawned} {
		t.Run(name, func(t *testing.T) {
			works, waits := "echo working; read -r _ < <(sleep 100)", "sleep 100"
			r := newRig(t, change, late(500*time.Millisecond, map[string]string{works: "working", waits: ""}))
			long := r.sync(works)
			assert.False(t, long.IsError)
			assert.Equal(t, "working\n<command with shellId: 0 is still running after 0.5 seconds. "+hints[name][0]+">", long.Text)
			d := details(t, long)
			assert.Equal(t, []any{"0", StatusRunning, Background, Attached}, []any{d.ShellID, d.Status, d.ExecutionMode, d.AttachmentMode})
			silent := r.sync(waits)
			assert.Equal(t, "<command with shellId: 1 is still running after 0.5 seconds. "+hints[name][1]+">", silent.Text)
			assert.Equal(t, []string{"0", "1"}, r.listed().CurrentExecutions)
		})
	}
	t.Run("it may notify", func(t *testing.T) {
		r := newRig(t, settings(func(s *Settings) { s.InitialWait = 200 * time.Millisecond }))
		g := dialecttest.NewGate(t)
		r.sync(g.Wait() + "; echo done")
		r.silent()
		g.Open()
		assert.Equal(t, "0", r.notice().ShellID)
		assert.Equal(t, "done\n<command with shellId: 0 completed with exit code 0>", r.read("0", 5).Text)
	})
}

// inBackground begins a sync command beside, and gives its result.
func (r *rig) inBackground(command string) <-chan dialect.Result {
	r.t.Helper()
	result := make(chan dialect.Result, 1)
	r.beside.Go(func() {
		got, err := r.Execute(context.Background(), params(command, "sync"), nil)
		if err == nil {
			result <- got
		}
	})
	return result
}

// promotable waits until the command of a shell can be promoted.
func (r *rig) promotable(id string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.tasks[id] != nil && r.tasks[id].promotable()
	}, time.Minute, 5*time.Millisecond)
}

func TestR197_PromotionByTheUser(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		g := dialecttest.NewGate(t)
		call := r.inBackground("echo so far; " + g.Wait() + "; exit 4")
		r.promotable("0")
		r.wrote("0", "so far")
		r.promote("0")
		moved := <-call
		assert.Equal(t, "<command with shellId: 0 was moved to background by the user. You will be told when it ends. "+
			"The user has seen this already: do not reply about it, and make no further tool call for this command>", moved.Text)
		assert.False(t, moved.IsError)
		assert.True(t, details(t, moved).HiddenFromUser)
		assert.Equal(t, true, dialecttest.Fields(t, moved.Details)["hiddenFromUser"])

		began := time.Now()
		read := r.read("0", 600)
		assert.Less(t, time.Since(began), time.Minute)
		assert.Regexp(t, `^so far\n<command with shellId: 0 was moved to background by the user and is still running after [0-9.]+ seconds. Answer the user now>$`, read.Text)

		g.Open()
		assert.Equal(t, 4, *r.notice().ExitCode)
		r.silent()
	})
	t.Run("nobody will be told", func(t *testing.T) {
		r := newRig(t, settings(func(s *Settings) { s.NoNotifications = true }))
		call := r.inBackground("sleep 100")
		r.promotable("0")
		r.promote("0")
		assert.Contains(t, (<-call).Text, "by the user. You will not be told when it ends. The user has seen")
	})
}

func TestR198_AnAsyncCommandReturnsAtOnce(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		result := r.async("a", "sleep 100")
		assert.False(t, result.IsError)
		assert.Equal(t, "<command started in background with shellId: a>", result.Text)
		job, err := dialect.Job(context.Background(), r.options.Host, r.job("a"))
		require.NoError(t, err)
		assert.False(t, job.State.Ended())
		assert.True(t, job.Background)
		uid := r.job("a")
		require.NoError(t, r.Close(context.Background())) // it ends with the session
		job, err = dialect.Job(context.Background(), r.options.Host, uid)
		require.NoError(t, err)
		assert.Equal(t, messages.Cancelled, job.End.Outcome)
	})
}

func TestR199_DetachedCommandsAreOnTheirOwn(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		node := detaching(t)
		r := rigOn(t, node, changes...)
		result := r.call("bash", args{"command": "echo hi; sleep 100", "description": "d", "mode": "async", "detach": true, "shellId": "a/b"})
		d := details(t, result)
		assert.Regexp(t, `^`+r.dir+`/copilot-detached-a_b-\d{13}\.log$`, d.LogPath)
		assert.Equal(t, "<command started in detached background with shellId: a/b>\nIts output goes to "+d.LogPath, result.Text)
		assert.Equal(t, Detached, d.AttachmentMode)
		began, err := strconv.ParseInt(d.LogPath[len(d.LogPath)-17:len(d.LogPath)-4], 10, 64)
		require.NoError(t, err)
		assert.InDelta(t, time.Now().UnixMilli(), began, 60_000)
		r.wrote("a/b", "hi")
		log, err := os.ReadFile(d.LogPath)
		require.NoError(t, err)
		assert.Equal(t, "hi\n", string(log))
		pid, err := os.ReadFile(strings.TrimSuffix(d.LogPath, ".log") + ".pid")
		require.NoError(t, err)
		assert.Contains(t, string(pid), strconv.Itoa(d.PID))
		uid := r.job("a/b")
		require.NoError(t, r.Close(context.Background())) // it survives the end of the session
		job, err := dialect.Job(context.Background(), node.Host(), uid)
		require.NoError(t, err)
		assert.False(t, job.State.Ended())
		_, err = host.Ask(context.Background(), node.Host(), messages.StopCommand{Job: uid})
		require.NoError(t, err)
	})
	t.Run("where a setting says", func(t *testing.T) {
		place := t.TempDir()
		r := rigOn(t, detaching(t), settings(func(s *Settings) { s.DetachedDir, s.DetachedName = place, "troupe-detached" }))
		result := r.call("bash", args{"command": "true", "description": "d", "mode": "async", "detach": true})
		assert.Regexp(t, `^`+place+`/troupe-detached-0-\d+\.log$`, details(t, result).LogPath)
	})
	t.Run("without async it is ignored", func(t *testing.T) {
		r := newRig(t)
		assert.Equal(t, "hi\n<exited with exit code 0>", r.call("bash", args{"command": "echo hi", "description": "d", "detach": true}).Text)
	})
	t.Run("where no job can be detached that is said", func(t *testing.T) {
		r := newRig(t)
		result := r.call("bash", args{"command": "true", "description": "d", "mode": "async", "detach": true})
		assert.True(t, result.IsError)
		assert.Regexp(t, `^<command with shellId: 0 exited with the error: `, result.Text)
		assert.Empty(t, r.all())
	})
	t.Run("it begins where the shell of its id is, which is released", func(t *testing.T) {
		r := rigOn(t, detaching(t))
		r.async("a", "cd /usr")
		r.over("a")
		result := r.call("bash", args{"command": "pwd", "description": "d", "mode": "async", "detach": true, "shellId": "a"})
		require.False(t, result.IsError, result.Text)
		r.over("a")
		assert.Equal(t, "/usr\n<command with shellId: a completed with exit code 0>", r.read("a", 1).Text)
		assert.Empty(t, r.listed().Sessions)
		assert.Equal(t, []string{"a"}, r.listed().DetachedSessions)
	})
}

func TestR200_OtherEndingsAreFailures(t *testing.T) {
	r := newRig(t)
	exited := r.sync("echo before; exit 7")
	assert.True(t, exited.IsError)
	assert.Equal(t, "before\n<command with shellId: 0 exited with code 7; its shell is closed>", exited.Text)
	killed := r.sync("echo before; kill -9 $BASHPID 4194304")
	assert.True(t, killed.IsError)
	assert.Equal(t, "before\n<command with shellId: 1 exited with the error: it was ended by signal KILL>", killed.Text)
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		call := r.inBackground("echo before; sleep 100")
		r.promotable("0")
		r.wrote("0", "before")
		_, err := host.Ask(context.Background(), r.options.Host, messages.StopCommand{Job: r.job("0"), Reason: "a person said so"})
		require.NoError(t, err)
		result := <-call
		assert.True(t, result.IsError)
		assert.Equal(t, "before\n<command with shellId: 0 exited with the error: it was stopped: a person said so>", result.Text)
		assert.Equal(t, StatusCancelled, details(t, result).Status)
		assert.Empty(t, r.listed().Sessions)
		assert.Equal(t, ReasonError, r.listed().RecentShutdowns[0].Reason)
	})
}

func TestR201_TheViewOfATask(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return now } })
	r.call("bash", args{"command": "seq 12; read _; (exit 3)", "description": "counts", "mode": "async", "shellId": "a"})
	r.wrote("a", "12")
	task := r.listed().Shells[0]
	assert.Positive(t, task.PID)
	assert.Equal(t, fmt.Sprintf(`{"type":"shell","id":"a","description":"counts","status":"running","startedAt":"2026-01-02T03:04:05Z",`+
		`"command":"seq 12; read _; (exit 3)","pid":%d,"attachmentMode":"attached","executionMode":"background","canPromoteToBackground":false,`+
		`"progress":"3\n4\n5\n6\n7\n8\n9\n10\n11\n12"}`, task.PID), jsonOf(t, task))
	r.write("a", "\n")
	r.over("a")
	task = r.listed().Shells[0]
	assert.Equal(t, StatusFailed, task.Status)
	assert.Equal(t, now, *task.CompletedAt)

	r.async("b", "true")
	r.over("b")
	task = r.listed().Shells[1]
	assert.Equal(t, []any{StatusCompleted, "No output yet."}, []any{task.Status, task.Progress})
	r.async("c", "sleep 100")
	assert.Equal(t, StatusCancelled, details(t, r.call("stop_bash", args{"shellId": "c"})).Status)

	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.call("bash", args{"command": "x", "description": "", "mode": "async", "detach": true})
		j := <-h.first
		h.writes(j, "unreadable")
		task := r.listed().Shells[0]
		assert.Equal(t, "The output cannot be read.", task.Progress)
		assert.Equal(t, j.r.LogFile, task.LogPath)
		assert.Equal(t, []any{Detached, Background, 4711}, []any{task.AttachmentMode, task.ExecutionMode, task.PID})
		h.exits(j, 0)
	})
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestR202_TheViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.async("ended", "a")
		r.async("runs", "b")
		r.call("bash", args{"command": "c", "description": "", "mode": "async", "detach": true, "shellId": "detached"})
		r.sync("d") // goes on in the background
		r.call("bash", args{"command": "gone", "description": "", "mode": "async", "shellId": "gone"})
		a, b, c, d := <-h.first, <-h.first, <-h.first, <-h.first
		h.exits(a, 0)
		h.exits(d, 0)
		r.call("stop_bash", args{"shellId": "gone"})
		synctest.Wait()
		v := r.listed()
		assert.Equal(t, []string{"0", "ended", "runs"}, v.Sessions)
		assert.Equal(t, []string{"ended", "runs", "0"}, v.CurrentExecutions)
		assert.Equal(t, []string{"detached"}, v.DetachedSessions)
		assert.Equal(t, []string{"ended", "0", "gone"}, v.RetainedAttachedShellTasks)
		assert.Equal(t, "gone", v.RecentShutdowns[0].ShellID)
		for _, name := range []string{"sessions", "currentExecutions", "detachedSessions", "retainedAttachedShellTasks", "recentShutdowns"} {
			assert.Contains(t, dialecttest.Fields(t, v), name)
		}
		h.exits(b, 0)
		h.exits(c, 0)
	})
	t.Run("what is retained has a bound", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, h := playedRig(t, spawned)
			for i := range 300 {
				r.async(strconv.Itoa(i), "x")
				h.exits(<-h.first, 0)
				synctest.Wait()
				<-r.told
			}
			v := r.listed()
			assert.Len(t, v.Sessions, mostShells)
			assert.Len(t, v.RecentShutdowns, mostShutdowns)
			assert.LessOrEqual(t, len(v.RetainedAttachedShellTasks), mostShells+mostEnded)
		})
	})
	t.Run("shells that run have a bound", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, h := playedRig(t)
			for i := range mostShells {
				r.async("s"+strconv.Itoa(i), "x")
			}
			assert.Equal(t, "<the command was not started: 32 shells are running; stop one first>", r.async("more", "x").Text)
			assert.NotContains(t, r.listed().Sessions, "more")
			h.exits(<-h.first, 0)
			synctest.Wait()
			assert.False(t, r.async("more", "x").IsError)
			assert.NotContains(t, r.listed().Sessions, "s0")
		})
	})
}

func TestR203_WhatIsShownMeanwhileIsTheEnd(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		var texts []string
		_, err := r.calls(context.Background(), "bash", args{"command": "seq 100000", "description": ""}, func(u dialect.Result) {
			texts = append(texts, u.Text)
			assert.Equal(t, "0", u.Details.(*Details).ShellID)
		})
		require.NoError(t, err)
		require.NotEmpty(t, texts)
		end := texts[len(texts)-1]
		assert.True(t, strings.HasSuffix(end, "\n99999\n100000\n"), "%.20q", end)
		assert.LessOrEqual(t, len(end), 10<<10)
		assert.Greater(t, len(end), 8<<10)
	})
}

func TestR207_Shutdown(t *testing.T) {
	node := detaching(t)
	r := rigOn(t, node)
	r.async("runs", "sleep 100")
	r.async("idle", "true")
	r.over("idle")
	r.call("bash", args{"command": "sleep 100", "description": "", "mode": "async", "detach": true, "shellId": "detached"})
	ctx := context.Background()
	assert.Equal(t, []string{"idle", "runs"}, r.listed().Sessions)
	require.NoError(t, r.Close(ctx))
	assert.Empty(t, r.listed().Sessions)
	job, err := dialect.Job(ctx, r.options.Host, r.job("detached"))
	require.NoError(t, err)
	assert.False(t, job.State.Ended())
	assert.Equal(t, "<the command was not started: the session has ended>", r.sync("true").Text)
}

// Only a running command that a call waits for can be promoted, and its call returns once.
func TestR209_TheListTellsWhatCanBePromoted(t *testing.T) {
	r := newRig(t)
	r.async("a", "sleep 100")
	call := r.inBackground("sleep 100")
	r.promotable("0")
	can := func() map[string]bool {
		can := map[string]bool{}
		for _, task := range r.listed().Shells {
			can[task.Type+" "+task.ID] = task.CanPromoteToBackground
		}
		return can
	}
	assert.Equal(t, map[string]bool{"shell a": false, "shell 0": true}, can())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { r.promote("0") })
	}
	all.Wait()
	assert.Contains(t, (<-call).Text, "moved to background")
	assert.Empty(t, call) // once
	assert.Equal(t, map[string]bool{"shell a": false, "shell 0": false}, can())
}

// Of a long command its beginning is kept, and its whole hash and length.
func TestLongTextsAreNotKept(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		long := ": " + strings.Repeat("é", 1<<20) + "; echo ran"
		r.call("bash", args{"command": long, "description": strings.Repeat("d", 1<<20), "mode": "async", "shellId": "a"})
		r.over("a")
		task := r.listed().Shells[0]
		assert.Equal(t, "ran\n<command with shellId: a completed with exit code 0>", r.read("a", 0).Text)
		assert.Equal(t, ": "+strings.Repeat("é", mostKept/2-1)+"…", task.Command)
		assert.Len(t, task.Description, mostKept+len("…"))
		r.call("stop_bash", args{"shellId": "a"})
		end := r.listed().RecentShutdowns[0]
		assert.Equal(t, []any{len(long), hash(long)}, []any{end.CommandLength, end.CommandHash})
		assert.Empty(t, r.all()[0].text)
	})
}
