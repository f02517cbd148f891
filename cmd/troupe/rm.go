package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

func rmCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm [flags] JOB...", Short: "Forget finished jobs and their output", Args: flags.SomeJobs, ValidArgsFunction: jobIDs(m, true, 0),
	}
	return newDaemonCommand(m, cmd, nil, func(a *daemonCommand) error {
		ids := make([]messages.JobID, len(a.args))
		for i, id := range a.args {
			ids[i] = messages.JobID(id)
		}
		gone, refused, err := a.RemoveAll(a.ctx, ids)
		all := removed{JobList: wire.JobList{V: wire.Version, Jobs: wire.Jobs(gone), Tasks: []messages.Task{}}}
		for _, e := range refused {
			all.add(e)
		}
		if err != nil {
			all.add(connected(err))
		}
		return a.together(all, all.failures)
	})
}

// removed is what was forgotten of several jobs, in their order.
type removed struct {
	wire.JobList
	failures
}
