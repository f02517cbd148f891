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

// printVersion prints the version, and the commit if it is known.
func printVersion(m *cli.Main) error {
	v := m.Describe()
	var from string
	if v.Commit != "" {
		from = fmt.Sprintf(", commit %.12s", v.Commit)
		if v.Date != "" {
			from += " of " + v.Date
		}
		if v.Dirty {
			from += " with changes"
		}
	}
	_, err := fmt.Fprintf(m.Out, "troupe %s (%s, %s/%s%s)\n", v.Version, v.Go, v.OS, v.Arch, from)
	return err
}
