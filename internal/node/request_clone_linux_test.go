package node_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/actors"
	"troupe/messages"
	"troupe/spill/view"
)

// Whoever gave up a write may use his buffer again: the job is given what was in it.
func TestInputIsWhatItWasWhenItWasGiven(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	defer shut(t, node)
	ctx := context.Background()
	reads := filepath.Join(t.TempDir(), "reads")
	job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "until [ -e " + reads + " ]; do sleep 0.01; done; tr -d a | wc -c"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync})
	require.NoError(t, err)
	say := func(ctx context.Context, r messages.Refusable) error {
		reply, err := node.Ask(ctx, r)
		if err == nil {
			err = messages.Refusal(reply)
		}
		return err
	}
	data := bytes.Repeat([]byte("a"), messages.MaxInput)
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, say(soon, messages.WriteInput{Job: job.ID, Data: data}), context.DeadlineExceeded)
	copy(data, bytes.Repeat([]byte("b"), len(data)))
	require.NoError(t, os.WriteFile(reads, nil, 0o600))
	require.NoError(t, say(ctx, messages.CloseInput{Job: job.ID}))
	require.NoError(t, say(ctx, messages.WaitJobs{Jobs: []messages.JobID{job.ID}}))
	job, err = node.Job(ctx, job.ID)
	require.NoError(t, err)
	v, err := node.View(job, view.Options{Bytes: 100})
	require.NoError(t, err)
	require.Equal(t, "0\n", v.Text)
}

// The record of a job, and the plan of a session, are what was asked for, whatever the
// caller does with his slices afterwards.
func TestARequestIsItsCallersAgain(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	defer shut(t, node)
	ctx := context.Background()
	argv := []string{"echo", "one"}
	job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Argv: argv}})
	require.NoError(t, err)
	argv[1] = "two"
	job, err = node.Job(ctx, job.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"echo", "one"}, job.Argv)

	plan := &messages.SessionPlan{Backend: messages.BackendShell, Env: messages.Env{Set: []string{"A=1"}}}
	run := func(text string) string {
		job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: text}, Session: "s", Open: plan})
		require.NoError(t, err)
		v, err := node.View(job, view.Options{Bytes: 100})
		require.NoError(t, err)
		return v.Text
	}
	require.Equal(t, "1\n", run("echo $A"))
	plan.Env.Set[0] = "A=2"
	run("unset A; exec false") // the next command has a shell made anew, by the plan
	require.Equal(t, "1\n", run("echo $A"))
}
