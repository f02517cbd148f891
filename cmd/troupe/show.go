package main

import (
	"time"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func showCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show [flags] JOB", Short: "Print the record of a job", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, true, 1),
		Long: "Print the record of a job, given by its id, ULID or name.",
	}
	connect.ByPIDFile(cmd)
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		job, err := a.Job(a.Ctx, messages.JobID(a.Args[0]))
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Object(job)
		}
		_, err = a.Main.Out.WriteString(out.RecordText(job, time.Now()))
		return err
	})
}
