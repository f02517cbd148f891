package copilot

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// inShell runs a command in a shell and gives all that it wrote, with its status line.
func (r *rig) inShell(id, command string) string {
	r.t.Helper()
	require.False(r.t, r.async(id, command).IsError)
	r.over(id)
	return r.read(id, 60).Text
}

func TestR211_AShellKeepsItsState(t *testing.T) {
	r := newRig(t)
	assert.Equal(t, Capabilities{TTYSupport: true, TerminalInput: true}, r.can)
	assert.Equal(t, "<command with shellId: a completed with exit code 0>", r.inShell("a", "cd /usr; V=5; f() { echo of f; }; export E=6"))
	assert.Equal(t, "/usr 5 of f 6\n<command with shellId: a completed with exit code 0>", r.inShell("a", `echo "$PWD $V $(f)" $(sh -c 'echo $E')`))
	assert.Equal(t, r.dir+"\n<command with shellId: b completed with exit code 0>", r.inShell("b", "pwd"))
	assert.Regexp(t, "^/dev/pts/", r.inShell("a", "tty"))
}

func TestR212_TheShellAndItsInit(t *testing.T) {
	r := newRig(t, env("HISTFILE=/x", "PS1=old> ", "PS2=more> ", "TERM=vt100"))
	assert.Equal(t, "80 120\nxterm-color\n[][][]\n<command with shellId: a completed with exit code 0>",
		r.inShell("a", `stty size; echo $TERM; echo "[$PS1][$PS2][$HISTFILE]"`))
	for _, file := range []string{".bashrc", ".bash_profile", ".profile"} {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, file), []byte("echo noise; WAS=here\n"), 0o600))
	}
	assert.Equal(t, "[]\n<command with shellId: b completed with exit code 0>", r.inShell("b", `echo "[$WAS]"`)) // --norc --noprofile

	profile := settings(func(s *Settings) { s.Shell = Bash(true) })
	file := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(file, []byte("FROM=bashenv; PS1='loud> '; echo said at the start\n"), 0o600))
	inProfile := newRig(t, profile, env("BASH_ENV="+file))
	assert.Equal(t, "[bashenv][]\n<command with shellId: a completed with exit code 0>", inProfile.inShell("a", `echo "[$FROM][$PS1]"`))
	assert.Equal(t, "[bashenv]\n<command with shellId: a completed with exit code 0>", inProfile.inShell("a", `echo "[$FROM]"`))
	unreadable := newRig(t, profile, env("BASH_ENV=/no/such/file"))
	assert.Equal(t, "hi\n<exited with exit code 0>", unreadable.sync("echo hi").Text)

	require.NoError(t, os.WriteFile(file, []byte("exit 9\n"), 0o600))
	failed := newRig(t, profile, env("BASH_ENV="+file))
	result := failed.sync("echo hi")
	assert.True(t, result.IsError)
	assert.Equal(t, "<command with shellId: 0 exited with the error: the shell could not be set up: its init ended with code 9>", result.Text)
	assert.Empty(t, failed.listed().Sessions)

	synctest.Test(t, func(t *testing.T) { // an init that hangs has 60 seconds
		r, h := playedRig(t, profile)
		r.beside.Go(func() {
			init := <-h.first
			assert.Equal(t, time.Minute, init.r.Timeout)
			h.end(init, messages.Record{End: messages.End{Outcome: messages.TimedOut}})
		})
		result := r.sync("echo hi")
		assert.Equal(t, "<command with shellId: 0 exited with the error: the shell could not be set up: its init took longer than 1m0s>", result.Text)
		assert.Empty(t, h.first)
		assert.Empty(t, r.listed().Sessions)
	})
}

func TestR213_NothingButTheCommandIsShown(t *testing.T) {
	r := newRig(t)
	for command, want := range map[string]string{
		"echo one":     "one\n<exited with exit code 0>",
		"true":         "<exited with exit code 0>",
		"echo a\necho": "a\n<exited with exit code 0>",
		"echo '___BEGIN___COMMAND_DONE_MARKER___0'; echo behind; (exit 5)":             "___BEGIN___COMMAND_DONE_MARKER___0\nbehind\n<exited with exit code 5>",
		`printf '\033]133;D;0\a'; printf 'in\n'; (exit 6)`:                             "in\n<exited with exit code 6>",
		"cat <<'E'\n$ echo one\nPS1=x\nE":                                              "$ echo one\nPS1=x\n<exited with exit code 0>",
		"set -v; echo x; set +v; for i in 1 2; do\necho $i\ndone; printf 'no newline'": "",
	} {
		text := r.sync(command).Text
		if want != "" {
			assert.Equal(t, want, text, command)
		}
		assert.NotContains(t, text, "troupe")
	}
	g := dialecttest.NewGate(t)
	r.async("a", "("+g.Wait()+"; echo late) & echo now")
	r.over("a")
	assert.Equal(t, "now\n<command with shellId: a completed with exit code 0>", r.read("a", 1).Text)
	g.Open()
}

// A line that is overwritten shows its last state, and a program that takes the whole screen its
// screen.
func TestATextIsWhatTheTerminalShows(t *testing.T) {
	r := newRig(t)
	assert.Equal(t, "100%\ndone\n<exited with exit code 0>", r.sync(`printf '1%%\r50%%\r100%%\ndone\n'`).Text)
	assert.Equal(t, "before\n[… 6 bytes of a full-screen program not shown …]\nafter\n<exited with exit code 0>",
		r.sync(`echo before; printf '\033[?1049h\033[Hfile\033[2H~\033[3H~\033[?1049l'; echo after`).Text)
	text := r.sync(`printf '\033[?1049h\033[Hfile\033[2H~\033[3H~'`).Text
	assert.Equal(t, "file\n~\n~\n"+noteScreen+"\n<exited with exit code 0>", text)

	g := dialecttest.NewGate(t)
	r.async("p", `printf '10%%\r20%%'; `+g.Wait()+`; printf '\r100%%\n'`)
	r.wrote("p", "20%")
	assert.True(t, strings.HasPrefix(r.read("p", 0).Text, "20%\n<command with"), r.read("p", 0).Text)
	g.Open()
	r.over("p")
	assert.Equal(t, "100%\n<command with shellId: p completed with exit code 0>", r.read("p", 60).Text)
}

func TestR214_ACommandThatIsNoneEndsAtOnce(t *testing.T) {
	r := newRig(t)
	began := time.Now()
	for command, want := range map[string]string{
		"echo 'open":        "unexpected EOF",
		"{ echo x":          "unexpected end of file",
		"if then":           "syntax error",
		"cat <<E\nno end":   "no end",
		"echo $(echo":       "unexpected",
		"for i in 1 2 3 do": "syntax error",
	} {
		result := r.sync(command)
		assert.Contains(t, result.Text, want, command)
		assert.Regexp(t, `<exited with exit code \d+>$`, result.Text)
	}
	assert.Less(t, time.Since(began), defaultWait)

	r.async("a", "echo buffered; exit 3")
	r.over("a")
	assert.NotContains(t, r.listed().Sessions, "a") // it is shut down
	result := r.read("a", 1)
	assert.True(t, result.IsError)
	assert.Equal(t, "buffered\n<command with shellId: a exited with code 3; its shell is closed>", result.Text)
	assert.Equal(t, "hi\n<command with shellId: a completed with exit code 0>", r.inShell("a", "echo hi")) // and another is made
}

func TestR215_TheTerminalAnswersAndTheModelSeesText(t *testing.T) {
	r := newRig(t)
	asks := `stty -echo -icanon; printf '\033[6n'; IFS= read -rs -d R answer; stty sane; printf '%q\n' "$answer"`
	assert.Regexp(t, `^\$'\\E\[\d+;\d+'\n<exited with exit code 0>$`, r.sync(asks).Text)
	assert.Equal(t, "redplain\nb\n<exited with exit code 0>", r.sync(`printf '\033[31mred\033[0mplain\r\n\033]0;title\aa\rb\n'`).Text)
	r.async("a", `printf '\033[1'; sleep 0.05; printf 'mbold\033[0m \xc3'; sleep 0.05; printf '\xa9\n'`) // pieces of one sequence
	r.over("a")
	assert.Equal(t, "bold é\n<command with shellId: a completed with exit code 0>", r.read("a", 1).Text)
}

func TestR216_ACompletionIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.async("a", "x")
		j := <-h.first
		began := time.Now()
		r.beside.Go(func() {
			time.Sleep(123456 * time.Microsecond)
			h.exits(j, 0)
		})
		assert.Equal(t, "<command with shellId: a completed with exit code 0>", r.read("a", 600).Text)
		assert.Equal(t, 123456*time.Microsecond, time.Since(began))
		r.async("a", "x")
		began = time.Now()
		r.read("a", 0) // the least is 100 ms
		assert.Equal(t, 100*time.Millisecond, time.Since(began))
		h.exits(<-h.first, 0)
	})
}

func TestR217_InputIsTextAndKeys(t *testing.T) {
	for input, typed := range map[string]string{
		"{up}{down}{right}{left}":    "\x1b[A\x1b[B\x1b[C\x1b[D",
		"{enter}{backspace}":         "\r\x08",
		"a\nb\r\nc\r":                "a\rb\rc\r",
		"y{enter}":                   "y\r",
		"for i in {1..3}; {UP} {up ": "for i in {1..3}; {UP} {up ",
		"{{up}}{tab}<C-c>":           "{\x1b[A}{tab}<C-c>",
		"\x03é":                      "\x03é",
	} {
		assert.Equal(t, typed, string(Typed(input)), input)
	}
	r := newRig(t)
	r.async("a", `stty -icanon -echo; echo ready; head -c 5 | od -An -tx1; stty sane`)
	r.wrote("a", "ready")
	assert.Contains(t, r.write("a", "{up}{backspace}{enter}").Text, "1b 5b 41 08 0a") // the terminal makes a newline of the key
	// Strictly in order, and nothing of it is lost, however much it is.
	many := strings.Repeat("0123456789", 2000) + "."
	r.async("b", `stty -icanon -echo; echo ready; IFS= read -rd . all; stty sane; printf '%s' "$all" | cksum; echo ${#all}`)
	r.wrote("b", "ready")
	text := r.write("b", many).Text
	assert.Contains(t, text, "\n20000\n")
	sum := r.sync(`for i in {1..2000}; do printf 0123456789; done | cksum`).Text
	assert.Contains(t, text, strings.Split(sum, "\n")[0])
	// A line that the terminal would cut is not typed at all.
	r.async("c", `echo ready; read -r line; echo ${#line}`)
	r.wrote("c", "ready")
	long := r.write("c", strings.Repeat("x", 5000)+"\n")
	assert.True(t, long.IsError)
	assert.Contains(t, long.Text, "4095")
	assert.Equal(t, "ready\nshort\n5\n<command with shellId: c completed with exit code 0>", r.write("c", "short\n").Text)
}

// alive says whether a process is there and no zombie.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, behind, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(behind, "Z")
}

func TestR218_AShutdownEndsAllThatWasStarted(t *testing.T) {
	r := newRig(t)
	r.async("a", `trap '' TERM HUP INT
sleep 1000 & echo pid $!
setsid sh -c 'echo pid $$ far; exec sleep 1000' &
(trap '' TERM HUP; exec sleep 1000) & echo pid $!
echo pid $$; echo up; sleep 1000`)
	r.wrote("a", "up")
	r.wrote("a", " far")
	var pids []string
	for line := range strings.Lines(r.read("a", 0).Text) {
		if pid, ok := strings.CutPrefix(line, "pid "); ok {
			pids = append(pids, strings.Fields(pid)[0])
			require.True(t, alive(t, pids[len(pids)-1]))
		}
	}
	require.Len(t, pids, 4)
	stopped := r.call("stop_bash", args{"shellId": "a"})
	assert.Equal(t, "<command with shellId: a stopped>", stopped.Text)
	for _, pid := range pids {
		assert.False(t, alive(t, pid), pid)
	}
	assert.Equal(t, StatusCancelled, details(t, stopped).Status)
}

func TestR219_ADetachedCommandIsStartedBesideTheTerminal(t *testing.T) {
	r := rigOn(t, detaching(t))
	r.async("a", "true")
	r.over("a")
	result := r.call("bash", args{"command": `readlink /proc/self/fd/0; tty; echo out; echo err >&2`, "description": "", "mode": "async", "detach": true, "shellId": "a"})
	r.over("a")
	assert.Equal(t, "<command started in detached background with shellId: a>\nIts output goes to "+details(t, result).LogPath, result.Text)
	assert.Equal(t, "/dev/null\nnot a tty\nout\nerr\n<command with shellId: a completed with exit code 0>", r.read("a", 1).Text)
	log, err := os.ReadFile(details(t, result).LogPath)
	require.NoError(t, err)
	assert.Equal(t, "/dev/null\nnot a tty\nout\nerr\n", string(log))
	assert.Empty(t, r.listed().Sessions) // the terminal was released
}

func TestR220_AnAbortShutsTheShellDown(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		ctx, cancel := context.WithCancel(context.Background())
		var err error
		done := make(chan struct{})
		r.beside.Go(func() {
			defer close(done)
			command := "sleep 1000"
			_, err = r.Execute(ctx, ExecuteParams{Command: &command, ShellID: "a"}, nil)
		})
		r.promotable("a")
		uid := r.job("a")
		cancel()
		<-done
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, r.listed().Sessions)
		assert.Empty(t, r.all())
		r.beside.Wait()
		end, err := host.Ask(context.Background(), r.options.Host, messages.WaitJobs{Jobs: []messages.JobID{uid}})
		require.NoError(t, err)
		assert.Equal(t, messages.Cancelled, end.Jobs[0].End.Outcome)
		assert.Contains(t, r.read("a", 1).Text, "The shell with id a was stopped")
		r.silent()
		_, err = r.calls(ctx, "bash", args{"command": "true", "description": ""}, nil) // nothing is begun
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, r.all())
	})
}

func TestR221_MuchTextAndMuchOutputHoldNothingUp(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		for _, size := range []int{5_000, 90_000, 300_000} {
			word := strings.Repeat("x", size)
			result := r.sync("w=" + word + "\nprintf '%s' $w | wc -c; seq 200000 >&2; (exit 4)")
			require.Contains(t, result.Text, "<exited with exit code 4>")
			d := details(t, result)
			kept, err := os.ReadFile(d.LargeOutputFilePath)
			require.NoError(t, err)
			assert.True(t, strings.HasSuffix(string(kept), "\n199999\n200000\n"))
			assert.Equal(t, int64(len(kept)), d.OutputBytes)
			assert.Contains(t, string(kept), "\n1\n2\n3\n")
		}
	})
}
