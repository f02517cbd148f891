package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/top"
)

func topCommand(m *cli.Main) *cobra.Command {
	f := &top.Flags{}
	cmd := &cobra.Command{
		Use: "top [flags]", Short: "Watch jobs on the whole screen, and act on them", Args: flags.NoArgs,
		Long: `Watch the scopes, sessions and live jobs of the daemon in a table, with the output or
the screen of the selected job below. Keys in the last line stop, kill, promote, attach
and more; ? lists all of them, q quits. The jobs go on.

NO_COLOR leaves out colours.`,
		Example: `  troupe top --scope main/ci
  troupe top -a --sort cpu`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.All, "all", "a", false, "include finished jobs")
	set.StringVar(&f.Scope, "scope", "", "only scopes, sessions and jobs at and below the scope `PATH`")
	set.StringVar(&f.Sort, "sort", "age", "order by `KEY`: age, cpu, memory, output, duration or name; age shows jobs below their scope and session")
	cmd = connect.NewCommand(m, cmd, f.Check, func(a *connect.Command) error { return top.Run(a, f) })
	_ = set.MarkHidden("json") // top prints no object
	return cmd
}
