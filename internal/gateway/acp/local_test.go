package acp

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/host"
	"troupe/internal/dialect/omp"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// A client without terminals gets the output of a job: while it runs, and with its result.
func TestACommandOfAClientWithoutTerminalsIsAJob(t *testing.T) {
	node := dialecttest.Node(t)
	var beside sync.WaitGroup
	defer beside.Wait()
	c := plays(t, func(at Place) (Session, error) {
		require.Nil(t, at.Client)
		return omp.New(omp.Options{
			Host: node.DialectHost(), Beside: &beside, FS: disk.Files{}, Dir: at.Dir, Home: "/nowhere", SessionID: at.ID, Settings: omp.DefaultSettings(),
			Env: []string{"PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash", "HOME=/nowhere", "TROUPE_SHELL_NO_LOGIN=1"},
		}), nil
	})
	c.begins(false)
	gate := dialecttest.NewGate(t)
	id := c.prompts("echo begun; " + gate.Wait() + "; echo over; exit 3")
	require.Equal(t, "tool_call", c.update()["sessionUpdate"])
	require.Equal(t, []any{fenced("begun")}, c.update()["content"])
	gate.Open()
	end := c.result()
	require.Equal(t, "failed", end["status"])
	out := end["rawOutput"].(object)
	require.EqualValues(t, 3, out["exitCode"])
	require.Regexp(t, `^begun\nover\n\nWall time: [0-9.]+ seconds\n\nCommand exited with code 3$`, textOf(out))
	c.stopped(id, "end_turn")
	list, err := host.Ask(context.Background(), node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.Len(t, jobs, 1)

	id = c.prompts("echo begun; sleep 600")
	c.update()
	c.update()
	c.cancels()
	require.Equal(t, "[Command cancelled]\nbegun", textOf(c.update()["rawOutput"].(object)))
	c.stopped(id, "cancelled")
	id = c.prompts("cd /nowhere/at/all && true")
	c.update()
	require.Contains(t, textOf(c.update()["rawOutput"].(object)), "Working directory does not exist")
	c.stopped(id, "end_turn")
	c.ends()
}
