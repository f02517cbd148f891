package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/chaosrun"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

const chaosLong = `Run a command against a daemon of its own, to whose jobs the faults of a plan happen: commands
that cannot start, wrong exit codes, notices that are lost, a daemon that dies. The
command runs outside of it; troupe and its clients find that daemon. The same plan and seed give
the same faults. The exit status is the command's.

PLAN is a file, or the name of a plan that --list shows. docs/faults-guide.md describes plans.`

const chaosExamples = `  troupe chaos flaky-spawn -- ./my-agent-host test
  troupe chaos --seed 7 --json daemon-roulette -- go test ./...
  troupe chaos --list`

func chaosCommand(m *cli.Main) *cobra.Command {
	f := &chaosrun.Flags{}
	var list bool
	cmd := &cobra.Command{
		Use: "chaos [flags] PLAN -- COMMAND", Short: "Run a command against a daemon with faults", Long: chaosLong, Example: chaosExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return flags.NoArgs(cmd, args)
			}
			if len(args) < 2 || cmd.ArgsLenAtDash() != 1 {
				err := messages.Invalid("arguments", "troupe chaos needs a plan, -- and a command")
				err.Hint = "such as troupe chaos flaky-spawn -- make test"
				return err
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return chaosrun.List(m)
			}
			return chaosrun.Run(m, f, cmd.Flags().Changed("seed"), args[0], args[1:])
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.Uint64Var(&f.Seed, "seed", 0, "use the seed `N` instead of the plan's")
	set.BoolVar(&f.JSON, "json", false, "print an object for each fault, then one for each job")
	set.BoolVar(&list, "list", false, "list the plans that come with troupe")
	return cmd
}
