package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"troupe/messages"
)

func (m *Main) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print what makes a shell complete verbs, flags and ids of jobs", ValidArgs: shells,
		Long: `Print a script for bash, zsh, fish or powershell. Ids of jobs are the daemon's
own, as long as it answers at once.`,
		Example: `  . <(troupe completion bash)
  troupe completion zsh > "${fpath[1]}/_troupe"`,
		Args: func(cmd *cobra.Command, args []string) error { return exactly(cmd, args, "SHELL") },
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(m.Out, true)
			case "zsh":
				return root.GenZshCompletion(m.Out)
			case "fish":
				return root.GenFishCompletion(m.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(m.Out)
			}
			e := messages.Invalid("shell", fmt.Sprintf("%q is no shell that completes", args[0]))
			e.Hint = "use bash, zsh, fish or powershell"
			return e
		},
	}
}
