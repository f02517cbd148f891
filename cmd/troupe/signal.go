package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

func signalCommand(m *cli.Main) *cobra.Command {
	var tree bool
	cmd := &cobra.Command{
		Use: "signal [flags] JOB SIGNAL", Short: "Send a signal to a job", ValidArgsFunction: oneByOne(connect.JobIDs(m, false, 1), signalWords),
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "JOB", "SIGNAL") },
		Long: "Send a signal, such as INT, SIGINT or 2, to the main process of a job.",
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "send it to all processes of the job")
	check := func(a *connect.Command) error {
		if messages.SignalNumber(a.Args[1]) == 0 {
			return messages.Invalid("signal", "invalid signal "+strconv.Quote(a.Args[1])+": use a name such as INT or TERM, or a number up to 64")
		}
		return nil
	}
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		return connect.Acknowledge(a, messages.SignalCommand{Job: messages.JobID(a.Args[0]), Signal: a.Args[1], Tree: tree})
	})
}
