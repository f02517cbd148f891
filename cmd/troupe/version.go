package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
)

func versionCommand(m *cli.Main) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: flags.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return out.WriteJSON(m.Out, m.Describe())
			}
			return printVersion(m)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one object")
	return cmd
}

func printVersion(m *cli.Main) error {
	v := m.Describe()
	_, err := fmt.Fprintf(m.Out, "troupe %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}
