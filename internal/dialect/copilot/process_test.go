package copilot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

func TestR222_EachCommandIsAFreshProcess(t *testing.T) {
	r := newRig(t, spawned)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, ".bashrc"), []byte("echo noise\n"), 0o600))
	assert.NotContains(t, names(r.Session), "write_bash")
	assert.Contains(t, r.Tools()[0].Description, "Shell state does not persist")
	assert.NotContains(t, newRig(t).Tools()[0].Description, "does not persist")
	assert.Equal(t, "out\nerr\nout again\n<exited with exit code 0>", r.sync("echo out; echo err >&2; echo out again").Text)
	assert.Equal(t, "bash --norc --noprofile -c\n<exited with exit code 0>", r.sync(`tr '\0' '\n' </proc/$$/cmdline | head -n 4 | tr '\n' ' '; echo`).Text)
	assert.Equal(t, "<command with shellId: a completed with exit code 0>", r.inShell("a", "cd /usr; V=5"))
	assert.Equal(t, r.dir+"\n<command with shellId: a completed with exit code 0>", r.inShell("a", `echo "$PWD $V"`))
	assert.Contains(t, r.sync("tty").Text, "not a tty")
	assert.Contains(t, r.sync(": "+strings.Repeat("x", 200_000)+"; echo long").Text, "long\n")
}

func TestR223_InputGroupAndEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(file, []byte("echo from bash_env\n"), 0o600))
	r := newRig(t, spawned, env("BASH_ENV="+file, "MY_API_KEY=secret", "KEPT_TOKEN=yes"), settings(func(s *Settings) { s.PassEnv = []string{"KEPT_TOKEN"} }))
	assert.Equal(t, "/dev/null\n[][][yes]\n<exited with exit code 0>", r.sync(`readlink /proc/self/fd/0; echo "[$BASH_ENV][$MY_API_KEY][$KEPT_TOKEN]"`).Text)
	assert.Equal(t, "leads\n<exited with exit code 0>", r.sync(`[ "$(cut -d' ' -f5 /proc/$$/stat)" = $$ ] && echo leads`).Text)
	assert.Equal(t, "red é\n<exited with exit code 0>", r.sync(`printf '\033[31'; sleep 0.05; printf 'mred\033[0m \xc3'; sleep 0.05; printf '\xa9\n'`).Text)
	profile := newRig(t, env("BASH_ENV="+file), settings(func(s *Settings) { s.SpawnBackend, s.Shell = true, Bash(true) }))
	assert.Equal(t, "from bash_env\nhi\n<exited with exit code 0>", profile.sync("echo hi").Text)
}

func TestR224_PartialOutputAndShutdown(t *testing.T) {
	r := newRig(t, spawned)
	var times []time.Time
	var texts []string
	_, err := r.calls(context.Background(), "bash", args{"command": "for i in $(seq 60); do echo $i; sleep 0.01; done; printf last", "description": ""}, func(u dialect.Result) {
		times, texts = append(times, time.Now()), append(texts, u.Text)
	})
	require.NoError(t, err)
	require.Greater(t, len(texts), 2)
	for i := range times[:len(times)-2] { // the last one comes when it comes
		assert.GreaterOrEqual(t, times[i+1].Sub(times[i]), 90*time.Millisecond)
	}
	assert.True(t, strings.HasSuffix(texts[len(texts)-1], "60\nlast"))
	assert.True(t, slices.IsSortedFunc(texts, func(a, b string) int { return len(a) - len(b) }))
	assert.Equal(t, updateEvery, 100*time.Millisecond)

	r.async("a", `trap 'echo got TERM; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
	r.wrote("a", "up")
	uid := r.job("a")
	r.call("stop_bash", args{"shellId": "a"})
	job, err := dialect.Job(context.Background(), r.options.Host, uid)
	require.NoError(t, err)
	assert.Equal(t, messages.Cancelled, job.End.Outcome)
	page, err := host.Ask(context.Background(), r.options.Host, messages.ReadOutput{Job: uid, View: messages.View{Kind: messages.ViewTail}, Plain: true})
	require.NoError(t, err)
	assert.Contains(t, page.Text, "got TERM\n") // it had the time to say so

	if testing.Short() {
		return
	}
	r.async("b", `trap '' TERM; echo up; while :; do sleep 0.05; done`)
	r.wrote("b", "up")
	uid, began := r.job("b"), time.Now()
	r.call("stop_bash", args{"shellId": "b"})
	assert.InDelta(t, 5, time.Since(began).Seconds(), 3)
	job, err = dialect.Job(context.Background(), r.options.Host, uid)
	require.NoError(t, err)
	assert.Equal(t, "KILL", job.End.Cause.Signal)
}

func TestR225_TheEndOfAProcess(t *testing.T) {
	r := newRig(t, spawned)
	assert.Equal(t, "\ufffd\n<exited with exit code 0>", r.sync(`printf '\xc3'`).Text) // the decoder is flushed
	began := time.Now()
	assert.Equal(t, "done\n<exited with exit code 0>", r.sync("sleep 30 & echo done").Text) // who holds the pipe is not waited for
	assert.Less(t, time.Since(began), 10*time.Second)

	killed := r.sync("kill -9 $$ 4194304")
	assert.True(t, killed.IsError)
	assert.Equal(t, 1, *details(t, killed).ExitCode)
	assert.Equal(t, "<command with shellId: 2 exited with the error: it was ended by signal KILL>", killed.Text)

	broken := newRig(t, func(o *Options) {
		o.Settings.SpawnBackend, o.Settings.Shell = true, Bash(false)
		o.Settings.Shell.Program = "/no/such/shell"
	})
	result := broken.sync("true")
	assert.True(t, result.IsError)
	assert.Regexp(t, `^<command with shellId: 0 exited with the error: .*/no/such/shell.*>$`, result.Text)
	assert.Equal(t, 1, *details(t, result).ExitCode)
	assert.Equal(t, []Status{"idle", "running", "completed", "failed"}, []Status{StatusIdle, StatusRunning, StatusCompleted, StatusFailed})
}

func TestR226_ADetachedProcessIsNotWaitedFor(t *testing.T) {
	r := rigOn(t, detaching(t), spawned)
	began := time.Now()
	result := r.call("bash", args{"command": `echo sid $(cut -d' ' -f6 /proc/$$/stat) pid $$; sleep 1000`, "description": "", "mode": "async", "detach": true})
	assert.Less(t, time.Since(began), defaultWait)
	r.wrote("0", "sid")
	d := details(t, result)
	log, err := os.ReadFile(d.LogPath)
	require.NoError(t, err)
	var sid, pid string
	words := strings.Fields(string(log))
	require.Len(t, words, 4)
	sid, pid = words[1], words[3]
	assert.Equal(t, sid, pid) // a session of its own
	kept, err := os.ReadFile(strings.TrimSuffix(d.LogPath, ".log") + ".pid")
	require.NoError(t, err)
	assert.Contains(t, string(kept), pid)
	r.call("stop_bash", args{"shellId": "0"})
	assert.False(t, alive(t, pid))
}
