package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

func handoverCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "handover [flags] JOB SCOPE", Short: "Move a live job to another scope", ValidArgsFunction: oneByOne(connect.JobIDs(m, false, 1), connect.ScopePaths(m)),
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "JOB", "SCOPE") },
		Long: "Move a live job to the default session of another scope. Its processes are not\naffected.",
	}
	check := func(a *connect.Command) error { return connect.CheckScope(a, "", a.Args[1]) }
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		return connect.Acknowledge(a, messages.HandOver{Job: messages.JobID(a.Args[0]), To: messages.ScopePath(a.Args[1])})
	})
}
