package omp

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call with variables runs in the session's shell. They are there for that call alone, and
// what it sets otherwise stays.
func TestVariablesOfACallAreGoneAfterIt(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "dash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // one of them is everywhere
		}
		t.Run(shell, func(t *testing.T) {
			r := newRig(t, settings(func(s *Settings) { s.ShellPath = path }))
			env := args{"A": "it's $HOME\n`x`", "OLD": "", "PATH": "/bin:/usr/bin"}
			r.run("kept=here; export OLD=before; SELF=$$")
			require.Contains(t, r.bash(args{"command": `printf '%s|' "$kept" "$A" "$OLD" "$PATH"; [ $$ = $SELF ] && sh -c 'echo "in $A"'; new=made`, "env": env}).Text,
				"here|it's $HOME\n`x`||/bin:/usr/bin|in it's $HOME\n`x`\n")
			require.Contains(t, r.run(`echo "[${A-unset}][$OLD][$new][${__troupe_r-}${__troupe_0-}${__troupe_v0-}]"; sh -c 'echo "${A-no} $OLD"'; [ "$PATH" != /bin:/usr/bin ] && [ $$ = $SELF ] && echo same`),
				"[unset][before][made][]\nno before\nsame\n")
			for _, job := range r.ran() {
				require.NotContains(t, job.Command, "`x`", "the record shows no values")
			}
			failed := r.bash(args{"command": "cat <<E\nin a document\nE\n(exit 7) # and a remark", "env": args{"A": "1"}})
			require.Contains(t, failed.Text, "in a document\n")
			require.Contains(t, failed.Text, "Command exited with code 7")
			require.Contains(t, r.bash(args{"command": "echo then exits; exit 3", "env": args{"A": "1"}}).Text, "Command exited with code 3")
			require.Contains(t, r.bash(args{"command": "seq 9 | tail -n 1", "env": args{"A": "1"}}).Text, "9\n")
		})
	}
}

// A named command is a service: its call returns when it is ready, and it goes on.
func TestAServiceIsReady(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.AsyncEnabled, s.ZeroTimeoutDisables = true, true }))
	result := r.bash(args{"command": "echo starting; echo listening on 80; exec sleep 60", "name": "web", "ready": args{"log": "^listening", "host": "localhost", "timeout": 20}, "timeout": 0})
	require.False(t, result.IsError, result.Text)
	require.Contains(t, result.Text, "Background job bg_1 started")
	require.Contains(t, result.Text, textReady)
	require.True(t, result.Details.(*Details).TimeoutDisabled)
	require.Equal(t, "web", r.ran()[0].Name)
	ended := r.bash(args{"command": "echo no", "name": "other", "ready": args{"log": "(["}})
	require.Contains(t, ended.Text, textReadyEnded)
	began := time.Now()
	late := r.bash(args{"command": "exec sleep 60", "name": "late", "ready": args{"port": 1, "timeout": 1}})
	require.Contains(t, late.Text, "It was not ready within 1 seconds; it goes on.")
	require.Less(t, time.Since(began), 20*time.Second)
	again := r.bash(args{"command": "true", "name": "web", "ready": args{"log": "x"}})
	require.True(t, again.IsError, again.Text)
	require.Contains(t, again.Text, "web")
	off := newRig(t, settings(func(s *Settings) { s.AsyncEnabled = false }))
	require.Contains(t, off.bash(args{"command": "true", "name": "web"}).Text, textAsyncOff)
}
