package main

import (
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func showCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show [flags] JOB", Short: "Print the record of a job", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, true, 1),
		Long: `Print the record of a job, given by its id, ULID or name. For a live one, also what
its processes do now: whether it waits for input or a secret, their CPU time and memory,
and the ports on which they listen.`,
	}
	connect.ByPIDFile(cmd)
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		found, err := host.Ask(a.Ctx, a.Host(), messages.FindJob{Job: messages.JobID(a.Args[0]), Live: true})
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Object(found.Job)
		}
		_, err = a.Main.Out.WriteString(out.RecordText(found.Job, time.Now()))
		return err
	})
}
