package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/terminal"
)

func terminalGuardCommand(m *cli.Main) *cobra.Command {
	return &cobra.Command{
		Use: terminal.GuardVerb, Short: "Restore the terminal after troupe is killed", Args: flags.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error { return terminal.RestoreTerminal(m) },
	}
}
