package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
)

func killCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "kill [flags] JOB...", Short: "Kill jobs at once, with everything they started", Args: flags.SomeJobs, ValidArgsFunction: jobIDs(m, false, 0),
		Long: "Kill all processes of the jobs and return when nothing of them is left; as troupe stop --force.",
	}
	byPidFile(cmd)
	return newDaemonCommand(m, cmd, nil, func(a *daemonCommand) error { return stopJobs(a, "", -1) })
}
