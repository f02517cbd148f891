package main

import (
	"github.com/spf13/cobra"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/limits"
	"troupe/messages"
)

// keeperCommand returns the hidden verb that the daemon starts as a keeper.
func keeperCommand(m *cli.Main) *cobra.Command {
	var dir string
	var fd int
	var noCgroup, detached bool
	var given limits.Given
	cmd := &cobra.Command{
		Use: "keeper --dir DIR [--fd N]", Short: "Run jobs for a daemon", Args: flags.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				err := messages.Invalid("dir", "--dir is missing")
				err.Hint = "the daemon starts keepers; to start the daemon: troupe serve"
				return err
			}
			return keeper.Main(dir, fd, m.Describe().Version, noCgroup, detached, given)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the keeper: lease, journal, logs and socket")
	cmd.Flags().IntVar(&fd, "fd", -1, "descriptor of a socket that is connected to the first client")
	cmd.Flags().BoolVar(&noCgroup, "no-cgroup", false, "do not use cgroups")
	cmd.Flags().Var(&given, "limits", "soft limits of jobs that the daemon has raised for itself")
	cmd.Flags().BoolVar(&detached, "alone", false, "run one detached job, and end with it")
	return cmd
}
