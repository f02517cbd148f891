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
		Use: "doctor", Short: "Say what this machine allows, and what is done where it does not", Args: flags.NoArgs,
		Long: `Look at what the kernel and the user's rights give troupe, the limits that bound
it, the directories it uses, and the daemon. The exit status is 1 if there is a problem: commands,
or a daemon, cannot be run, or the daemon can start nothing.`,
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
