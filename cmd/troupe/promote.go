package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

func promoteCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "promote [flags] JOB", Short: "Let a foreground job go on in the background", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, false, 1),
		Long: "Let a job go on in the background that somebody waits for: they are answered, and\nits process does not notice. It stays then, also if it was in the background before,\nwhen the agent leaves in whose scope it is.",
	}
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		job, err := a.Promote(a.Ctx, messages.PromoteCommand{Job: messages.JobID(a.Args[0]), Keep: true})
		if err == nil && a.JSON {
			return a.Object(wire.Job{Job: job})
		}
		return err
	})
}
