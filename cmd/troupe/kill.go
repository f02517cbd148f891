package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
)

func killCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "kill [flags] JOB...", Short: "Kill jobs and everything they started", Args: flags.SomeJobs, ValidArgsFunction: connect.JobIDs(m, false, 0),
		Long: "Kill all processes of the jobs at once and return when none is left, as troupe\nstop --force.",
	}
	connect.ByPIDFile(cmd)
	connect.InScope(cmd, 0)
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error { return stopJobs(a, "", -1) })
}
