package main

import (
	"io"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/doctor"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
)

func doctorCommand(m *cli.Main) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check kernel features, limits, shells and the daemon", Args: flags.NoArgs,
		Long: `Check the kernel features and rights that troupe uses and what replaces missing
ones, limits, directories, shells and the daemon. The exit status is 1 if there is a problem: troupe cannot run
commands or a daemon, or the running daemon cannot start jobs.`,
		RunE: func(*cobra.Command, []string) error {
			c := doctor.Examine(m)
			show := c.Print
			if asJSON {
				show = func(w io.Writer) error { return out.WriteJSON(w, c) }
			}
			if err := show(m.Out); err != nil {
				return err
			}
			if !c.OK {
				return cli.ExitStatus(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one object")
	return cmd
}
