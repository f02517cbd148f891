package main

import "github.com/spf13/cobra"

func (m *Main) killCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "kill [flags] JOB...", Short: "Kill jobs at once, with everything they started", Args: someJobs, ValidArgsFunction: m.jobIDs(false, 0),
		Long: "Kill all processes of the jobs and return when nothing of them is left; as troupe stop --force.",
	}
	byPidFile(cmd)
	return m.daemonCommand(cmd, nil, func(a *daemonCommand) error { return a.stop("", -1) })
}
