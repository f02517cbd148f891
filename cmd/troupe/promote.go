package main

import (
	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

func promoteCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "promote [flags] JOB", Short: "Move a foreground job to the background", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, false, 1),
		Long: "Move a foreground job to the background and answer its client at once. Its processes\nare not affected. The job then outlives the agent that owns its scope, even if it was\nin the background before.",
	}
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		promoted, err := host.Ask(a.Ctx, a.Host(), messages.PromoteCommand{Job: messages.JobID(a.Args[0]), Keep: true})
		if err == nil && a.JSON {
			return a.Object(promoted.Job)
		}
		return err
	})
}
