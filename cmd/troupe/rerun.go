package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/run"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

const rerunLong = `Run the command of a job again: the same program in the same scope, session and
directory, with the same environment policy, streams, terminal and limits. Print
its output and exit with its status, as troupe run does. A job of a live shell runs
in that shell, if it is still open.

A record has no values of variables. If the job had the environment of its caller,
the new one has yours, with your umask and limits; variables that the job was given
are taken from yours, or are given again with --env.`

const rerunExamples = `  troupe rerun j7
  troupe rerun -b web --replace     stop it first, if it still runs
  troupe rerun j7 -e CI=1 --json | jq .outcome`

func rerunCommand(m *cli.Main) *cobra.Command {
	f := &run.Flags{Keys: terminal.DetachKeys}
	cmd := &cobra.Command{
		Use: "rerun [flags] JOB", Short: "Run the command of a job again", Long: rerunLong, Example: rerunExamples,
		Annotations: map[string]string{flags.HelpEnd: runStatuses},
		Args:        flags.OneJob, ValidArgsFunction: connect.JobIDs(m, true, 1),
	}
	f.Cmd = cmd
	set := cmd.Flags()
	set.SortFlags = false
	set.BoolVarP(&f.Background, "background", "b", false, "run it in the background, print its id once it has started or is queued, and return")
	set.BoolVar(&f.JSON, "json", false, "print only the result, as one object")
	set.StringArrayVarP(&f.Env, "env", "e", nil, "set a variable: `K[=V]`; K alone takes the caller's value")
	set.StringVar(&f.Name, "name", "", "`NAME` of the new job (default that of the job)")
	set.BoolVar(&f.Replace, "replace", false, "stop the live job of its name first")
	connect.InScope(cmd, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args, err := connect.JobArgs(cmd, args)
		if err != nil {
			return err
		}
		return run.Rerun(m, f, messages.JobID(args[0]))
	}
	return cmd
}
