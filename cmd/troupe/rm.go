package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func rmCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm [flags] JOB...", Short: "Remove finished jobs and their output", Args: flags.SomeJobs, ValidArgsFunction: connect.JobIDs(m, true, 0),
	}
	connect.InScope(cmd, 0)
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		ids := make([]messages.JobID, len(a.Args))
		for i, id := range a.Args {
			ids[i] = messages.JobID(id)
		}
		gone, refused, err := a.RemoveAll(a.Ctx, ids)
		all := removed{JobList: messages.JobList{Jobs: out.List(gone), Tasks: []messages.Task{}}}
		for _, e := range refused {
			all.Add(e)
		}
		if err != nil {
			all.Add(connect.Connected(err))
		}
		return a.Together(all, all.Failures)
	})
}

// removed holds the removed jobs, in order, and the failures.
type removed struct {
	messages.JobList
	connect.Failures
}
