package opencode

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// in runs a command with a workdir.
func (r *rig) in(workdir, command string) string {
	r.t.Helper()
	return r.call("bash", args{"command": command, "description": "a test", "workdir": workdir}).Text
}

// Each workdir has a login shell, which keeps variables and the current directory.
func TestAWorkdirHasAShellThatStays(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, ".profile"), []byte("cd /; echo noise; export FROM=profile; greet() { echo of a function; }\n"), 0o600))
	sub := filepath.Join(r.dir, "sub")
	require.NoError(t, os.Mkdir(sub, 0o700))
	require.Equal(t, "profile of a function\n"+r.dir+"\n", r.in("", `V=here; echo $FROM $(greet); pwd; echo "$$" > pid; cd /usr`))
	require.Equal(t, "/usr here same\n", r.in("", `echo "$PWD $V $([ $$ = "$(cat ~/pid)" ] && echo same)"; cd ~`))
	require.Equal(t, sub+"  profile\n", r.in("sub", `echo "$PWD $V $FROM"`), "another workdir has another shell")
	require.Equal(t, "out\nerr\nExit code 3", r.in("", "printf out; printf err >&2; exit 3"))
	require.Equal(t, r.dir+"  profile\n"+textShellLost, r.in("", `echo "$PWD $V $FROM"`))
	require.Equal(t, "no output", r.in("", "true"))
}

// Calls with one workdir wait for each other, those with others do not. A command that timed
// out leaves a shell that works.
func TestCallsOfAWorkdirWaitForEachOther(t *testing.T) {
	r := newRig(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { r.in("", `n=$((${n-0} + 1))`) })
	}
	all.Wait()
	require.Equal(t, "8\n", r.in("", "echo $n"))
	r.call("bash", args{"command": "sleep 60", "description": "x", "timeout": 300})
	require.Contains(t, r.in("", "echo works"), "works\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Bash(ctx, BashParams{Command: "true", Description: "x"})
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, r.in("", "echo works"), "works\n")
}

// A session has a bounded number of shells: one that is not used makes room.
func TestAnIdleShellMakesRoom(t *testing.T) {
	r := newRig(t)
	for i := range maxShells + 2 {
		dir := filepath.Join(r.dir, strconv.Itoa(i))
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.Equal(t, "no output", r.in(dir, "V=here"))
	}
	require.Len(t, r.shells, maxShells)
	require.Equal(t, "here\n", r.in(strconv.Itoa(maxShells+1), "echo $V"))
	require.Equal(t, "\n", r.in("0", "echo $V"))
}

// noShells is a host that opens no live shell.
type noShells struct{ dialect.Host }

func (n noShells) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if r.Open != nil {
		return messages.Record{}, dialect.Text{}, &messages.Error{Code: messages.ResourceExhausted, Reason: "shells"}
	}
	return n.Host.Run(ctx, r, most, known)
}

// Where there is no shell to have, a command runs in a process of its own.
func TestWithoutAShellACommandRunsAlone(t *testing.T) {
	r := rigOn(t, dialecttest.Node(t), func(o *Options) { o.Host = noShells{o.Host} })
	require.Equal(t, "alone\n", r.in("", "echo alone"))
	require.Equal(t, "alone\n", r.in("", "echo alone"))
}
