package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	consoleui "troupe/internal/cli/console" // the tests have a type console
	"troupe/internal/cli/flags"
)

const consoleLong = `Run commands that a person types, and send their results to an agent.
!COMMAND runs in your login shell and queues its result; !!COMMAND keeps it out of the
messages; Ctrl+T and a command run it on a terminal, as an agent's tool does. A message goes
to --send with the queued results before it, as <shell_result> blocks; if it cannot be sent,
they stay queued. Commands end with the console. docs/cli.md has the keys.`

const consoleExamples = `  troupe console --send messages.txt    append each message to a file
  troupe console --send /run/agent/in   write each to a named pipe
  troupe console --send '| claude -p'   give each to a command on its stdin`

func consoleCommand(m *cli.Main) *cobra.Command {
	f := &consoleui.Flags{}
	cmd := &cobra.Command{
		Use: "console [flags]", Short: "Run commands and send their results to an agent", Long: consoleLong, Example: consoleExamples, Args: flags.NoArgs,
		RunE: func(*cobra.Command, []string) error { return consoleui.Run(m, f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Send, "send", "", "send messages to a file, a named pipe, or a command after |: `TO`")
	set.BoolVar(&f.NoPTY, "no-pty", false, "run no command on a terminal")
	set.BoolVar(&f.NoDaemon, "no-daemon", false, "run commands in this process, and stop them with it")
	return cmd
}
