package node_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/node"
	"troupe/messages"
)

// Every job is told of itself and of no other, however many begin at once and
// however many variables they inherit.
func TestAJobIsToldOfItself(t *testing.T) {
	for _, name := range []string{"LC_A", "LC_B", "LC_C", "LC_D"} {
		t.Setenv(name, "C")
		t.Run(name, jobsAreToldOfThemselves)
	}
}

func jobsAreToldOfThemselves(t *testing.T) {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(ctx, messages.ShutdownNode{})) }()
	var wait sync.WaitGroup
	told, want := make([]string, 20), make([]string, 20)
	for i := range told {
		wait.Go(func() {
			session := fmt.Sprintf("s%d", i)
			job, err := node.Run(ctx, messages.RunCommand{
				Program: messages.Program{Text: "echo $TROUPE_SCOPE $TROUPE_SESSION_ID $TROUPE_JOB_ID"}, Session: messages.SessionID(session),
			})
			if err != nil {
				told[i] = err.Error()
				return
			}
			want[i] = fmt.Sprintf("main %s %s\n", session, job.ID)
			told[i] = outputOf(ctx, node, job.ID)
		})
	}
	wait.Wait()
	require.Equal(t, want, told)
}

// outputOf is what a job has printed, or why it cannot be read.
func outputOf(ctx context.Context, node *node.Node, job messages.JobID) string {
	out, err := node.Output(ctx, job, messages.Merged, 0)
	if err != nil {
		return err.Error()
	}
	defer out.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
