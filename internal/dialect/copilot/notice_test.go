package copilot

import (
	"context"
	"os"
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

func TestR238_NoticesHangOnTheTask(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		r.call("bash", args{"command": "echo hi", "description": "says hi", "mode": "async", "shellId": "a"}) // nobody reads
		n := r.notice()
		assert.Equal(t, `{"type":"shell_completed","shellId":"a","exitCode":0,"description":"says hi"}`, jsonOf(t, n))
		assert.Equal(t, `The command "says hi" (id a) completed. Use read_bash with this id to get its output.`, n.Text)
		assert.Equal(t, "says hi: completed", n.Short)
		assert.Equal(t, "hi\n<command with shellId: a completed with exit code 0>", r.read("a", 0).Text)

		r.call("bash", args{"command": "exit_() { return 3; }; exit_", "description": "", "mode": "async", "shellId": "b"})
		n = r.notice()
		assert.Equal(t, `{"type":"shell_completed","shellId":"b","exitCode":3}`, jsonOf(t, n))
		assert.Equal(t, `The command "exit_() { return 3; }; exit_" (id b) exited with code 3. Use read_bash with this id to get its output.`, n.Text)
		assert.Equal(t, "exit_() { return 3; }; exit_: exit code 3", n.Short)

		r.async("c", "sleep 1000")
		_, err := host.Ask(context.Background(), r.options.Host, messages.StopCommand{Job: r.job("c")})
		require.NoError(t, err)
		assert.Contains(t, r.notice().Text, `(id c) exited with code`)
	})
	r := rigOn(t, detaching(t))
	for command, want := range map[string]string{
		"true":   `The detached command "quick" (id d) completed. Use list_bash to see it.`,
		"exit 3": `The detached command "quick" (id d) exited with code 3. Use list_bash to see it.`,
	} {
		r.call("bash", args{"command": command, "description": "quick", "mode": "async", "detach": true, "shellId": "d"})
		n := r.notice()
		assert.Equal(t, NoticeDetachedCompleted, n.Type)
		assert.Equal(t, "shell_detached_completed", dialecttest.Fields(t, n)["type"])
		assert.Equal(t, want, n.Text)
	}
	assert.Contains(t, noticeOf("a", "", "x", nil, false, toolNames("bash")).Text, "exited with code unknown")
}

func TestR239_OneNoticeForOneCommandInTheBackground(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		g := dialecttest.NewGate(t)
		r := newRig(t, append(changes, late(time.Minute, map[string]string{g.Wait(): ""}))...)
		r.sync("true")   // in time: its call tells
		r.sync("exit 3") // as a failure, too
		r.async("stopped", "sleep 1000")
		r.call("stop_bash", args{"shellId": "stopped"}) // who stopped it knows
		long := details(t, r.sync(g.Wait())).ShellID    // out of time
		g.Open()
		r.async("a", "echo 1")
		told := map[string]int{r.notice().ShellID: 1}
		told[r.notice().ShellID]++
		r.read("a", 0)
		r.read(long, 0)
		r.call("list_bash", args{})
		r.inShell("a", "echo 2") // another command of the same shell
		told[r.notice().ShellID]++
		require.NoError(t, r.Close(context.Background()))
		r.beside.Wait()
		r.silent()
		assert.Equal(t, map[string]int{long: 1, "a": 2}, told)
	})
	silent := newRig(t, settings(func(s *Settings) { s.NoNotifications = true })) // who does not want it
	silent.async("a", "true")
	silent.over("a")
	silent.silent()
	nobody := newRig(t, func(o *Options) { o.Notify = nil })
	nobody.async("a", "true")
	nobody.over("a")
}

func TestR240_TheEndOfADetachedCommandIsItsOwn(t *testing.T) {
	r := rigOn(t, detaching(t))
	g := dialecttest.NewGate(t)
	r.call("bash", args{"command": g.Wait() + "; exit 42", "description": "", "mode": "async", "detach": true, "shellId": "d"})
	began := time.Now()
	g.Open()
	n := r.notice()
	assert.Less(t, time.Since(began), 4*time.Second) // an event, and not a look every 5 seconds
	assert.Equal(t, 42, *n.ExitCode)                 // and with the true status

	// What waits for it keeps nothing alive: the session ends at once.
	r.call("bash", args{"command": "sleep 1000", "description": "", "mode": "async", "detach": true, "shellId": "e"})
	uid := r.job("e")
	require.NoError(t, r.Close(context.Background()))
	r.beside.Wait()
	_, err := host.Ask(context.Background(), r.options.Host, messages.StopCommand{Job: uid})
	require.NoError(t, err)
	r.silent()
}

func TestR283_AWaitIsNoKill(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.InitialWait = 200 * time.Millisecond }))
	r.sync("echo up; sleep 1000")
	job, err := dialect.Job(context.Background(), r.options.Host, r.job("0"))
	require.NoError(t, err)
	assert.Zero(t, job.Timeout)
	assert.False(t, job.State.Ended())
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		began := time.Now()
		r.sync("x")
		assert.Equal(t, 10*time.Second, time.Since(began))
		j := <-h.first
		assert.Zero(t, j.r.Timeout)
		assert.Equal(t, 10*time.Second, j.r.PromoteAfter)
		h.exits(j, 0)
	})
}

func TestR285_PastTheLimitTheBeginningIsShown(t *testing.T) {
	text := newRig(t).sync("seq 1 100000").Text
	assert.Contains(t, text, "\n1\n2\n3\n")
	assert.NotContains(t, text, "100000")
}

func TestR286_StreamsAreMerged(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		r.async("a", "for i in 1 2 3; do echo out $i; echo err $i >&2; done")
		r.over("a")
		assert.Equal(t, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n<command with shellId: a completed with exit code 0>", r.read("a", 0).Text)
		job, err := dialect.Job(context.Background(), r.options.Host, r.job("a"))
		require.NoError(t, err)
		require.Len(t, job.Output, 1)
		assert.Equal(t, messages.Merged, job.Output[0].Stream)
	})
}

func TestR287_TheFileIsSanitized(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		r.async("a", `for i in $(seq 5000); do printf '\033[32m%s\033[0m\r\n' $i; done`)
		r.over("a")
		uid := r.job("a")
		kept, err := os.ReadFile(details(t, r.read("a", 0)).LargeOutputFilePath)
		require.NoError(t, err)
		assert.Contains(t, string(kept), "1\n2\n3\n")
		assert.NotContains(t, string(kept), "\x1b")
		assert.NotContains(t, string(kept), "\r")
		raw, err := r.options.Host.Bytes(context.Background(), uid, messages.Merged, 0, 20, false)
		require.NoError(t, err)
		assert.Contains(t, string(raw.Data), "\x1b[32m1\x1b[0m\r") // the record is as it was
	})
}

func TestR292_UpdatesCoalesceAndTheLastOneComes(t *testing.T) {
	assert.Equal(t, 100*time.Millisecond, updateEvery)
	r := newRig(t)
	began, updates := time.Now(), 0
	end := ""
	text := ""
	{
		result, err := r.calls(context.Background(), "bash", args{"command": "for i in $(seq 3000); do echo $i; done", "description": ""}, updating(&updates, &end))
		require.NoError(t, err)
		text = result.Text
	}
	assert.LessOrEqual(t, updates, 2+int(time.Since(began)/updateEvery))
	assert.Contains(t, text, "3000\n<exited with exit code 0>")
	assert.Contains(t, end, "\n3000\n")
}
