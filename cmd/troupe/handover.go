package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

func handoverCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "handover [flags] JOB SCOPE", Short: "Give a live job to another owner", ValidArgsFunction: oneByOne(jobIDs(m, false, 1), scopePaths(m)),
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "JOB", "SCOPE") },
		Long: "Move a live job to the default session of another scope. Its process does not\nnotice.",
	}
	check := func(a *daemonCommand) error { return checkScope(a, "", a.args[1]) }
	return newDaemonCommand(m, cmd, check, func(a *daemonCommand) error {
		return acknowledge(a, a.HandOver(a.ctx, messages.HandOver{Job: messages.JobID(a.args[0]), To: messages.ScopePath(a.args[1])}))
	})
}
