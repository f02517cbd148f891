package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// noArgs refuses arguments of a verb that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := messages.Invalid("arguments", fmt.Sprintf("%s takes no arguments, and got %q", cmd.CommandPath(), args[0]))
	err.Hint = "see " + cmd.CommandPath() + " --help"
	return err
}
